// What goes over the connection to the kernel's FUSE beyond what libfuse 3.14 and the headers of Linux 6.1
// know. Layouts and numbers are those of the kernel's include/uapi/linux/fuse.h, protocol 7.40 (Linux 6.9);
// they never change, fields are only added in what was unused.
#pragma once

#include <stdint.h>

// struct fuse_in_header: in front of every request.
struct chatfs_fuse_request {
    uint32_t length, operation;
    uint64_t unique, node;
    uint32_t user, group, process;
    uint16_t extensions, padding;
};

// struct fuse_init_in, as far as it is looked at: follows the header of the first request.
struct chatfs_fuse_offer {
    uint32_t major, minor, largest_read_ahead;
    uint32_t flags;
    // Bits 32 to 63 of the flags.
    uint32_t more_flags;
};

// struct fuse_out_header: in front of every reply.
struct chatfs_fuse_reply {
    uint32_t length;
    int32_t error;
    uint64_t unique;
};

// struct fuse_init_out: the answer to the first request.
struct chatfs_fuse_agreement {
    uint32_t major, minor, largest_read_ahead;
    uint32_t flags;
    uint16_t most_in_background, congestion_threshold;
    uint32_t largest_write, time_granularity;
    uint16_t most_pages, map_alignment;
    uint32_t more_flags;
    // Filesystems below this one that files may be passed through from, counted with it (max_stack_depth).
    uint32_t stack_depth;
    uint32_t unused[6];
};

// FUSE_DEV_IOC_BACKING_OPEN: gives an open file to the connection and answers its number there (from 1 on), or
// -1. EPERM without CAP_SYS_ADMIN in the first user namespace, or when passthrough was not agreed; ELOOP when
// the file's own filesystem is stacked. libfuse 3.17 has this with a request to answer, and without the errno.
int chatfs_fuse_backing_open(int connection, int file);
// FUSE_DEV_IOC_BACKING_CLOSE: takes the number back. What is open through it stays open.
int chatfs_fuse_backing_close(int connection, int32_t number);

// FUSE_DEV_IOC_CLONE: another descriptor of the same connection, or -1. A request that was read through one is
// answered through that one, and ended by the kernel when that one is closed, though others of the connection are open.
int chatfs_fuse_clone(int connection);
// Gives the calling thread descriptors of its own: 0 to 2, and `number`, which stands for what `descriptor` stands
// for. Those of the process stay as they are. 0, or -1 where the kernel cannot (close_range(2) with
// CLOSE_RANGE_UNSHARE, Linux 5.9).
int chatfs_have_alone(int number, int descriptor);
