// Filters of system calls (seccomp(2)) for processes that work on bytes of strangers. Once set they hold
// for the process and all it starts, for good. Async-signal-safe. 0, or -1 with errno; ENOSYS on machines
// whose calls have not been listed here.
#pragma once

// No new privileges, no network, no files changed, no other process touched. Programs still start.
int chatfs_confine_to_reading(void);
// Only memory, and streams that are open already: no file is opened, no program and no thread started.
int chatfs_confine_to_computing(void);
