// libfuse's low-level API of 3.14, and the part of 3.17 (Debian 13) that replaces our own code (`Handshake`). Chosen at
// compile time. _FILE_OFFSET_BITS stays undefined: it is unnecessary on 64-bit, and with it struct flock differs from
// Glibc's module.
#pragma once

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>
#include <stdbool.h>
#include <stdint.h>

#define CHATFS_FUSE_3_17 (FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17))

// A macro in 3.17.
static inline struct fuse_session *chatfs_fuse_session_new(
    struct fuse_args *arguments, const struct fuse_lowlevel_ops *operations, void *context) {
    return fuse_session_new(arguments, operations, sizeof *operations, context);
}

// Makes libfuse perform a received request and reply through the session's connection.
static inline void chatfs_fuse_session_process(struct fuse_session *session, void *request, size_t size) {
    const struct fuse_buf whole = {.size = size, .mem = request};
    fuse_session_process_buf(session, &whole);
}

// Requests features (FUSE_CAP_…) of the kernel's offer. 3.17 has separate 64 bits for them, and refuses the mount if
// these and the older 32 were both changed.
static inline void chatfs_fuse_want(struct fuse_conn_info *agreement, uint32_t features) {
#if CHATFS_FUSE_3_17
    fuse_set_feature_flag(agreement, agreement->capable_ext & features);
#else
    agreement->want |= agreement->capable & features;
#endif
}

static inline void chatfs_fuse_do_not_want(struct fuse_conn_info *agreement, uint32_t features) {
#if CHATFS_FUSE_3_17
    fuse_unset_feature_flag(agreement, features);
#else
    agreement->want &= ~features;
#endif
}

// Whether this libfuse has names for the flags that `Handshake` negotiates by hand.
static inline bool chatfs_fuse_names_passthrough(void) { return CHATFS_FUSE_3_17; }

// Negotiates the same as `Handshake` if there are names: the daemon's handling of set-user-id bits, and passthrough if
// requested. The depth of stacked filesystems stays 0 there, which is 1 on the wire.
static inline void chatfs_fuse_want_named(struct fuse_conn_info *agreement, bool passthrough) {
#if CHATFS_FUSE_3_17
    chatfs_fuse_want(agreement, FUSE_CAP_HANDLE_KILLPRIV_V2 | (passthrough ? FUSE_CAP_PASSTHROUGH : 0));
#else
    (void)agreement, (void)passthrough;
#endif
}

// Replies to an open whose reads the kernel takes from a backing file. 3.14 has no field for its number, so this builds
// the bytes of struct fuse_open_out. 0 or a negative errno.
static inline int chatfs_fuse_reply_open_passthrough(
    fuse_req_t request, const struct fuse_file_info *info, int32_t backing) {
#if CHATFS_FUSE_3_17
    struct fuse_file_info through = *info;
    through.keep_cache = 0;
    through.backing_id = backing;
    return fuse_reply_open(request, &through);
#else
    const struct {
        uint64_t handle;
        uint32_t flags;
        int32_t backing;
    } answer = {
        .handle = info->fh,
        // FOPEN_PASSTHROUGH and FOPEN_NOFLUSH of linux/fuse.h.
        .flags = 1u << 7 | (info->noflush ? 1u << 5 : 0),
        .backing = backing,
    };
    _Static_assert(sizeof answer == 16, "struct fuse_open_out");
    return fuse_reply_buf(request, (const char *)&answer, sizeof answer);
#endif
}
