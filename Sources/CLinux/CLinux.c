#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <linux/falloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

int chatfs_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

int chatfs_epoll(void) { return epoll_create1(EPOLL_CLOEXEC); }

int chatfs_epoll_add(int epoll, int descriptor, uint64_t number) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data = {.u64 = number}};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}

int chatfs_epoll_wait(int epoll, uint64_t *numbers, int count) {
    struct epoll_event events[64];
    int found = epoll_wait(epoll, events, count < 64 ? count : 64, -1);
    for (int i = 0; i < found; i++) numbers[i] = events[i].data.u64;
    return found;
}

int chatfs_wall_timer(void) { return timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK); }

int chatfs_set_wall_timer(int descriptor, int64_t seconds, int64_t nanoseconds) {
    struct itimerspec when = {.it_value = {.tv_sec = seconds, .tv_nsec = nanoseconds}};
    return timerfd_settime(descriptor, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &when, NULL);
}

int chatfs_rename_without_replacing(int from_directory, const char *from, int to_directory, const char *to) {
    return renameat2(from_directory, from, to_directory, to, RENAME_NOREPLACE);
}

int chatfs_open_unnamed(int directory) {
    return openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

int chatfs_open_in_memory(const char *name) { return memfd_create(name, MFD_CLOEXEC); }

void chatfs_give_back_memory(void) { malloc_trim(0); }

void chatfs_limit_arenas(int count) { mallopt(M_ARENA_MAX, count); }

int chatfs_allocate(int descriptor, int64_t offset, int64_t length) {
    return fallocate(descriptor, 0, offset, length);
}

int chatfs_begin_writing_back(int descriptor) {
    return sync_file_range(descriptor, 0, 0, SYNC_FILE_RANGE_WRITE);
}

int chatfs_sync_filesystem(int descriptor) { return syncfs(descriptor); }

int chatfs_reserve(int descriptor, int64_t offset, int64_t length) {
    return fallocate(descriptor, FALLOC_FL_KEEP_SIZE, offset, length);
}

int chatfs_forbid_dumps(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

int chatfs_name_thread(const char *name) { return prctl(PR_SET_NAME, name, 0, 0, 0); }

int chatfs_filesystem_type(const char *path, uint32_t *type) {
    struct statfs status;
    if (statfs(path, &status) != 0) return -1;
    *type = (uint32_t)status.f_type;
    return 0;
}

int chatfs_replace_descriptor(int descriptor, int by) { return dup3(by, descriptor, O_CLOEXEC); }

int chatfs_unmount(const char *path, int lazy) { return umount2(path, lazy ? MNT_DETACH : 0); }

int chatfs_mount_serial(int descriptor, uint64_t *serial) {
    // STATX_MNT_ID_UNIQUE, missing in older headers.
    const unsigned wanted = 0x4000;
    struct statx status;
    // FUSE permits only the mount's user (EACCES).
    if (statx(descriptor, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, wanted, &status) != 0) return 0;
    if (!(status.stx_mask & wanted)) return 0;
    *serial = status.stx_mnt_id;
    return 1;
}

int chatfs_known_size(const char *path, uint64_t *size) {
    const unsigned wanted = STATX_TYPE | STATX_SIZE;
    struct statx status;
    if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, wanted, &status) != 0) return 0;
    if ((status.stx_mask & wanted) != wanted || !S_ISREG(status.stx_mode)) return 0;
    *size = status.stx_size;
    return 1;
}

// As in linux/mount.h since 6.8; Debian 12 lacks it.
struct mount_request {
    uint32_t size, spare;
    uint64_t serial, wanted;
};

struct mount_answer {
    unsigned char others[108];
    uint32_t mount_point;
    unsigned char more[400];
    char text[4096];
};

int chatfs_mount_point(uint64_t serial, char *path, size_t size) {
    const long number = 457;
    const uint64_t mount_point = 0x10;
    struct mount_request request = {.size = sizeof request, .serial = serial, .wanted = mount_point};
    struct mount_answer answer;
    if (syscall(number, &request, &answer, sizeof answer, 0) != 0) return errno == ENOENT ? 0 : -1;
    if (answer.mount_point >= sizeof answer.text) return errno = EPROTO, -1;
    if (strnlen(answer.text + answer.mount_point, sizeof answer.text - answer.mount_point) >= size) {
        return errno = ENAMETOOLONG, -1;
    }
    strcpy(path, answer.text + answer.mount_point);
    return 1;
}

ssize_t chatfs_getxattr(const char *path, const char *name, void *value, size_t size) {
    return lgetxattr(path, name, value, size);
}

int chatfs_setxattr(const char *path, const char *name, const void *value, size_t size) {
    return lsetxattr(path, name, value, size, 0);
}

ssize_t chatfs_listxattr(const char *path, char *list, size_t size) { return llistxattr(path, list, size); }

int chatfs_peer_credentials(int socket, uint32_t *uid, int32_t *pid) {
    struct ucred credentials;
    socklen_t length = sizeof credentials;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return -1;
    *uid = credentials.uid;
    *pid = credentials.pid;
    return 0;
}

static int set_flag(int socket, int option) {
    int on = 1;
    return setsockopt(socket, IPPROTO_TCP, option, &on, sizeof on);
}

int chatfs_tcp_no_delay(int socket) { return set_flag(socket, TCP_NODELAY); }

int chatfs_tcp_quick_ack(int socket) { return set_flag(socket, TCP_QUICKACK); }

int chatfs_tcp_keep_alive(int socket, int idle, int interval, int probes) {
    int on = 1;
    if (setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle) != 0) return -1;
    if (setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval) != 0) return -1;
    if (setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes) != 0) return -1;
    return setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

int chatfs_tcp_user_timeout(int socket, unsigned milliseconds) {
    return setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}

int chatfs_terminal_columns(int descriptor) {
    struct winsize size;
    if (ioctl(descriptor, TIOCGWINSZ, &size) != 0) return 0;
    return size.ws_col;
}

int chatfs_accept(int socket) { return accept4(socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK); }

int chatfs_exited(int status) { return WIFEXITED(status); }
int chatfs_exit_code(int status) { return WEXITSTATUS(status); }
int chatfs_signalled(int status) { return WIFSIGNALED(status); }
int chatfs_terminating_signal(int status) { return WTERMSIG(status); }

static int argument_count;
static char **argument_list;

// The GNU C library passes the arguments of main.
__attribute__((constructor)) static void keep_arguments(int count, char **list) {
    argument_count = count;
    argument_list = list;
}

const char *const *chatfs_arguments(int *count) {
    *count = argument_count;
    return (const char *const *)argument_list;
}

const int chatfs_o_path = O_PATH;
const int chatfs_o_directory = O_DIRECTORY;
const int chatfs_o_nofollow = O_NOFOLLOW;
int chatfs_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

int chatfs_gcry_control(void *control, int command) {
    int (*function)(int, ...) = (int (*)(int, ...))control;
    return function(command, 0);
}
