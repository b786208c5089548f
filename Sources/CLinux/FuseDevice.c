#include "FuseDevice.h"

#include <sys/ioctl.h>

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
