#define _GNU_SOURCE
#include "Confine.h"

#include "SystemCallFilter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

// The calls of programs that compute, load their libraries and read files. None creates a process, an object visible to
// others, or a change that outlives the program.
static const int reading[] = {
    // Streams and files. The flags of open are checked below.
    SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_pwrite64, SYS_lseek, SYS_close, SYS_close_range,
    SYS_dup, SYS_dup3, SYS_pipe2, SYS_ppoll, SYS_pselect6, SYS_eventfd2, SYS_fadvise64, SYS_fstat, SYS_newfstatat,
    SYS_statx, SYS_statfs, SYS_fstatfs, SYS_faccessat, SYS_faccessat2, SYS_readlinkat, SYS_getdents64, SYS_getcwd,
    // Memory.
    SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_brk, SYS_mlock, SYS_mlock2, SYS_munlock,
    SYS_membarrier,
    // Threads, own signals and time.
    SYS_futex, SYS_sched_yield, SYS_sched_getaffinity, SYS_sched_getparam, SYS_sched_getscheduler,
    SYS_sched_get_priority_min, SYS_sched_get_priority_max, SYS_set_tid_address, SYS_set_robust_list, SYS_rseq,
    SYS_getcpu, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_restart_syscall,
    SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday, SYS_times,
    // Information about the process and the machine.
    SYS_getpid, SYS_gettid, SYS_getppid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getresuid,
    SYS_getresgid, SYS_getgroups, SYS_getrusage, SYS_getrandom, SYS_uname, SYS_sysinfo, SYS_umask,
    // The program itself. The filter survives an exec.
    SYS_execve, SYS_exit, SYS_exit_group,
#ifdef SYS_open
    // Older forms, which newer machines never had.
    SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_dup2, SYS_pipe, SYS_poll, SYS_select, SYS_getpgrp,
    SYS_time, SYS_getrlimit, SYS_arch_prctl,
#endif
};

static const int computing[] = {
    SYS_read, SYS_write, SYS_close, SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_brk,
    SYS_futex, SYS_sched_yield, SYS_clock_gettime, SYS_getrandom, SYS_getpid, SYS_gettid, SYS_rt_sigaction,
    SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_restart_syscall, SYS_exit, SYS_exit_group,
};

// Calls that a daemon never needs. Numbers from 424 on are equal on every machine; headers may lack them.
static const int never[] = {
    // Other processes.
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, 438 /* pidfd_getfd */,
    440 /* process_madvise */,
    // The kernel and the machine.
    SYS_kexec_load, SYS_kexec_file_load, SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_bpf,
    SYS_perf_event_open, SYS_userfaultfd, SYS_reboot, SYS_swapon, SYS_swapoff, SYS_acct, SYS_quotactl, SYS_syslog,
    SYS_sethostname, SYS_setdomainname, SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex,
    SYS_vhangup, 425 /* io_uring_setup */, 426, 427,
    // Keys of the kernel.
    SYS_keyctl, SYS_add_key, SYS_request_key,
    // The tree of mounts, namespaces, files by their handles.
    SYS_mount, SYS_pivot_root, SYS_chroot, SYS_setns, SYS_unshare, SYS_open_by_handle_at, SYS_fanotify_init,
    428 /* open_tree */, 429 /* move_mount */, 430 /* fsopen */, 431, 432, 433 /* fspick */, 442 /* mount_setattr */,
#ifdef SYS_iopl
    SYS_iopl, SYS_ioperm, SYS_modify_ldt, SYS_uselib,
#endif
};

// Whether the stream is a terminal, and closing at an exec. Not terminal input (TIOCSTI) and not changes of a file's
// flags.
static const unsigned controls[] = {TCGETS, TIOCGWINSZ, FIONREAD, FIOCLEX, FIONCLEX};

static const unsigned file_commands[] = {F_GETFD, F_SETFD, F_GETFL, F_DUPFD, F_DUPFD_CLOEXEC};

// The name of a thread or of memory, and settings that cannot be undone. PR_SET_VMA.
static const unsigned process_options[] = {
    PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE, PR_CAPBSET_READ, PR_GET_NO_NEW_PRIVS, PR_SET_NO_NEW_PRIVS, 0x53564d41,
};

// The flags of open(2) decide whether it may change a file.
static void allow_reading(struct chatfs_filter *filter, int call, unsigned argument) {
    unsigned changing = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND;
    chatfs_filter_allow_bits(filter, call, argument, 0, changing, EPERM);
}

// F_SETFL without the flag that requests signals; other commands by their list.
static void allow_file_commands(struct chatfs_filter *filter) {
    unsigned short opened = chatfs_filter_open(filter, SYS_fcntl);
    chatfs_filter_load_argument(filter, 1, 0);
    for (size_t i = 0; i < COUNT(file_commands); i++) {
        chatfs_filter_add(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, file_commands[i]);
        chatfs_filter_answer(filter, 0);
    }
    chatfs_filter_add(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 3, F_SETFL);
    chatfs_filter_load_argument(filter, 2, 0);
    chatfs_filter_add(filter, BPF_JMP | BPF_JSET | BPF_K, 1, 0, O_ASYNC);
    chatfs_filter_answer(filter, 0);
    chatfs_filter_answer(filter, EPERM);
    chatfs_filter_close(filter, opened);
}

