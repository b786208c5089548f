#define _GNU_SOURCE
#include "Spawn.h"

#include "Confine.h"
#include "Landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int limit(int resource, unsigned long most) {
    struct rlimit value = {most, most};
    return setrlimit(resource, &value) == 0 ? 0 : errno;
}

// Only async-signal-safe calls.
static int prepare(const struct chatfs_spawn *what, pid_t parent) {
    // A new session has no terminal for injected input.
    if (what->max_memory && setsid() < 0) return errno;
    if (!what->max_memory && what->own_group && setpgid(0, 0) != 0) return errno;
    if (what->parent_death_signal) {
        if (prctl(PR_SET_PDEATHSIG, what->parent_death_signal, 0, 0, 0) != 0) return errno;
        // The parent may have ended before the request.
        if (getppid() != parent) return ESRCH;
    }
    if (what->folder && chdir(what->folder) != 0) return errno;
    sigset_t blocked;
    sigemptyset(&blocked);
    for (int number = 1; number <= 31; number++) {
        unsigned long bit = 1UL << (number - 1);
        if (number != SIGKILL && number != SIGSTOP) {
            signal(number, what->ignored & bit ? SIG_IGN : SIG_DFL);
        }
        if (what->blocked & bit) sigaddset(&blocked, number);
    }
    // First above 2, so that placing one stream cannot overwrite the next.
    int streams[3];
    for (int i = 0; i < 3; i++) {
        streams[i] = fcntl(what->streams[i], F_DUPFD_CLOEXEC, 3);
        if (streams[i] < 0) return errno;
    }
    for (int i = 0; i < 3; i++) {
        if (dup2(streams[i], i) < 0) return errno;
    }
    // Flag 4 is CLOSE_RANGE_CLOEXEC; the pipe that reports a failed exec stays open until then.
    syscall(SYS_close_range, 3U, ~0U, 4U);
    if (sigprocmask(SIG_SETMASK, &blocked, NULL) != 0) return errno;
    if (what->max_memory) {
        int failure = limit(RLIMIT_CORE, 0);
        if (!failure) failure = limit(RLIMIT_AS, what->max_memory);
        if (!failure) failure = limit(RLIMIT_CPU, what->max_seconds);
        if (!failure && chatfs_landlock_to_reading(what->readable) != 0) failure = errno;
        if (!failure && chatfs_drop_capabilities() != 0) failure = errno;
        if (!failure && chatfs_confine_to_reading() != 0) failure = errno;
        if (failure) return failure;
    }
    execve(what->path, what->arguments, what->environment);
    return errno;
}

pid_t chatfs_spawn(const struct chatfs_spawn *what) {
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0) return -1;
    pid_t parent = getpid();
    // No handler of the parent may run in the child before its signals are set.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t child = fork();
    if (child == 0) {
        int failure = prepare(what, parent);
        ssize_t ignored = write(report[1], &failure, sizeof failure);
        (void)ignored;
        _exit(127);
    }
    int failure = child < 0 ? errno : 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(report[1]);
    if (child > 0) {
        ssize_t count;
        do count = read(report[0], &failure, sizeof failure);
        while (count < 0 && errno == EINTR);
        // A closed pipe without data: the program runs.
        if (count != sizeof failure) failure = 0;
        if (failure) waitpid(child, NULL, 0);
    }
    close(report[0]);
    if (failure) {
        errno = failure;
        return -1;
    }
    return child;
}

int chatfs_process_descriptor(pid_t process) { return (int)syscall(SYS_pidfd_open, process, 0); }

// As in linux/pidfd.h since 6.15; older headers lack it.
struct process_info {
    uint64_t mask, group;
    uint32_t ids[11];
    int32_t exit_code;
};

int chatfs_process_exit(int descriptor, int *status) {
    const unsigned long get_info = _IOWR(0xFF, 11, struct process_info);
    const uint64_t exit_info = 1U << 3;
    struct process_info info = {.mask = exit_info};
    if (ioctl(descriptor, get_info, &info) != 0 || !(info.mask & exit_info)) return 0;
    *status = info.exit_code;
    return 1;
}

int chatfs_signal_process(int descriptor, int number) {
    return (int)syscall(SYS_pidfd_send_signal, descriptor, number, NULL, 0);
}
