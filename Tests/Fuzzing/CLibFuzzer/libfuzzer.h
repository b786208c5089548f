#ifndef CHATFS_LIBFUZZER_H
#define CHATFS_LIBFUZZER_H

#include <stddef.h>
#include <stdint.h>

// Of the fuzzing runtime that comes with the toolchain; it has no header for this.
int LLVMFuzzerRunDriver(int *count, char ***arguments, int (*target)(const uint8_t *bytes, size_t count));

#endif
