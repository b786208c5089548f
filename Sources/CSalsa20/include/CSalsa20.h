// The Salsa20 stream cipher for sixteen blocks at once, with AVX-512. It needs less than half of the time of libsodium's,
// which uses AVX2.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Returns 1 if the processor and the system support chatfs_salsa20_xor, else 0.
int chatfs_salsa20_is_supported(void);

// Combines `source` with the keystream into `target`, in steps of 1,024 bytes. Returns the number of processed bytes,
// the largest multiple of 1,024 up to `count`. The keystream starts at `block` (64 bytes each). `target` and `source`
// are the same or do not overlap. Time and memory accesses depend on `count` only. Safe to use from any thread.
size_t chatfs_salsa20_xor(unsigned char *target, const unsigned char *source, size_t count,
                          const unsigned char nonce[8], uint64_t block, const unsigned char key[32]);
