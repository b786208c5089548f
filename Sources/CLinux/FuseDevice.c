#define _GNU_SOURCE
#include "FuseDevice.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// struct fuse_backing_map.
struct backing {
    int32_t file;
    uint32_t flags;
    uint64_t padding;
};

_Static_assert(sizeof(struct chatfs_fuse_request) == 40, "struct fuse_in_header");
_Static_assert(sizeof(struct chatfs_fuse_reply) == 16, "struct fuse_out_header");
_Static_assert(sizeof(struct chatfs_fuse_agreement) == 64, "struct fuse_init_out");
_Static_assert(sizeof(struct backing) == 16, "struct fuse_backing_map");

// FUSE_DEV_IOC_MAGIC is 229.
int chatfs_fuse_backing_open(int connection, int file) {
    struct backing backing = {.file = file};
    return ioctl(connection, _IOW(229, 1, struct backing), &backing);
}

int chatfs_fuse_backing_close(int connection, int32_t number) {
    uint32_t value = (uint32_t)number;
    return ioctl(connection, _IOW(229, 2, uint32_t), &value);
}

int chatfs_fuse_clone(int connection) {
    int clone = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (clone < 0) return -1;
    uint32_t original = (uint32_t)connection;
    if (ioctl(clone, _IOR(229, 0, uint32_t), &original) == 0) return clone;
    int failure = errno;
    close(clone);
    errno = failure;
    return -1;
}

int chatfs_have_alone(int number, int descriptor) {
    if (number < 3 || descriptor < 3 || number == descriptor) {
        errno = EINVAL;
        return -1;
    }
    unsigned behind = (unsigned)(number > descriptor ? number : descriptor) + 1;
    // Flag 2 is CLOSE_RANGE_UNSHARE: later changes affect this thread only.
    if (syscall(SYS_close_range, behind, ~0U, 2U) != 0) return -1;
    if (dup3(descriptor, number, O_CLOEXEC) < 0) return -1;
    if (number > 3) syscall(SYS_close_range, 3U, (unsigned)number - 1, 0U);
    syscall(SYS_close_range, (unsigned)number + 1, ~0U, 0U);
    return 0;
}
