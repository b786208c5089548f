// Locked memory for what OpenSSL makes of a key. A cipher keeps the key itself, as the first of its round keys, in
// memory that it allocates like any other; OpenSSL's own "secure heap" serves private keys only.
#pragma once

struct evp_cipher_ctx_st;
struct evp_cipher_st;

// EVP_CipherInit_ex(3) without key and nonce, of a fresh or reset context and a fetched cipher (EVP_CIPHER_fetch(3); 0
// for another): its state, where the round keys will be,
// then lies in memory that is neither swapped nor dumped, as far as the system allows (RLIMIT_MEMLOCK), and is
// zeroed when the context is freed or reset. Any thread. The 257th state at one time is in ordinary memory. A child
// of fork(2) has no locks: nothing may be made before it.
int chatfs_init_locked_cipher(struct evp_cipher_ctx_st *context, const struct evp_cipher_st *cipher);
