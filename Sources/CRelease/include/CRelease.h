// What this build was made of, and the libraries that it runs with. Any thread; the strings live as long as the process.
#pragma once

// The commit, as CHATFS_COMMIT said when this was built; empty where nobody said it.
const char *chatfs_release_commit(void);

// Versions of the libraries that are linked, as they are in this process, not as they were when it was built.
const char *chatfs_release_fuse(void);
const char *chatfs_release_openssl(void);
const char *chatfs_release_sodium(void);
const char *chatfs_release_nghttp2(void);
const char *chatfs_release_sqlite(void);
const char *chatfs_release_glibc(void);
