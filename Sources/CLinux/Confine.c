#define _GNU_SOURCE
#include "Confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

// Without the calls that newer machines never had.
static const int forbidden[] = {
    // Network, and what opens it by another door.
    SYS_socket, SYS_socketpair, SYS_connect, SYS_bind, SYS_listen, SYS_sendto, SYS_sendmsg, SYS_io_uring_setup,
    // Files and their names.
    SYS_openat2, SYS_unlinkat, SYS_renameat2, SYS_linkat, SYS_symlinkat, SYS_mkdirat, SYS_mknodat, SYS_fchmod,
    SYS_fchmodat, SYS_fchown, SYS_fchownat, SYS_truncate, SYS_utimensat, SYS_setxattr, SYS_lsetxattr,
    SYS_fsetxattr, SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr,
    // Other processes and the machine.
    SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_pidfd_send_signal,
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_pidfd_getfd, SYS_setns, SYS_unshare,
    SYS_mount, SYS_umount2, SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_keyctl, SYS_add_key,
    SYS_request_key, SYS_prlimit64,
#ifdef SYS_open
    SYS_creat, SYS_unlink, SYS_rename, SYS_renameat, SYS_link, SYS_symlink, SYS_mkdir, SYS_rmdir, SYS_mknod,
    SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat,
#endif
};

static const int computing[] = {
    SYS_read, SYS_write, SYS_close, SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_brk,
    SYS_futex, SYS_sched_yield, SYS_clock_gettime, SYS_getrandom, SYS_getpid, SYS_gettid, SYS_rt_sigaction,
    SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_exit, SYS_exit_group,
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define LONGEST (COUNT(forbidden) > COUNT(computing) ? COUNT(forbidden) : COUNT(computing))

struct program {
    // Two for each call; 17 begin, look at the two forms of open and end.
    struct sock_filter steps[2 * LONGEST + 17];
    unsigned short count;
};

static void add(struct program *program, unsigned short code, unsigned char yes, unsigned char no, unsigned k) {
    program->steps[program->count++] = (struct sock_filter){code, yes, no, k};
}

static void add_load(struct program *program, size_t offset) {
    add(program, BPF_LD | BPF_W | BPF_ABS, 0, 0, (unsigned)offset);
}

static void add_answer(struct program *program, unsigned answer) {
    add(program, BPF_RET | BPF_K, 0, 0, answer);
}

// Calls of another kind of machine code have other numbers: none is let through.
static void begin(struct program *program) {
#ifdef ARCHITECTURE
    add_load(program, offsetof(struct seccomp_data, arch));
    add(program, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCHITECTURE);
    add_answer(program, SECCOMP_RET_KILL_PROCESS);
#endif
    add_load(program, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
    // The numbers of the x32 interface.
    add(program, BPF_JMP | BPF_JGE | BPF_K, 0, 1, 0x40000000);
    add_answer(program, SECCOMP_RET_KILL_PROCESS);
#endif
}

static void add_calls(struct program *program, const int *calls, size_t count, unsigned answer) {
    for (size_t i = 0; i < count; i++) {
        add(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (unsigned)calls[i]);
        add_answer(program, answer);
    }
}

// Whether an open(2) may change anything is in its flags, an argument that a filter can see.
static void add_open(struct program *program, int call, unsigned argument) {
    unsigned changing = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND;
    add(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, (unsigned)call);
    add_load(program, offsetof(struct seccomp_data, args) + 8 * argument);
    add(program, BPF_JMP | BPF_JSET | BPF_K, 0, 1, changing);
    add_answer(program, SECCOMP_RET_ERRNO | EPERM);
    add_answer(program, SECCOMP_RET_ALLOW);
}

static int install(struct program *program) {
#ifdef ARCHITECTURE
    struct sock_fprog filter = {program->count, program->steps};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter);
#else
    (void)program;
    errno = ENOSYS;
    return -1;
#endif
}

int chatfs_confine_to_reading(void) {
    struct program program = {.count = 0};
    begin(&program);
    add_open(&program, SYS_openat, 2);
#ifdef SYS_open
    add_open(&program, SYS_open, 1);
#endif
    add_calls(&program, forbidden, COUNT(forbidden), SECCOMP_RET_ERRNO | EPERM);
    add_answer(&program, SECCOMP_RET_ALLOW);
    return install(&program);
}

int chatfs_confine_to_computing(void) {
    struct program program = {.count = 0};
    begin(&program);
    add_calls(&program, computing, COUNT(computing), SECCOMP_RET_ALLOW);
    add_answer(&program, SECCOMP_RET_ERRNO | EPERM);
    return install(&program);
}
