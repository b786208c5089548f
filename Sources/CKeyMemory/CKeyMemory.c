#define _GNU_SOURCE
#include "CKeyMemory.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// A state of AES-256-GCM has 960 bytes in OpenSSL 3.0. Each gets a page, because locks apply to pages.
enum { piece_size = 4096, word_bits = 64, word_count = 4, piece_count = word_bits * word_count };

static _Alignas(piece_size) unsigned char pieces[piece_count][piece_size];
// A bit for each piece: in use; locked, permanently at its first use.
static atomic_uint_fast64_t taken[word_count], locked[word_count];
// Not 0 while a thread is in chatfs_init_locked_cipher.
static _Thread_local int wants_piece;

static int is_piece(const void *memory) {
    uintptr_t address = (uintptr_t)memory, start = (uintptr_t)pieces;
    return address >= start && address < start + sizeof pieces;
}

static void *take_piece_of(int word) {
    uint_fast64_t seen = atomic_load(&taken[word]);
    while (~seen != 0) {
        int number = __builtin_ctzll(~seen);
        uint_fast64_t bit = (uint_fast64_t)1 << number;
        if (!atomic_compare_exchange_weak(&taken[word], &seen, seen | bit)) continue;
        unsigned char *piece = pieces[word * word_bits + number];
        if ((atomic_fetch_or(&locked[word], bit) & bit) == 0) {
            mlock(piece, piece_size);
            madvise(piece, piece_size, MADV_DONTDUMP);
        }
        return piece;
    }
    return NULL;
}

static void *take_piece(void) {
    for (int word = 0; word < word_count; word++) {
        void *piece = take_piece_of(word);
        if (piece != NULL) return piece;
    }
    return NULL;
}

static void give_back(unsigned char *piece) {
    explicit_bzero(piece, piece_size);
    size_t number = (size_t)(piece - pieces[0]) / piece_size;
    atomic_fetch_and(&taken[number / word_bits], ~((uint_fast64_t)1 << number % word_bits));
}

static void *allocate(size_t size, const char *file, int line) {
    void *piece = wants_piece && size <= piece_size ? take_piece() : NULL;
    return piece != NULL ? piece : malloc(size);
}

static void release(void *memory, const char *file, int line) {
    if (is_piece(memory)) {
        give_back(memory);
    } else {
        free(memory);
    }
}

static void *reallocate(void *memory, size_t size, const char *file, int line) {
    if (!is_piece(memory)) return realloc(memory, size);
    if (size != 0 && size <= piece_size) return memory;
    void *larger = size != 0 ? malloc(size) : NULL;
    if (larger != NULL) memcpy(larger, memory, piece_size);
    if (larger != NULL || size == 0) give_back(memory);
    return larger;
}

// OpenSSL accepts other functions only before its first allocation. Without them everything works unlocked.
__attribute__((constructor)) static void replace_allocation(void) {
    CRYPTO_set_mem_functions(allocate, reallocate, release);
}

int chatfs_init_locked_cipher(EVP_CIPHER_CTX *context, const EVP_CIPHER *cipher) {
    // Fetching an algorithm allocates all algorithms of its provider, which would use every piece permanently.
    if (EVP_CIPHER_get0_provider(cipher) == NULL) return 0;
    wants_piece = 1;
    int done = EVP_CipherInit_ex(context, cipher, NULL, NULL, NULL, -1);
    wants_piece = 0;
    return done;
}