// The options of the list, and closing to debuggers.
static void allow_process_options(struct chatfs_filter *filter) {
    unsigned short opened = chatfs_filter_open(filter, SYS_prctl);
    chatfs_filter_load_argument(filter, 0, 0);
    for (size_t i = 0; i < COUNT(process_options); i++) {
        chatfs_filter_add(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, process_options[i]);
        chatfs_filter_answer(filter, 0);
    }
    chatfs_filter_add(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 3, PR_SET_DUMPABLE);
    chatfs_filter_load_argument(filter, 1, 0);
    chatfs_filter_add(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
    chatfs_filter_answer(filter, 0);
    chatfs_filter_answer(filter, EINVAL);
    chatfs_filter_close(filter, opened);
}

// Reads limits of the process itself, and sets none.
static void allow_looking_at_limits(struct chatfs_filter *filter) {
    unsigned short opened = chatfs_filter_open(filter, SYS_prlimit64);
    unsigned short jumps[3];
    for (int i = 0; i < 3; i++) {
        // The process, and both halves of the pointer to a new limit.
        chatfs_filter_load_argument(filter, i == 0 ? 0 : 2, i == 2);
        jumps[i] = filter->count;
        chatfs_filter_add(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 0);
    }
    chatfs_filter_answer(filter, 0);
    for (int i = 0; i < 3; i++) filter->steps[jumps[i]].jf = (unsigned char)(filter->count - jumps[i] - 1);
    chatfs_filter_answer(filter, EPERM);
    chatfs_filter_close(filter, opened);
}

int chatfs_confine_to_reading(void) {
    struct chatfs_filter filter = {.count = 0};
    chatfs_filter_begin(&filter);
    chatfs_filter_allow(&filter, reading, COUNT(reading));
    allow_reading(&filter, SYS_openat, 2);
#ifdef SYS_open
    allow_reading(&filter, SYS_open, 1);
#endif
    // Threads of this process, which end with it. The arguments of clone3(2) are in memory, which a filter cannot read;
    // without it the library uses the older call.
    unsigned thread = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD;
    unsigned namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID
        | CLONE_NEWNET | CLONE_PTRACE | CLONE_UNTRACED;
    chatfs_filter_allow_bits(&filter, SYS_clone, 0, thread, namespaces, EPERM);
    chatfs_filter_allow_values(&filter, SYS_ioctl, 1, controls, COUNT(controls), ENOTTY);
    allow_file_commands(&filter);
    allow_process_options(&filter);
    allow_looking_at_limits(&filter);
    // Further filters, which can only take calls away. Without flags, which could pass calls to another process.
    unsigned none = 0;
    chatfs_filter_allow_values(&filter, SYS_seccomp, 1, &none, 1, EINVAL);
    chatfs_filter_end(&filter, ENOSYS);
    return chatfs_filter_install(&filter);
}

int chatfs_confine_to_computing(void) {
    struct chatfs_filter filter = {.count = 0};
    chatfs_filter_begin(&filter);
    chatfs_filter_allow(&filter, computing, COUNT(computing));
    chatfs_filter_end(&filter, ENOSYS);
    return chatfs_filter_install(&filter);
}

int chatfs_confine_daemon(void) {
    struct chatfs_filter filter = {.count = 0};
    chatfs_filter_begin(&filter);
    chatfs_filter_refuse(&filter, never, COUNT(never), EPERM);
    unsigned short opened = chatfs_filter_open(&filter, SYS_ioctl);
    chatfs_filter_load_argument(&filter, 1, 0);
    chatfs_filter_add(&filter, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, TIOCSTI);
    chatfs_filter_answer(&filter, 0);
    chatfs_filter_answer(&filter, EPERM);
    chatfs_filter_close(&filter, opened);
    chatfs_filter_end(&filter, 0);
    return chatfs_filter_install(&filter);
}

int chatfs_drop_capabilities(void) {
    unsigned kept = 1U << CAP_DAC_READ_SEARCH;
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct sets[2];
    if (syscall(SYS_capget, &header, sets) != 0) return -1;
    // Refused without the capability, and then unnecessary. Ends at the first invalid number.
    for (int number = 0; number < 64; number++) {
        if (number == CAP_DAC_READ_SEARCH) continue;
        if (prctl(PR_CAPBSET_DROP, number, 0, 0, 0) != 0 && errno == EINVAL) break;
    }
    for (int i = 0; i < 2; i++) {
        sets[i].inheritable = 0;
        sets[i].permitted &= i == 0 ? kept : 0;
        sets[i].effective = sets[i].permitted;
    }
    return (int)syscall(SYS_capset, &header, sets);
}
