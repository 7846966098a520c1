// Fuzzes the records of TLS 1.3 (io/tls_records.c) with a real cipher. The input's first two bytes choose the suite and
// how the rest is cut. The rest says which records the peer seals, of whatever type and text, key updates among them.
// It also says which bytes that are no record stand between. Cut or not, with room for much or little, the result must
// be the same: the plaintext, and the end.
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "io/tls_records.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BYTES_MAX = 64 * 1024, SAYS_MAX = 256, HANDSHAKE = 22, UPDATE = 24 };

static void require(bool holds) {
    if (!holds)
        abort();
}

struct bytes {
    size_t count;
    uint8_t bytes[BYTES_MAX];
};

struct outcome {
    struct bytes opened, said;
    enum secure_result opened_last;
    bool out_of_memory;
};

static const struct tls_secret client = {.count = 32, .bytes = {1}}, server = {.count = 32, .bytes = {2}};
static const SSL_CIPHER *suite;

static uint32_t draw(uint32_t *seed, uint32_t below) {
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 8) % below;
}

// --- What comes

static void seal(struct bytes *stream, struct tls_keys *way, uint8_t type, const uint8_t *text,
                 size_t count) {
    struct iovec part = {.iov_base = (uint8_t *)(uintptr_t)text, .iov_len = count};
    require(tls_keys_seal(way, type, &part, 1, count, stream->bytes + stream->count));
    stream->count += tls_sealed_bytes(count);
}

// A byte says what comes, one how much, which is taken from behind.
static void compose(struct bytes *stream, const uint8_t *data, size_t size) {
    static const uint8_t types[] = {TLS_TYPE_DATA, TLS_TYPE_DATA, TLS_TYPE_DATA, 21, HANDSHAKE, 20, 0, 255};
    struct tls_keys way;
    require(tls_keys_open(&way, &client, suite, true));
    stream->count = 0;
    while (size >= 2 && stream->count < BYTES_MAX / 2) {
        uint8_t kind = data[0] & 15;
        size_t count = data[1] < size - 2 ? data[1] : size - 2;
        const uint8_t *text = data + 2;
        if (kind < sizeof types) {
            seal(stream, &way, types[kind], text, count);
        } else if (kind < 12) { // a key update, as it should be
            seal(stream, &way, HANDSHAKE, (uint8_t[]){UPDATE, 0, 0, 1, kind & 1}, 5);
            require(tls_keys_update(&way));
            count = 0;
        } else if (kind < 14) { // a large record
            seal(stream, &way, TLS_TYPE_DATA, stream->bytes, (size_t)data[1] * 64);
            count = 0;
        } else {
            memcpy(stream->bytes + stream->count, text, count);
            stream->count += count;
        }
        data += 2 + count;
        size -= 2 + count;
    }
    tls_keys_close(&way);
}

// --- Opening

static void open_some(struct tls_records *records, struct secure *secure, struct secure_input *input,
                      struct outcome *outcome, uint32_t *seed) {
    for (;;) {
        size_t left = sizeof outcome->opened.bytes - outcome->opened.count, room = left, count = 0;
        if (*seed)
            room = 1 + draw(seed, left < 300 ? (uint32_t)left : 300);
        enum secure_result opened = tls_records_open(
            records, secure, input, outcome->opened.bytes + outcome->opened.count, room, &count);
        require(count <= room && (count > 0) == (opened == SECURE_BYTES));
        require(opened != SECURE_SHAKEN && (opened != SECURE_MORE || input->count == 0));
        outcome->opened.count += count;
        outcome->opened_last = opened;
        if (opened != SECURE_BYTES)
            return;
    }
}

// Seed 0: nothing is cut or short of room.
static void play(const struct bytes *stream, uint32_t seed, struct outcome *outcome) {
    struct secure secure = {0};
    struct tls_records *records = tls_records_create(&client, &server, suite, 0);
    require(records != NULL);
    outcome->opened.count = 0;
    outcome->opened_last = SECURE_MORE;
    for (size_t at = 0; at < stream->count && outcome->opened_last == SECURE_MORE;) {
        size_t left = stream->count - at, most = seed ? 1 + draw(&seed, 200) : left;
        struct secure_input input = {.bytes = stream->bytes + at, .count = left < most ? left : most};
        at += input.count;
        open_some(records, &secure, &input, outcome, &seed);
    }
    require(secure.output_bytes <= sizeof outcome->said.bytes);
    outcome->said.count = secure.output_bytes;
    if (secure.output_bytes)
        memcpy(outcome->said.bytes, secure.output, secure.output_bytes);
    outcome->out_of_memory = secure.out_of_memory;
    memory_give(secure.output);
    tls_records_destroy(records);
}

static bool same(const struct bytes *one, const struct bytes *other) {
    return one->count == other->count && memcmp(one->bytes, other->bytes, one->count) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct bytes stream;
    static struct outcome whole, cut;
    static SSL *ssl;
    if (size < 2)
        return 0;
    if (!ssl)
        ssl = SSL_new(SSL_CTX_new(TLS_method()));
    suite = SSL_CIPHER_find(ssl, (uint8_t[]){0x13, data[0] & 1 ? 3 : 1}); // those with secrets of 32 bytes
    compose(&stream, data + 2, size - 2);
    play(&stream, 0, &whole);
    play(&stream, 1 + data[0] + 256U * data[1], &cut);
    require(same(&whole.opened, &cut.opened) && same(&whole.said, &cut.said));
    require(whole.opened_last == cut.opened_last && !whole.out_of_memory && !cut.out_of_memory);
    return 0;
}
