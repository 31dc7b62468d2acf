/* tests/tcm/stress.c - threads of several processes do anything at any time.  SPDX-License-Identifier: Apache-2.0 */
#include "tcm_test.h"

#define THREADS 4
#define PERMITS 3
#define ROUNDS 1500

/* A client's memory of its permit, which callbacks use until the permit is released. */
struct mine { atomic_int there; };

static tcm_result_t hear(tcm_permit_handle_t handle, void *arg, tcm_callback_flags_t why)
{
    struct seen s = see(handle);
    CHECK(why.new_concurrency || why.new_state);
    CHECK(atomic_load(&((struct mine *)arg)->there));
    CHECK(s.threads <= 8 && s.state != TCM_PERMIT_STATE_VOID);
    return TCM_RESULT_SUCCESS;
}

static void *work(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;
    tcm_client_id_t c = client(hear);
    tcm_permit_handle_t p[PERMITS] = {0};
    struct mine mine[PERMITS];
    for (int i = 0; i < ROUNDS; i++) {
        int at = rand_r(&seed) % PERMITS, what = rand_r(&seed) % 8;
        int32_t min = (int32_t)(rand_r(&seed) % 4), max = min + (int32_t)(rand_r(&seed) % 5);
        if (!p[at] || what < 2) {
            tcm_permit_request_t r = of(min, max);
            r.flags.rigid_concurrency = rand_r(&seed) % 8 == 0;
            atomic_store(&mine[at].there, 1);
            OK(tcmRequestPermit(c, r, &mine[at], &p[at], NULL));
            OK(tcmRegisterThread(p[at]));       /* else it may count as forgotten */
            OK(tcmUnregisterThread());
        } else if (what == 2) {
            OK(tcmReleasePermit(p[at]));
            atomic_store(&mine[at].there, 0);
            p[at] = NULL;
        } else if (what == 3) {
            OK(tcmIdlePermit(p[at]));
        } else if (what == 4) {
            OK(tcmDeactivatePermit(p[at]));
        } else if (what == 5) {
            OK(tcmActivatePermit(p[at]));
        } else {
            OK(tcmRegisterThread(p[at]));
            struct seen s = see(p[at]);
            CHECK(s.threads <= 8);
            OK(tcmUnregisterThread());
        }
        if (i % 64 == 0) usleep(100);
    }
    OK(tcmDisconnect(c));
    return NULL;
}

static void threads_of(unsigned seed)
{
    pthread_t t[THREADS];
    pretend(8, false);
    for (unsigned i = 0; i < THREADS; i++) CHECK(!pthread_create(&t[i], NULL, work, (void *)(uintptr_t)(seed + i)));
    for (unsigned i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    CHECK(!tcm.permits && !tcm.waiting_news);
}

int main(int argc, char **argv)
{
    unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : (unsigned)getpid();
    pid_t child[2];
    int status;
    printf("seed %u\n", seed);
    fflush(stdout);
    begin();
    for (int i = 0; i < 2; i++) {
        child[i] = fork();
        if (child[i] == 0) {
            threads_of(seed + 100u * (unsigned)(i + 1));
            exit(0);
        }
    }
    threads_of(seed);
    for (int i = 0; i < 2; i++) CHECK(waitpid(child[i], &status, 0) == child[i] && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    /* All have left: everything is to be had. */
    tcm_permit_handle_t p = permit(client(NULL), of(1, 8), NULL);
    UNTIL(see(p).threads == 8);
    end();
    return 0;
}
