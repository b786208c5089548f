// Locked memory for OpenSSL's expanded keys. A cipher keeps the key as the first of its round keys in ordinary memory;
// OpenSSL's own "secure heap" serves private keys only.
#pragma once

struct evp_cipher_ctx_st;
struct evp_cipher_st;

// EVP_CipherInit_ex(3) without key and nonce, for a fresh or reset context and a fetched cipher (EVP_CIPHER_fetch(3); 0
// for others). The state for its round keys is in memory that is neither swapped nor dumped, as far as the system
// permits (RLIMIT_MEMLOCK), and is zeroed when the context is freed or reset. Safe to use from any thread. The 257th
// concurrent state is in ordinary memory. A child of fork(2) has no locks, so create none before it.
int chatfs_init_locked_cipher(struct evp_cipher_ctx_st *context, const struct evp_cipher_st *cipher);
