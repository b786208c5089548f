// Starting a program. In C, because between fork and exec nothing of the Swift runtime may run: its
// locks may be held by threads that do not exist in the child.
#pragma once

#include <sys/types.h>

struct chatfs_spawn {
    const char *path;
    char *const *arguments;
    char *const *environment;
    // Working folder, or NULL for the parent's.
    const char *folder;
    // Descriptors that become 0, 1 and 2. All others are closed.
    int streams[3];
    // Not 0: the child leads a process group of its own.
    int own_group;
    // Sent by the kernel to the child when the thread that started it ends; 0 for none.
    int parent_death_signal;
    // Signals that the child starts with ignored, and blocked; bit n-1 is signal n. All others have
    // their default action and are open.
    unsigned long ignored;
    unsigned long blocked;
    // Not 0: most bytes of address space and seconds of processor time it may use; it leads a session of its
    // own, and may only read (Confine.h), where the kernel can tell files apart only what lies at or beneath
    // `readable` (Landlock.h).
    unsigned long max_memory;
    unsigned long max_seconds;
    const char *const *readable;
};

// The child's process id, or -1 with errno, also when the program could not be executed.
pid_t chatfs_spawn(const struct chatfs_spawn *what);
// pidfd_open(2): a descriptor that becomes readable when the process has ended.
int chatfs_process_descriptor(pid_t process);

// PIDFD_GET_INFO with PIDFD_INFO_EXIT, Linux 6.15: how the process of such a descriptor ended, as wait(2) gives it. 1, or
// 0 while it has not been waited for, and where the kernel does not tell.
int chatfs_process_exit(int descriptor, int *status);

// pidfd_send_signal(2): to the process of such a descriptor, never to another that got its number.
int chatfs_signal_process(int descriptor, int number);
