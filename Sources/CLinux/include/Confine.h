// Filters of system calls (seccomp(2)) for processes that work on bytes of strangers: what is not listed is a
// call that the kernel does not have (ENOSYS). Once set they hold for the process for good. Async-signal-safe.
// 0, or -1 with errno; ENOSYS on machines whose calls have not been listed here.
#pragma once

// Memory, threads, streams and files that are read; another program in its own place, but no process beside it,
// no network, no change to a file, no signal to anybody.
int chatfs_confine_to_reading(void);
// Only memory, and streams that are open already: no file is opened, no program and no thread started.
int chatfs_confine_to_computing(void);
// Everything but what a file system in user space never does: to look into other processes, to change the
// kernel, its keys, the clock, the tree of mounts or namespaces, to type into a terminal. For this thread and
// those that it makes. Unmounting is left, starting programs too, but without new privileges.
int chatfs_confine_daemon(void);
// Of the powers of root only that of reading files whose folders are closed.
int chatfs_drop_capabilities(void);
