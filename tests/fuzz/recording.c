/* tests/fuzz/recording.c - recordings of usf trace: read, and all that is made of them.  SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"
#include "trace/file.h"

static FILE *nowhere;

void fuzz_start(void)
{
    nowhere = fopen("/dev/null", "w");
    if (!nowhere) exit(1);
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct trace t;
    char why[400] = "";
    FILE *f = fopen("recording", "w");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f)) exit(1);
    if (trace_load("recording", &t, why, sizeof why)) {
        FUZZ_CHECK(*why && memchr(why, 0, sizeof why) && !t.thread && !t.step);
        return;
    }
    for (size_t i = 0; i < t.nr_steps; i++) FUZZ_CHECK(t.step[i].thread < t.nr_threads && (!i || t.step[i - 1].ns <= t.step[i].ns));
    for (uint32_t i = 0; i < t.nr_threads; i++) {
        const struct trace_thread *h = &t.thread[i];
        FUZZ_CHECK(h->program < t.nr_programs && (h->maker == USF_NONE || (h->maker < i && t.thread[h->maker].program == h->program)));
    }
    FUZZ_CHECK(!trace_info(&t, false, nowhere) && !trace_info(&t, true, nowhere) && !trace_text(&t, nowhere) && !trace_perfetto(&t, nowhere) && !trace_workload(&t, nowhere, "recording"));
    trace_free(&t);
}

/* A recording of two threads, of which one makes the other and wakes it. */
static size_t two_threads(uint8_t *buf)
{
    struct trace_head h = {.magic = TRACE_FILE_MAGIC, .version = TRACE_FILE_VERSION, .size = sizeof h, .event_size = sizeof(struct trace_event), .nr_cores = 2,
                           .start_ns = 1000, .cycles_per_second = 1000000000, .instance = "x", .policy = "coop", .command = "y"};
    struct trace_event lock[] = {
        {1000, TRACE_THREAD, 0, 3, 77 | 77ull << 32, (uint64_t)USF_NONE << 32}, {1000, TRACE_PROCESS, 100, 3, 0x70, 0}, {1000, TRACE_NAME, 0, 3, 0x71, 0},
        {1000, TRACE_STATE, USF_TASK_NEW | USF_TASK_READY << 8, 3, USF_NONE, 0}, {1000, TRACE_STATE, USF_TASK_READY | USF_TASK_RUNNING << 8, 3, 0, 0},
        {2000, TRACE_THREAD, 0, 4, 77 | 78ull << 32, 3ull << 32}, {2000, TRACE_BORN, 0, 4, 1500, 0}, {2000, TRACE_PROCESS, 100, 4, 0x70, 0}, {2000, TRACE_NAME, 0, 4, 0x72, 0},
        {2000, TRACE_STATE, USF_TASK_NEW | USF_TASK_READY << 8, 4, USF_NONE, 0}, {2000, TRACE_STATE, USF_TASK_READY | USF_TASK_RUNNING << 8, 4, 1, 0},
        {2300, TRACE_STATE, USF_TASK_RUNNING | USF_TASK_BLOCKED << 8, 4, 1, 0}, {2600, TRACE_STATE, USF_TASK_BLOCKED | USF_TASK_READY << 8, 4, 1, 0},
        {2600, TRACE_QUEUED, USF_WHY_WAKE, 4, 0, 0}, {2700, TRACE_STATE, USF_TASK_READY | USF_TASK_RUNNING << 8, 4, 1, 0},
        {4000, TRACE_STATE, USF_TASK_RUNNING | USF_TASK_GONE << 8, 4, 1, 0}, {5000, TRACE_STATE, USF_TASK_RUNNING | USF_TASK_GONE << 8, 3, 0, 0},
    };
    struct trace_event one[] = {{2500, TRACE_WOKE, 0, 3, 4, 0x1000}, {4900, TRACE_CALL, USF_WAIT_SYSCALL, 3, 35, 1000}};
    struct trace_event two[] = {{2200, TRACE_WAIT, 0, 4, 0x1000, 0}, {2800, TRACE_WAITED, 0, 4, 0x1000, 0}, {3900, TRACE_CALL, USF_WAIT_FUTEX, 4, 0x2000, 500}};
    struct trace_event lost = {3000, TRACE_LOST, 0, 4, 5, 0};
    struct trace_tail tail = {.end_ns = 5000, .lost = 5, .events = 23};
    uint8_t *p = buf;
#define PUT(what, n) (memcpy(p, what, n), p += (n))
#define BLOCK(ring, e) do { struct trace_block b = {ring, sizeof e / sizeof(struct trace_event)}; PUT(&b, sizeof b); PUT(&e, sizeof e); } while (0)
    PUT(&h, sizeof h);
    BLOCK(4, one);
    BLOCK(5, two);
    BLOCK(0, lock);
    BLOCK(TRACE_RECORDER, lost);
    struct trace_block end = {TRACE_TAIL, 1};
    PUT(&end, sizeof end);
    PUT(&tail, sizeof tail);
    return (size_t)(p - buf);
}

size_t fuzz_seed(unsigned n, uint8_t *buf, size_t cap)
{
    if (cap < 16384 || n > 2) return 0;
    size_t size = two_threads(buf);
    if (n == 2) memset(buf + sizeof(struct trace_head) + offsetof(struct trace_block, nr), 0xff, sizeof(uint32_t));     /* a length that lies */
    return n == 1 ? size / 2 : size;
}
