// SipHash (Aumasson and Bernstein, 2012): a keyed hash of short texts. A peer without the key may know any number of
// texts and their hashes. Even so the peer can learn neither the key nor another text's hash, and can't find texts that
// collide.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct siphash_key {
    uint64_t words[2];
};

// Returns SipHash-1-3: 64 bits for a hash table. The hash must not be published.
uint64_t siphash_table(const struct siphash_key *key, const void *text, size_t bytes);

// Computes SipHash-2-4 with 128 bits of output, which may be published.
enum { SIPHASH_BYTES = 16 };
void siphash_name(const struct siphash_key *key, const void *text, size_t bytes, uint8_t out[SIPHASH_BYTES]);
