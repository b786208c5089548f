// The parts of the kernel's FUSE protocol that libfuse 3.14 and the headers of Linux 6.1 lack. Layouts and numbers are
// those of the kernel's include/uapi/linux/fuse.h, protocol 7.40 (Linux 6.9). They are stable; new fields use reserved
// space.
#pragma once

#include <stdint.h>

// struct fuse_in_header: precedes every request.
struct chatfs_fuse_request {
    uint32_t length, operation;
    uint64_t unique, node;
    uint32_t user, group, process;
    uint16_t extensions, padding;
};

// struct fuse_init_in, its used part: follows the header of the first request.
struct chatfs_fuse_offer {
    uint32_t major, minor, largest_read_ahead;
    uint32_t flags;
    // Bits 32 to 63 of the flags.
    uint32_t more_flags;
};

// struct fuse_out_header: precedes every reply.
struct chatfs_fuse_reply {
    uint32_t length;
    int32_t error;
    uint64_t unique;
};

// struct fuse_init_out: the reply to the first request.
struct chatfs_fuse_agreement {
    uint32_t major, minor, largest_read_ahead;
    uint32_t flags;
    uint16_t most_in_background, congestion_threshold;
    uint32_t largest_write, time_granularity;
    uint16_t most_pages, map_alignment;
    uint32_t more_flags;
    // The maximum stack of filesystems with passthrough, this one included (max_stack_depth).
    uint32_t stack_depth;
    uint32_t unused[6];
};

// FUSE_DEV_IOC_BACKING_OPEN: registers an open file and returns its number (from 1), or -1. EPERM without CAP_SYS_ADMIN
// in the first user namespace, or without negotiated passthrough; ELOOP if the file's own filesystem is stacked.
// libfuse 3.17 offers this only with a request to reply to, and without the errno.
int chatfs_fuse_backing_open(int connection, int file);
// FUSE_DEV_IOC_BACKING_CLOSE: removes the number. Files opened through it stay open.
int chatfs_fuse_backing_close(int connection, int32_t number);

// FUSE_DEV_IOC_CLONE: another descriptor of the same connection, or -1. The reply to a request uses the descriptor that
// it was read from. The kernel aborts the request when that one is closed, even if others of the connection are open.
int chatfs_fuse_clone(int connection);
// Gives the calling thread its own descriptor table: 0 to 2, and `number` as a copy of `descriptor`. The process keeps
// its table. 0, or -1 without support of the kernel (close_range(2) with CLOSE_RANGE_UNSHARE, Linux 5.9).
int chatfs_have_alone(int number, int descriptor);
