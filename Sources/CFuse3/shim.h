// libfuse's low-level API, as 3.14 has it; of what 3.17 has beyond it (Debian 13) that which replaces work of
// our own (`Handshake`). Which of both it is is decided when this is compiled. _FILE_OFFSET_BITS stays undefined:
// on 64-bit it is not needed, and with it struct flock differs from Glibc's module.
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

// Has libfuse perform a request that was read, and answer it through the connection of the session.
static inline void chatfs_fuse_session_process(struct fuse_session *session, void *request, size_t size) {
    const struct fuse_buf whole = {.size = size, .mem = request};
    fuse_session_process_buf(session, &whole);
}

// Wants features (FUSE_CAP_…) of what the kernel offers. 3.17 keeps them in 64 bits of its own, and refuses the
// mount when these and the older 32 were both changed.
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

// Whether this libfuse has names for what `Handshake` agrees on by hand.
static inline bool chatfs_fuse_names_passthrough(void) { return CHATFS_FUSE_3_17; }

// Agrees on what `Handshake` does, where there are names for it: that the daemon takes care of set-user-id bits,
// and passthrough when it is wanted. The depth of stacked filesystems stays 0 there, that is, 1 on the wire.
static inline void chatfs_fuse_want_named(struct fuse_conn_info *agreement, bool passthrough) {
#if CHATFS_FUSE_3_17
    chatfs_fuse_want(agreement, FUSE_CAP_HANDLE_KILLPRIV_V2 | (passthrough ? FUSE_CAP_PASSTHROUGH : 0));
#else
    (void)agreement, (void)passthrough;
#endif
}

// Answers open for what the kernel then reads from a backing file. 3.14 has no field for its number: there the
// bytes of the answer, struct fuse_open_out, are made here. 0 or a negative errno.
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
