// What files a process can still open (landlock(7)), for good, whatever it starts. Async-signal-safe.
#pragma once

// Calls `found` with the path of each library that this process has loaded.
void chatfs_each_library(void (*found)(const char *path, void *context), void *context);
// What the kernel has of it; 0: nothing.
int chatfs_landlock_version(void);
// Only what lies at or beneath these paths (the last is NULL) can be read or executed, and nothing written.
// What is open stays so, and files without a place, as those in memory, can be opened again. 0 also where the
// kernel has none of it; else -1 with errno.
int chatfs_landlock_to_reading(const char *const *paths);
