#include "CRelease.h"

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>
#include <gnu/libc-version.h>
#include <nghttp2/nghttp2.h>
#include <openssl/crypto.h>
#include <sodium/version.h>
#include <sqlite3.h>

#ifndef CHATFS_COMMIT
#define CHATFS_COMMIT ""
#endif

const char *chatfs_release_commit(void) { return CHATFS_COMMIT; }
const char *chatfs_release_fuse(void) { return fuse_pkgversion(); }
const char *chatfs_release_openssl(void) { return OpenSSL_version(OPENSSL_VERSION_STRING); }
const char *chatfs_release_sodium(void) { return sodium_version_string(); }
const char *chatfs_release_nghttp2(void) { return nghttp2_version(0)->version_str; }
const char *chatfs_release_sqlite(void) { return sqlite3_libversion(); }
const char *chatfs_release_glibc(void) { return gnu_get_libc_version(); }
