// Filters of system calls (seccomp(2)) for processes with hostile input. Unlisted calls fail as missing (ENOSYS).
// Permanent for the process. Async-signal-safe. 0, or -1 with errno; ENOSYS on unsupported machines.
#pragma once

// Permits memory, threads, open streams, reading files, and an exec in place. Forbids further processes, network,
// changes to files, and signals to others.
int chatfs_confine_to_reading(void);
// Permits memory and open streams only: no new files, programs or threads.
int chatfs_confine_to_computing(void);
// Forbids calls that a filesystem in user space never makes: access to other processes; changes of the kernel, its
// keys, the clock, mounts or namespaces; terminal input. For this thread and its later children. Permits unmounting,
// and starting programs without new privileges.
int chatfs_confine_daemon(void);
// Of root's capabilities, keeps only the one for reading private files.
int chatfs_drop_capabilities(void);
