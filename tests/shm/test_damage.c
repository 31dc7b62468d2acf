/* tests/shm/test_damage.c - files that are no sound instance.  SPDX-License-Identifier: Apache-2.0
 *
 * Whatever the bytes: an error with a reason, or an instance whose checks hold; never a crash. */
#include "check.h"
#include "shm/internal.h"
#include <fcntl.h>

static struct shm_config config;
static char path[SHM_PATH_MAX];
static unsigned char *image;            /* of a sound instance */
static size_t image_size;

/* As who takes part does: what seems to be of another container is not taken for left behind. */
static void hold(int fd)
{
    static int held = -1;
    struct flock l = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = SHARING_NAMESPACE_BYTE, .l_len = 1};
    EXPECT_EQ(fcntl(fd, F_OFD_SETLK, &l), 0);
    if (held >= 0) close(held);
    held = fd;
}

static void write_file(const void *bytes, size_t n, size_t size)
{
    int fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);
    if (fd < 0 || write(fd, bytes, n) != (ssize_t)n || ftruncate(fd, (off_t)size)) { perror(path); exit(1); }
    hold(fd);
}

static void make_image(void)
{
    struct shm m;
    EXPECT_EQ(shm_open_instance(&config, true, &m), 0);
    EXPECT_EQ(shm_reserve_tasks(m.h, config.dir, 64), 0);
    shm_join_begin(m.h, config.dir, 0, getpid(), 0);
    image_size = m.size;
    image = malloc(image_size);
    memcpy(image, m.h, image_size);
    shm_close(&m);
    unlink(path);
}

/* Both ways to look at it.  The error of the first. */
static int look(const char *what)
{
    struct shm m, s;
    char why[160];
    int r = shm_open_instance(&config, false, &m), q = shm_snapshot(config.dir, config.name, &s);
    if (r) EXPECT(m.why[0] && strlen(m.why) < sizeof m.why - 1 && !strchr(m.why, '\n'), "%s: %d `%s`", what, r, m.why);
    else EXPECT(shm_header_is_valid(m.h, m.size, why, sizeof why), "%s: %s", what, why);
    if (q) EXPECT(s.why[0] && !strchr(s.why, '\n'), "%s: %d `%s`", what, q, s.why);
    else EXPECT(shm_tables_are_valid(s.h, why, sizeof why), "%s: %s", what, why);
    if (r && r != -ENOENT && r != -EXDEV) EXPECT(q, "%s: %d is said by one, nothing by the other (%s)", what, r, m.why);
    if (getenv("USF_SHOW") && (r || q)) printf("%s: %d %s | %d %s\n", what, r, m.why, q, s.why);
    if (!r) shm_close(&m);
    if (!q) shm_close(&s);
    return r;
}

static void random_files(void)
{
    static unsigned char bytes[65536];
    for (int i = 0; i < 300; i++) {
        size_t n = check_below(sizeof bytes);
        for (size_t k = 0; k < n; k++) bytes[k] = (unsigned char)check_random();
        write_file(bytes, n, check_below(2) ? n : image_size);
        EXPECT_EQ(look("random bytes"), -EBADMSG);
        if (n < SHM_PREFIX_SIZE) continue;
        memcpy(bytes, image, SHM_PREFIX_SIZE);          /* ours at first sight */
        write_file(bytes, n, image_size);
        EXPECT_EQ(look("random bytes behind a good beginning"), -EBADMSG);
    }
    write_file("", 0, 0);
    EXPECT_EQ(look("empty"), -EBADMSG);
    write_file("", 0, image_size);
    EXPECT_EQ(look("zeros"), -EBADMSG);
}

static void truncations(void)
{
    for (int i = 0; i < 200; i++) {
        size_t n = i < 100 ? check_below(3 * sizeof(struct usf_header)) : check_below((uint32_t)image_size);
        write_file(image, n, n);
        EXPECT_EQ(look("truncated"), -EBADMSG);
    }
    write_file(image, image_size - 1, image_size - 1);
    EXPECT_EQ(look("one byte short"), -EBADMSG);
    write_file(image, image_size, image_size);
    EXPECT_EQ(look("whole"), 0);
    write_file(image, image_size, image_size + 12345);
    EXPECT_EQ(look("too long is no harm"), 0);
}

