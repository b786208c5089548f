// Calls that Glibc's Swift module lacks: those behind _GNU_SOURCE, variadic ones, macros. One thin function each, with
// the arguments and result of the named call, without logic.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "Confine.h"
#include "FuseDevice.h"
#include "Landlock.h"
#include "Spawn.h"

// dup3(2) with O_CLOEXEC: `descriptor` becomes a copy of `by`.
int chatfs_replace_descriptor(int descriptor, int by);

// eventfd(2) with EFD_CLOEXEC | EFD_NONBLOCK.
int chatfs_eventfd(void);
// epoll_create1(2) with EPOLL_CLOEXEC.
int chatfs_epoll(void);
// epoll_ctl(2): adds a descriptor whose next EPOLLIN is reported once, with `number`.
int chatfs_epoll_add(int epoll, int descriptor, uint64_t number);
// epoll_wait(2) without a time limit: the numbers of ready descriptors.
int chatfs_epoll_wait(int epoll, uint64_t *numbers, int count);
// timerfd_create(2) of CLOCK_REALTIME with TFD_CLOEXEC | TFD_NONBLOCK.
int chatfs_wall_timer(void);
// timerfd_settime(2) with TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET; 0 disarms it.
int chatfs_set_wall_timer(int descriptor, int64_t seconds, int64_t nanoseconds);
// renameat2(2) with RENAME_NOREPLACE.
int chatfs_rename_without_replacing(int from_directory, const char *from, int to_directory, const char *to);
// open(2) with O_TMPFILE
//  O_RDWR
//  O_CLOEXEC, mode 0600: a file without a name.
int chatfs_open_unnamed(int directory);
// memfd_create(2) with MFD_CLOEXEC: a file in memory.
int chatfs_open_in_memory(const char *name);
// fallocate(2) with mode 0.
int chatfs_allocate(int descriptor, int64_t offset, int64_t length);
/* Starts writing dirty pages of a file to the disk without waiting for them. */
int chatfs_begin_writing_back(int descriptor);
// fallocate(2) with FALLOC_FL_KEEP_SIZE: space without a longer file.
int chatfs_reserve(int descriptor, int64_t offset, int64_t length);
// syncfs(2).
int chatfs_sync_filesystem(int descriptor);
// prctl(2): PR_SET_DUMPABLE 0; PR_SET_NAME of the calling thread.
int chatfs_forbid_dumps(void);
int chatfs_name_thread(const char *name);
// statfs(2): f_type of the filesystem at path. 0, or -1 with errno.
int chatfs_filesystem_type(const char *path, uint32_t *type);
// umount2(2) with MNT_DETACH when lazy is not 0.
int chatfs_unmount(const char *path, int lazy);
// statx(2), Linux 6.8: the unique number of the mount of a descriptor (O_PATH too), never reused. Contacts only the
// kernel, not the process behind the mount. 1, or 0 if the kernel has none or refuses.
int chatfs_mount_serial(int descriptor, uint64_t *serial);
// statx(2): the size of a regular file as the kernel knows it; contacts no file server. 1, or 0 for other files.
int chatfs_known_size(const char *path, uint64_t *size);
// statmount(2), Linux 6.8: the path of the mount with this serial in the caller's mount namespace. 1 and the path with
// a NUL; 0 if it is gone; -1 with errno if the kernel refuses (ENOSYS, EPERM).
int chatfs_mount_point(uint64_t serial, char *path, size_t size);
// Returns free memory of the allocator to the system: malloc_trim(3).
void chatfs_give_back_memory(void);
// The maximum number of arenas of the allocator: M_ARENA_MAX of mallopt(3). Call before threads allocate.
void chatfs_limit_arenas(int count);
// madvise(2) of all code and constants of this process. Pages that are needed again come from the system's page cache.
// Takes some milliseconds, and causes some page faults.
void chatfs_give_back_code(void);
// Extended attributes; does not follow links if the name says so.
ssize_t chatfs_getxattr(const char *path, const char *name, void *value, size_t size);
int chatfs_setxattr(const char *path, const char *name, const void *value, size_t size);
ssize_t chatfs_listxattr(const char *path, char *list, size_t size);
// SO_PEERCRED of a connected Unix socket. Returns 0 and fills uid and pid, or -1.
int chatfs_peer_credentials(int socket, uint32_t *uid, int32_t *pid);
// setsockopt(2): TCP_NODELAY, TCP_QUICKACK.
int chatfs_tcp_no_delay(int socket);
int chatfs_tcp_quick_ack(int socket);
// SO_KEEPALIVE with TCP_KEEPIDLE, TCP_KEEPINTVL (seconds) and TCP_KEEPCNT.
int chatfs_tcp_keep_alive(int socket, int idle, int interval, int probes);
// TCP_USER_TIMEOUT.
int chatfs_tcp_user_timeout(int socket, unsigned milliseconds);
// TIOCGWINSZ: the columns of a terminal, or 0 for other descriptors.
int chatfs_terminal_columns(int descriptor);
// pipe2(2) with O_CLOEXEC.
int chatfs_pipe(int ends[2]);
// accept4(2) with SOCK_CLOEXEC | SOCK_NONBLOCK.
int chatfs_accept(int socket);

// The wait status macros.
int chatfs_exited(int status);
int chatfs_exit_code(int status);
int chatfs_signalled(int status);
int chatfs_terminating_signal(int status);

// The arguments of this process from the C library: Swift reads them from /proc.
const char *const *chatfs_arguments(int *count);

// Constants defined by macros that Swift cannot import.
extern const int chatfs_o_path;
extern const int chatfs_o_directory;
extern const int chatfs_o_nofollow;

// gcry_control of a libgcrypt loaded at run time, which is variadic, with a command without arguments.
int chatfs_gcry_control(void *control, int command);
