// The build's sources and the loaded libraries. Safe to use from any thread; the strings live as long as the process.
#pragma once

// The commit from CHATFS_COMMIT at build time, or empty.
const char *chatfs_release_commit(void);

// The versions of the libraries loaded in this process, not those of the build.
const char *chatfs_release_fuse(void);
const char *chatfs_release_openssl(void);
const char *chatfs_release_sodium(void);
const char *chatfs_release_nghttp2(void);
const char *chatfs_release_sqlite(void);
const char *chatfs_release_glibc(void);
