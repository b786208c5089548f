// Starts a program. In C, because the Swift runtime must not run between fork and exec: its locks may be held by
// threads that the child lacks.
#pragma once

#include <sys/types.h>

struct chatfs_spawn {
    const char *path;
    char *const *arguments;
    char *const *environment;
    // The working folder, or NULL for the parent's.
    const char *folder;
    // The descriptors for 0, 1 and 2. All others are closed.
    int streams[3];
    // Not 0: the child leads its own process group.
    int own_group;
    // The signal for the child when its starting thread ends; 0 for none.
    int parent_death_signal;
    // The initially ignored and blocked signals; bit n-1 is signal n. All others have their default action and are
    // unblocked.
    unsigned long ignored;
    unsigned long blocked;
    // Not 0: limits of address space in bytes and of processor time in seconds. The child then leads a session and may
    // only read (Confine.h), and only at or beneath `readable` if the kernel supports that (Landlock.h).
    unsigned long max_memory;
    unsigned long max_seconds;
    const char *const *readable;
};

// Returns the child's process id, or -1 with errno, also if the program could not be executed.
pid_t chatfs_spawn(const struct chatfs_spawn *what);
// pidfd_open(2): a descriptor that becomes readable at the end of the process.
int chatfs_process_descriptor(pid_t process);

// PIDFD_GET_INFO with PIDFD_INFO_EXIT, Linux 6.15: the wait(2) status of the process. 1, or 0 before it was reaped and
// without support of the kernel.
int chatfs_process_exit(int descriptor, int *status);

// pidfd_send_signal(2): to the process of the descriptor, never to one with a reused number.
int chatfs_signal_process(int descriptor, int number);