static void bit_flips(void)
{
    int refused = 0;
    int fd;
    write_file(image, image_size, image_size);
    fd = open(path, O_RDWR);
    for (size_t bit = 0; bit < 8 * offsetof(struct usf_header, lock) && *check_failures < 10; bit++) {
        size_t at = bit / 8;
        /* of the long texts a sample will do */
        if (at >= offsetof(struct usf_header, policy_path) + 16 &&
            at < offsetof(struct usf_header, policy_path) + USF_POLICY_PATH_MAX && check_below(50)) continue;
        unsigned char c = image[at] ^ (unsigned char)(1u << bit % 8);
        if (pwrite(fd, &c, 1, (off_t)at) != 1) exit(1);
        bool noticed = look("one bit");
        refused += noticed;
        EXPECT(noticed || at < 8 || at >= 24, "bit %zu was not noticed", bit);
        if (pwrite(fd, image + at, 1, (off_t)at) != 1) exit(1);
    }
    close(fd);
    printf("%d of the header's bits are refused\n", refused);
    EXPECT(refused > 500);
    EXPECT_EQ(look("whole again"), 0);
}

static void left_behind(void)
{
    struct shm m;
    uint64_t other = 12345;
    unlink(path);
    EXPECT_EQ(shm_open_instance(&config, true, &m), 0);
    shm_close(&m);
    int fd = open(path, O_RDWR);
    EXPECT(pwrite(fd, &other, sizeof other, offsetof(struct usf_header, namespace[0].ns)) == sizeof other);
    close(fd);
    EXPECT_EQ(shm_open_instance(&config, true, &m), 0);
    EXPECT(m.created);
    shm_close(&m);
    unlink(path);
}

static void scribbles(void)
{
    for (int i = 0; i < 500; i++) {
        static unsigned char bytes[512];
        size_t used = 1024 * 1024, n = check_below(sizeof bytes), at = check_below((uint32_t)(used - n));
        if (check_below(2)) at = check_below(sizeof(struct usf_header));
        for (size_t k = 0; k < n; k++) bytes[k] = check_below(4) ? (unsigned char)check_random() : 0xff;
        unsigned char *copy = malloc(used);
        memcpy(copy, image, used);
        memcpy(copy + at, bytes, n);
        write_file(copy, used, image_size);
        free(copy);
        look("scribbled over");
    }
}

static void put(size_t at, const void *bytes, size_t n)
{
    unsigned char *copy = malloc(1024 * 1024);
    memcpy(copy, image, 1024 * 1024);
    memcpy(copy + at, bytes, n);
    write_file(copy, 1024 * 1024, image_size);
    free(copy);
}
#define PUT(field, value) do { __typeof__(((struct usf_header *)0)->field) v_ = (value); \
    put(offsetof(struct usf_header, field), &v_, sizeof v_); } while (0)

static void says(int error, const char *words)
{
    struct shm m;
    EXPECT_EQ(shm_open_instance(&config, false, &m), error);
    EXPECT(strstr(m.why, words), "`%s` does not say `%s`", m.why, words);
}

static void fields(void)
{
    PUT(abi, USF_SHM_ABI + 1);
    says(-EPROTO, "another version of usf (ABI 3 ");
    says(-EPROTO, "this is ABI 2 ");
    says(-EPROTO, "usf clean");
    PUT(layout_hash, USF_LAYOUT_HASH ^ 1);
    says(-EPROTO, "another version");
    PUT(magic, 1);
    says(-EBADMSG, "does not begin as an instance does");
    PUT(total_size, image_size * 2);
    says(-EBADMSG, "tables do not lie");
    PUT(off_tasks, 1ull << 63);
    says(-EBADMSG, "tables do not lie");
    PUT(max_tasks, 0);
    says(-EBADMSG, "table sizes");
    PUT(max_cores, ~0u);
    says(-EBADMSG, "table sizes");
    PUT(nr_cores, 257);
    says(-EBADMSG, "number of cores");
    PUT(nr_cores, 0);
    says(-EBADMSG, "number of cores");
    PUT(state, USF_INST_EMPTY);
    says(-EBADMSG, "state");
    PUT(task_hwm, USF_MAX_TASKS + USF_TASK_CHUNK);
    says(-EBADMSG, "real tasks");
    PUT(proc_hwm, 3);
    says(-EBADMSG, "real processes");
    PUT(quantum_ns, 0);
    says(-EBADMSG, "time limits");
    PUT(uid, geteuid() + 1);
    says(-EBADMSG, "it says it is");
    PUT(namespace[0].ns, 12345);
    says(-EXDEV, "another container");
    put(offsetof(struct usf_header, name), "another\0", 8);
    says(-EBADMSG, "it says it is 'another'");
    put(offsetof(struct usf_header, policy), "\x01", 1);
    says(-EBADMSG, "policy name");
}

int main(void)
{
    check_begin(110);    /* 800,000 system calls */
    config.dir = check_shmdir();
    config.name = "damage";
    shm_path(config.dir, config.name, geteuid(), path, sizeof path);
    make_image();
    random_files();
    truncations();
    bit_flips();
    scribbles();
    fields();
    left_behind();
    check_remove();
    return check_end();
}
