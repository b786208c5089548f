// libfuse 3.14, low-level API. _FILE_OFFSET_BITS stays undefined: on 64-bit it is not needed, and
// with it struct flock differs from Glibc's module.
#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>
