// A cipher that hides nothing, in the place of TLS: a handshake, records, a closing word, and all that can go wrong
// with these. The simulated peers speak by this cipher to a hub whose connections are secure.
//
// A record is its type, the count of its bytes (two), a check (four), and the bytes. Each byte is changed by
// its place and by how many records came before: lost, doubled or reordered bytes are seen.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/secure.h"

enum {
    TOY_HEAD_BYTES = 7,
    TOY_RECORD_BYTES_MAX = TOY_HEAD_BYTES + SECURE_RECORD_BYTES_MAX,
    TOY_CERTIFICATE_BYTES = 128,
    TOY_AUTHORITIES = 2,
};

enum toy_type {
    TOY_HELLO = 1, // a client's first word, with its certificate, and the answer to it
    TOY_DONE,      // a client's second: the handshake is over
    TOY_DATA,
    TOY_END,   // nothing more is said
    TOY_ALERT, // what came can't be opened
    TOY_ASK,   // is answered by TOY_TOLD, by the cipher itself
    TOY_TOLD,
};

// The state of one direction of a connection.
struct toy_way {
    uint8_t sequence;
    uint32_t have; // of the record that is coming in
    uint8_t record[TOY_RECORD_BYTES_MAX];
};

// Writes a record to `out`, which has TOY_HEAD_BYTES more than `count`; returns its bytes.
size_t toy_seal(uint8_t *sequence, enum toy_type type, const uint8_t *bytes, size_t count, uint8_t *out);
// Takes bytes in until a record is whole, and returns their number. *whole: the opened record lies behind its head in
// way->record, and toy_next begins the next one. *broken: the bytes are no record.
size_t toy_take(struct toy_way *way, const uint8_t *bytes, size_t count, bool *whole, bool *broken);
static inline size_t toy_count(const struct toy_way *way) {
    return (size_t)way->record[1] << 8 | way->record[2];
}
void toy_next(struct toy_way *way);

// A client's certificate is text: the number of the authority that has signed the certificate, a digit, and behind that
// each of its names and a line break. Without a certificate there is no text. Counts how often a hub has asked for such
// names:
extern unsigned toy_certificates;

// Returns a reference to a new source of a hub's secure connections. All authorities vouch for clients' certificates,
// or these do (bits).
struct secure_source *toy_source(void);
struct secure_source *toy_source_of(unsigned authorities);
