// Fuzzes what stands between arrivals and what they say (io/secure.c), with the toy cipher. The input's first two bytes
// choose how the rest is cut; the rest says which records come, good ones and bytes that are none. Cut or not, deferred
// or not, with room for much or little, the result must be the same: what is said, and how it ends. And what is sealed,
// of pieces as the input has them, must be read as it was.
#include <stdlib.h>
#include <string.h>

#include "io/secure.h"
#include "tests/sim/toy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BYTES_MAX = 64 * 1024, SAYS_MAX = 256 };

static void require(bool holds) {
    if (!holds)
        abort();
}

struct bytes {
    size_t count;
    uint8_t bytes[BYTES_MAX];
};

// The end of a stream.
struct outcome {
    struct bytes opened, said;
    bool established, finished, broken;
};

static struct buffer_budget budget;
static struct buffer_pool pool;

static uint32_t draw(uint32_t *seed, uint32_t below) {
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 8) % below;
}

// --- What comes

static void add(struct bytes *to, const uint8_t *bytes, size_t count) {
    if (count > sizeof to->bytes - to->count)
        count = sizeof to->bytes - to->count;
    memcpy(to->bytes + to->count, bytes, count);
    to->count += count;
}

// A byte says what comes, one how much, which is taken from behind.
static void compose(struct bytes *stream, const uint8_t *data, size_t size) {
    uint8_t sequence = 0, record[TOY_HEAD_BYTES + SAYS_MAX];
    stream->count = 0;
    while (size >= 2 && stream->count < BYTES_MAX / 2) {
        uint8_t kind = data[0] & 15;
        size_t count = data[1] < size - 2 ? data[1] : size - 2;
        if (kind < 12)
            add(stream, record,
                toy_seal(&sequence, (enum toy_type)(kind < 8 ? kind : TOY_DATA), data + 2, count, record));
        else
            add(stream, data + 2, count);
        data += 2 + count;
        size -= 2 + count;
    }
}

// --- Opening

static void open_arrival(struct secure *secure, struct outcome *outcome, uint32_t *seed) {
    for (;;) {
        size_t room = sizeof outcome->opened.bytes - outcome->opened.count, count = 0;
        if (*seed)
            room = 1 + draw(seed, room < 300 ? (uint32_t)room : 300);
        enum secure_result opened =
            secure_open(secure, outcome->opened.bytes + outcome->opened.count, room, &count);
        require(count <= room && (count > 0) == (opened == SECURE_BYTES));
        outcome->opened.count += count;
        if (opened != SECURE_BYTES && opened != SECURE_SHAKEN)
            return;
    }
}

static void hear(struct secure *secure, const uint8_t *bytes, size_t count) {
    struct buffer *buffer = buffer_take(&pool);
    require(buffer != NULL);
    memcpy(buffer_arrival(buffer), bytes, count);
    secure_receive(secure, buffer, (uint32_t)count);
    buffer_drop(buffer);
}

// Seed 0: nothing is cut, put off or short of room.
static void play(struct secure_source *source, const struct bytes *stream, uint32_t seed,
                 struct outcome *outcome) {
    struct secure *secure = secure_create(source, &pool);
    require(secure != NULL);
    outcome->opened.count = outcome->said.count = 0;
    for (size_t at = 0; at < stream->count;) {
        size_t left = stream->count - at;
        size_t most = seed ? 1 + draw(&seed, 40) : ARRIVAL_BYTES_MAX, piece = left < most ? left : most;
        hear(secure, stream->bytes + at, piece);
        at += piece;
        if (seed && !secure->established && secure->arrival && draw(&seed, 2))
            secure_put_off(secure);
        if (!seed || !secure->deferred || draw(&seed, 2) || at == stream->count)
            open_arrival(secure, outcome, &seed);
    }
    add(&outcome->said, secure->output, secure->output_bytes);
    outcome->established = secure->established;
    outcome->finished = secure->peer_finished;
    outcome->broken = secure->broken;
    secure_destroy(secure);
}

static bool same(const struct bytes *one, const struct bytes *other) {
    return one->count == other->count && memcmp(one->bytes, other->bytes, one->count) == 0;
}

// --- Sealing

static void read_records(const struct send_op *sealed, struct toy_way *way, struct bytes *read) {
    for (unsigned index = 0; index < sealed->count; index++) {
        const uint8_t *bytes = sealed->vectors[index].iov_base;
        for (size_t at = 0; at < sealed->vectors[index].iov_len;) {
            bool whole, broken;
            at += toy_take(way, bytes + at, sealed->vectors[index].iov_len - at, &whole, &broken);
            require(!broken);
            if (!whole)
                continue;
            require(way->record[0] == TOY_DATA);
            add(read, way->record + TOY_HEAD_BYTES, toy_count(way));
            toy_next(way);
        }
    }
}

// The stream's own bytes, in vectors of lengths that it says, are sealed and read.
static void seal(struct secure_source *source, const struct bytes *stream, uint32_t seed) {
    static struct send_op plain, sealed;
    static struct toy_way way;
    static struct bytes read;
    static uint8_t scratch[SECURE_RECORD_BYTES_MAX];
    struct secure *secure = secure_create(source, &pool);
    struct stage stage;
    struct parcel_list none;
    require(secure != NULL);
    way = (struct toy_way){0};
    read.count = 0;
    stage_init(&stage, &pool);
    parcel_list_init(&none);
    send_op_begin(&plain);
    for (size_t at = 0; at < stream->count && plain.count < SEND_VECTORS_MAX;) {
        size_t left = stream->count - at, most = 1 + draw(&seed, draw(&seed, 4) ? 100 : BYTES_MAX);
        size_t count = plain.count + 1 == SEND_VECTORS_MAX || left < most ? left : most;
        plain.vectors[plain.count++] =
            (struct iovec){.iov_base = (uint8_t *)(uintptr_t)stream->bytes + at, .iov_len = count};
        plain.bytes += count;
        at += count;
    }
    secure->established = true;
    secure->plain = &plain;
    while (plain.bytes) {
        require(secure_seal(secure, &sealed, &stage, scratch) && sealed.bytes <= SECURE_AHEAD_BYTES_MAX);
        read_records(&sealed, &way, &read);
        send_op_clear(&sealed, &none);
    }
    secure->plain = NULL;
    require(same(&read, stream) && way.have == 0);
    secure_destroy(secure);
    stage_deinit(&stage);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct bytes stream;
    static struct outcome whole, cut;
    if (size < 2)
        return 0;
    uint32_t seed = 1 + data[0] + 256U * data[1];
    budget = (struct buffer_budget){.bytes_max = 1 << 28};
    buffer_pool_init(&pool, &budget);
    struct secure_source *source = toy_source();
    require(source != NULL);
    compose(&stream, data + 2, size - 2);
    play(source, &stream, 0, &whole);
    play(source, &stream, seed, &cut);
    require(same(&whole.opened, &cut.opened) && same(&whole.said, &cut.said));
    require(whole.established == cut.established && whole.finished == cut.finished);
    require(whole.broken == cut.broken);
    seal(source, &stream, seed);
    secure_source_drop(source);
    buffer_pool_deinit(&pool);
    require(budget.bytes == 0);
    return 0;
}
