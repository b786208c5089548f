// Limits the files that a process and its children can open, permanently (landlock(7)). Async-signal-safe.
#pragma once

// Calls `found` with the path of each loaded library of this process.
void chatfs_each_library(void (*found)(const char *path, void *context), void *context);
// The kernel's version of Landlock, or 0 without it.
int chatfs_landlock_version(void);
// Permits reading and execution at or beneath these paths (the last is NULL), and no writing. Open files stay open, and
// files without a path, such as those in memory, can be opened again. 0, also without Landlock in the kernel; otherwise
// -1 with errno.
int chatfs_landlock_to_reading(const char *const *paths);
