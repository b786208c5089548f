#define _GNU_SOURCE
#include "CSalsa20.h"

#include <string.h>

#if defined(__x86_64__)

#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f")))
#define INLINE static inline __attribute__((always_inline))

// Sixteen blocks of sixteen 32-bit words. A vector holds the same word of each block.
enum { word_count = 16, block_count = 16, block_size = 64, step_size = block_count * block_size };

int chatfs_salsa20_is_supported(void) { return __builtin_cpu_supports("avx512f") != 0; }

// The quarterround of the specification (Bernstein, "Salsa20 specification", section 3).
AVX512 INLINE void quarter_round(__m512i x[word_count], int a, int b, int c, int d) {
    x[b] = _mm512_xor_si512(x[b], _mm512_rol_epi32(_mm512_add_epi32(x[a], x[d]), 7));
    x[c] = _mm512_xor_si512(x[c], _mm512_rol_epi32(_mm512_add_epi32(x[b], x[a]), 9));
    x[d] = _mm512_xor_si512(x[d], _mm512_rol_epi32(_mm512_add_epi32(x[c], x[b]), 13));
    x[a] = _mm512_xor_si512(x[a], _mm512_rol_epi32(_mm512_add_epi32(x[d], x[c]), 18));
}

// Section 6: a columnround and a rowround.
AVX512 INLINE void double_round(__m512i x[word_count]) {
    quarter_round(x, 0, 4, 8, 12);
    quarter_round(x, 5, 9, 13, 1);
    quarter_round(x, 10, 14, 2, 6);
    quarter_round(x, 15, 3, 7, 11);
    quarter_round(x, 0, 1, 2, 3);
    quarter_round(x, 5, 6, 7, 4);
    quarter_round(x, 10, 11, 8, 9);
    quarter_round(x, 15, 12, 13, 14);
}

// Turns one word of each block per vector into one block per vector.
AVX512 INLINE void transpose(__m512i x[word_count]) {
    // Lane n of quads[4 * g + j] becomes words 4 * g to 4 * g + 3 of block 4 * n + j.
    __m512i quads[word_count];
    for (int i = 0; i < word_count; i += 4) {
        __m512i first = _mm512_unpacklo_epi32(x[i], x[i + 1]), second = _mm512_unpacklo_epi32(x[i + 2], x[i + 3]);
        __m512i third = _mm512_unpackhi_epi32(x[i], x[i + 1]), fourth = _mm512_unpackhi_epi32(x[i + 2], x[i + 3]);
        quads[i] = _mm512_unpacklo_epi64(first, second);
        quads[i + 1] = _mm512_unpackhi_epi64(first, second);
        quads[i + 2] = _mm512_unpacklo_epi64(third, fourth);
        quads[i + 3] = _mm512_unpackhi_epi64(third, fourth);
    }
    for (int j = 0; j < 4; j++) {
        __m512i front = _mm512_shuffle_i32x4(quads[j], quads[4 + j], 0x44);
        __m512i front_end = _mm512_shuffle_i32x4(quads[8 + j], quads[12 + j], 0x44);
        __m512i back = _mm512_shuffle_i32x4(quads[j], quads[4 + j], 0xee);
        __m512i back_end = _mm512_shuffle_i32x4(quads[8 + j], quads[12 + j], 0xee);
        x[j] = _mm512_shuffle_i32x4(front, front_end, 0x88);
        x[4 + j] = _mm512_shuffle_i32x4(front, front_end, 0xdd);
        x[8 + j] = _mm512_shuffle_i32x4(back, back_end, 0x88);
        x[12 + j] = _mm512_shuffle_i32x4(back, back_end, 0xdd);
    }
}

// The input of the first of sixteen blocks in each lane; the counters of the others follow. Words 8 and 9 are the block
// number.
AVX512 INLINE void expand(__m512i x[word_count], const uint32_t input[word_count], uint64_t block) {
    const __m512i numbers = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (int i = 0; i < word_count; i++) x[i] = _mm512_set1_epi32((int)input[i]);
    __m512i low = _mm512_set1_epi32((int)(uint32_t)block), high = _mm512_set1_epi32((int)(uint32_t)(block >> 32));
    x[8] = _mm512_add_epi32(low, numbers);
    x[9] = _mm512_mask_add_epi32(high, _mm512_cmplt_epu32_mask(x[8], low), high, _mm512_set1_epi32(1));
}

AVX512 size_t chatfs_salsa20_xor(unsigned char *target, const unsigned char *source, size_t count,
                                 const unsigned char nonce[8], uint64_t block, const unsigned char key[32]) {
    static const char constants[] = "expand 32-byte k";
    uint32_t input[word_count] = {0};
    memcpy(&input[0], constants, 4);
    memcpy(&input[1], key, 16);
    memcpy(&input[5], constants + 4, 4);
    memcpy(&input[6], nonce, 8);
    memcpy(&input[10], constants + 8, 4);
    memcpy(&input[11], key + 16, 16);
    memcpy(&input[15], constants + 12, 4);
    size_t done = 0;
    for (; count - done >= step_size; done += step_size, block += block_count) {
        __m512i start[word_count], x[word_count];
        expand(start, input, block);
        for (int i = 0; i < word_count; i++) x[i] = start[i];
        for (int round = 0; round < 20; round += 2) double_round(x);
        for (int i = 0; i < word_count; i++) x[i] = _mm512_add_epi32(x[i], start[i]);
        transpose(x);
        for (int i = 0; i < block_count; i++) {
            size_t place = done + (size_t)i * block_size;
            _mm512_storeu_si512(target + place, _mm512_xor_si512(_mm512_loadu_si512(source + place), x[i]));
        }
    }
    explicit_bzero(input, sizeof input);
    return done;
}

#else

int chatfs_salsa20_is_supported(void) { return 0; }

size_t chatfs_salsa20_xor(unsigned char *target, const unsigned char *source, size_t count,
                          const unsigned char nonce[8], uint64_t block, const unsigned char key[32]) {
    (void)target, (void)source, (void)count, (void)nonce, (void)block, (void)key;
    return 0;
}

#endif
