/* tests/teams/fake.c - what counts as an OpenMP runtime, with beginnings of functions of all kinds.  SPDX-License-Identifier: Apache-2.0
 *
 * Its regions note the size that they are asked for (in `last`) and what else they were given.  BAD 1: a function is too short; 2: a branch
 * leads into its beginning; 3: it is not described; 4: it is no whole runtime, as tools that stand before one are. */
#define FUNCTION(name, code) \
    __asm__(".text\n.globl " name "\n.type " name ",@function\n.p2align 4\n" name ":\n.cfi_startproc\n" code "\n.cfi_endproc\n.size " name ",.-" name "\n")

int last, others, level, dynamic, most = 7, set, pushed;
double sum;

/* Compare and short branch, after an endbr64. */
FUNCTION("GOMP_parallel", "endbr64\n cmp $5, %edx\n je 1f\n mov last@GOTPCREL(%rip), %rax\n mov %edx, (%rax)\n ret\n"
         "1: mov last@GOTPCREL(%rip), %rax\n movl $105, (%rax)\n ret");
/* An operand relative to the instruction. */
FUNCTION("GOMP_parallel_start", "mov last@GOTPCREL(%rip), %rax\n mov %edx, (%rax)\n ret");
/* A call. */
FUNCTION("GOMP_parallel_sections", "push %rbx\n .cfi_adjust_cfa_offset 8\n mov %edx, %ebx\n call fake_helper\n mov last@GOTPCREL(%rip), %rax\n"
         "mov %ebx, (%rax)\n pop %rbx\n .cfi_adjust_cfa_offset -8\n ret");
FUNCTION("fake_helper", "mov others@GOTPCREL(%rip), %rax\n incl (%rax)\n ret");
/* A jump. */
FUNCTION("GOMP_parallel_loop_static", "jmp GOMP_parallel_start@PLT");
/* Pushes at the end of what moves. */
FUNCTION("GOMP_parallel_reductions", "mov %rsi, %rax\n push %rbx\n .cfi_adjust_cfa_offset 8\n push %rbp\n .cfi_adjust_cfa_offset 8\n"
         "mov last@GOTPCREL(%rip), %rax\n mov %edx, (%rax)\n pop %rbp\n .cfi_adjust_cfa_offset -8\n pop %rbx\n .cfi_adjust_cfa_offset -8\n ret");
/* A computed jump, behind what moves. */
FUNCTION("GOMP_parallel_loop_runtime", "mov last@GOTPCREL(%rip), %rax\n mov %edx, (%rax)\n lea 1f(%rip), %rax\n jmp *%rax\n 1: ret");
#if BAD == 1
FUNCTION("GOMP_parallel_loop_dynamic", "mov %edx, %eax\n ret");
#elif BAD == 2
FUNCTION("GOMP_parallel_loop_dynamic", "push %rbx\n.cfi_adjust_cfa_offset 8\n1: mov %edx, %ebx\n sub $1, %esi\n jg 1b\n pop %rbx\n.cfi_adjust_cfa_offset -8\n ret");
#elif BAD == 3
__asm__(".text\n.globl GOMP_parallel_loop_dynamic\n.type GOMP_parallel_loop_dynamic,@function\nGOMP_parallel_loop_dynamic:\nnop\nnop\nnop\nnop\nnop\nret\n");
#endif
/* Many arguments, those of which some are on the stack or in vector registers: which the hook must leave alone. */
void GOMP_parallel_loop_guided(void (*f)(void *), void *d, unsigned n, long a, long b, long c, long e, long g, double x, double y);
void GOMP_parallel_loop_guided(void (*f)(void *), void *d, unsigned n, long a, long b, long c, long e, long g, double x, double y)
{
    last = (int)n;
    others = (int)(a + 10 * b + 100 * c + 1000 * e + 10000 * g);
    sum = x + y;
}
void omp_set_num_threads(int), omp_set_dynamic(int);
int omp_get_level(void), omp_get_dynamic(void), omp_get_max_threads(void), m_plain(void);
void GOMP_parallel(void (*f)(void *), void *d, unsigned n, unsigned flags);
int m_plain(void) { last = -1; GOMP_parallel(0, 0, 0, 0); return last; }
/* The other kind of runtime: sizes are said before. */
void __kmpc_push_num_threads(void *loc, int gtid, int n), __kmpc_push_num_threads_list(void *loc, int gtid, unsigned length, const int *sizes);
void __kmpc_fork_call(void *loc, int argc, void *f, ...);
int __kmpc_global_thread_num(void *loc), m_pushed(int n), m_listed(int n);
void __kmpc_push_num_threads(void *loc, int gtid, int n) { pushed = n; }
void __kmpc_push_num_threads_list(void *loc, int gtid, unsigned length, const int *sizes) { pushed = length ? sizes[0] : 0; }
void __kmpc_fork_call(void *loc, int argc, void *f, ...) { last = pushed; pushed = 0; }
int __kmpc_global_thread_num(void *loc) { return 0; }
int m_pushed(int n)
{
    if (n) __kmpc_push_num_threads(0, 0, n);
    __kmpc_fork_call(0, 0, 0);
    return last;
}
int m_listed(int n)
{
    int sizes[] = {n, 5, 6};
    __kmpc_push_num_threads_list(0, 0, n ? 3 : 0, sizes);
    __kmpc_fork_call(0, 0, 0);
    return last;
}
#if BAD != 4
void omp_set_num_threads(int n) { most = n; set++; }
#endif
void omp_set_dynamic(int is) { dynamic = is; set += 2; }
int omp_get_level(void) { volatile double x = sum; x = x * 3 + 1; return level + (x < 0); }
int omp_get_dynamic(void) { return dynamic; }
int omp_get_max_threads(void) { return most + (set < 0); }
