#include "tests/sim/toy.h"

#include <string.h>

#include "core/base/memory.h"
#include "io/tls.h"

// --- Records

static uint8_t key(uint8_t sequence, size_t at) {
    return (uint8_t)(0x5aU + sequence * 7U + at * 13);
}

// A record that is changed in one place never passes.
static uint32_t check(uint8_t sequence, uint8_t type, const uint8_t *bytes, size_t count) {
    uint32_t sum = (2166136261U ^ sequence) * 16777619U;
    sum = (sum ^ type) * 16777619U;
    for (size_t at = 0; at < count; at++)
        sum = (sum ^ bytes[at]) * 16777619U;
    return sum;
}

size_t toy_seal(uint8_t *sequence, enum toy_type type, const uint8_t *bytes, size_t count, uint8_t *out) {
    out[0] = (uint8_t)type;
    out[1] = (uint8_t)(count >> 8);
    out[2] = (uint8_t)count;
    uint32_t sum = check(*sequence, out[0], bytes, count);
    memcpy(out + 3, &sum, sizeof sum);
    for (size_t at = 0; at < count; at++)
        out[TOY_HEAD_BYTES + at] = (uint8_t)(bytes[at] ^ key(*sequence, at));
    (*sequence)++;
    return TOY_HEAD_BYTES + count;
}

static size_t wanted(const struct toy_way *way) {
    return way->have < TOY_HEAD_BYTES ? TOY_HEAD_BYTES : TOY_HEAD_BYTES + toy_count(way);
}

size_t toy_take(struct toy_way *way, const uint8_t *bytes, size_t count, bool *whole, bool *broken) {
    size_t taken = 0;
    *whole = *broken = false;
    while (taken < count && way->have < wanted(way)) {
        way->record[way->have++] = bytes[taken++];
        if (way->have == TOY_HEAD_BYTES && toy_count(way) > SECURE_RECORD_BYTES_MAX) {
            *broken = true;
            return taken;
        }
    }
    if (way->have < TOY_HEAD_BYTES || way->have < wanted(way))
        return taken;
    uint8_t *text = way->record + TOY_HEAD_BYTES;
    for (size_t at = 0; at < toy_count(way); at++)
        text[at] ^= key(way->sequence, at);
    uint32_t sum = check(way->sequence, way->record[0], text, toy_count(way));
    *whole = memcmp(way->record + 3, &sum, sizeof sum) == 0;
    *broken = !*whole;
    return taken;
}

void toy_next(struct toy_way *way) {
    way->have = 0;
    way->sequence++;
}

// --- The cipher

struct toy_source {
    struct secure_source source;
    unsigned authorities; // bits
};

struct toy {
    struct secure secure;
    struct toy_way in;
    char certificate[TOY_CERTIFICATE_BYTES]; // the peer's
    size_t certificate_bytes;                // 0: it has none
    uint8_t out;                             // the sequence
    bool greeted;
    bool opened;      // there is a record of data,
    size_t opened_at; // of which so much has been given
};

static struct toy *toy_of(struct secure *secure) {
    return (struct toy *)secure;
}

static struct secure *toy_make(struct secure_source *source) {
    (void)source;
    struct toy *toy = memory_take_zeroed(1, sizeof *toy);
    if (!toy)
        return NULL;
    toy->secure.memory = sizeof *toy;
    return &toy->secure;
}

static void say(struct toy *toy, enum toy_type type, const uint8_t *bytes, size_t count) {
    static uint8_t record[TOY_RECORD_BYTES_MAX];
    secure_send(&toy->secure, record, toy_seal(&toy->out, type, bytes, count, record));
}

static enum secure_result fail(struct toy *toy) {
    say(toy, TOY_ALERT, NULL, 0);
    return SECURE_BROKEN;
}

static enum secure_result give(struct toy *toy, uint8_t *out, size_t room, size_t *count) {
    size_t left = toy_count(&toy->in) - toy->opened_at;
    *count = left < room ? left : room;
    memcpy(out, toy->in.record + TOY_HEAD_BYTES + toy->opened_at, *count);
    toy->opened_at += *count;
    toy->opened = toy->opened_at < toy_count(&toy->in);
    if (!toy->opened)
        toy_next(&toy->in);
    return SECURE_BYTES;
}

// The end that has dialled speaks first.
static void greet(struct toy *toy) {
    toy->greeted = true;
    say(toy, TOY_HELLO, NULL, 0);
    say(toy, TOY_DONE, NULL, 0);
}

// Returns whether one of these authorities has signed it.
static bool vouches(const struct secure_source *source, const char *certificate) {
    unsigned authority = (unsigned)(uint8_t)certificate[0] - '0';
    return authority < TOY_AUTHORITIES && ((const struct toy_source *)source)->authorities >> authority & 1;
}

// A client's first word. False: it shows a certificate for which nobody vouches.
static bool meet(struct toy *toy) {
    size_t bytes = toy_count(&toy->in);
    if (bytes > sizeof toy->certificate)
        return false;
    memcpy(toy->certificate, toy->in.record + TOY_HEAD_BYTES, bytes);
    toy->certificate_bytes = bytes;
    toy->greeted = true;
    if (bytes && !vouches(toy->secure.source, toy->certificate))
        return false;
    say(toy, TOY_HELLO, NULL, 0);
    return true;
}

// SECURE_MORE: it says nothing to anybody but the cipher.
static enum secure_result judge(struct toy *toy) {
    enum toy_type type = (enum toy_type)toy->in.record[0];
    if (type == TOY_HELLO && toy->secure.server && !toy->secure.established) {
        toy_next(&toy->in);
        return SECURE_SHAKEN;
    }
    if (type == TOY_HELLO && !toy->greeted) {
        if (!meet(toy))
            return fail(toy);
    } else if (type == TOY_DONE && toy->greeted && !toy->secure.established) {
        toy_next(&toy->in);
        return SECURE_SHAKEN;
    } else if (!toy->secure.established) {
        return fail(toy);
    } else if (type == TOY_END) {
        return SECURE_END;
    } else if (type == TOY_ASK) {
        say(toy, TOY_TOLD, toy->in.record + TOY_HEAD_BYTES, toy_count(&toy->in));
    } else if (type == TOY_DATA) {
        toy->opened = toy_count(&toy->in) > 0;
        toy->opened_at = 0;
        if (toy->opened)
            return SECURE_BYTES;
    } else {
        return fail(toy);
    }
    toy_next(&toy->in);
    return SECURE_MORE;
}

static enum secure_result toy_open(struct secure *secure, struct secure_input *input, uint8_t *out,
                                   size_t room, size_t *count) {
    struct toy *toy = toy_of(secure);
    if (secure->server && !toy->greeted)
        greet(toy);
    while (!toy->opened) {
        bool whole, broken;
        size_t taken = toy_take(&toy->in, input->bytes, input->count, &whole, &broken);
        if (taken > 0) // else `bytes` may be NULL
            input->bytes += taken;
        input->count -= taken;
        enum secure_result result = broken ? fail(toy) : whole ? judge(toy) : SECURE_MORE;
        if (!toy->opened && (result != SECURE_MORE || !whole))
            return result;
    }
    enum secure_result result = give(toy, out, room, count);
    bool foreseen = !toy->opened && input->count >= TOY_HEAD_BYTES;
    secure->next_bytes = foreseen ? (uint32_t)input->bytes[1] << 8 | input->bytes[2] : 0;
    return result;
}

// Where it is sent from, as TLS does it.
static bool toy_cipher_seal(struct secure *secure, const struct iovec *parts, unsigned parts_count) {
    size_t count;
    const uint8_t *bytes = secure_whole(secure, parts, parts_count, &count);
    uint8_t *record = secure_place(secure, TOY_HEAD_BYTES + count);
    if (record)
        toy_seal(&toy_of(secure)->out, TOY_DATA, bytes, count, record);
    return record;
}

static void toy_finish(struct secure *secure) {
    say(toy_of(secure), TOY_END, NULL, 0);
}

unsigned toy_certificates;

static bool toy_certificate(const struct secure *secure, const struct secure_source *now, secure_visit *visit,
                            void *context) {
    const struct toy *toy = (const struct toy *)secure;
    if (!toy->certificate_bytes || !vouches(now, toy->certificate))
        return false;
    toy_certificates++;
    for (const char *name = toy->certificate + 1, *all = toy->certificate + toy->certificate_bytes, *end;
         (end = memchr(name, '\n', (size_t)(all - name))); name = end + 1)
        if (visit(context, name, (size_t)(end - name)))
            return true;
    return false;
}

static void toy_destroy(struct secure *secure) {
    memory_give(toy_of(secure));
}

static void toy_destroy_source(struct secure_source *source) {
    memory_give(source);
}

struct secure_source *toy_source(void) {
    return toy_source_of((1U << TOY_AUTHORITIES) - 1);
}

struct secure_source *toy_source_of(unsigned authorities) {
    static const struct cipher cipher = {
        .make = toy_make,
        .open = toy_open,
        .seal = toy_cipher_seal,
        .finish = toy_finish,
        .certificate = toy_certificate,
        .destroy = toy_destroy,
        .destroy_source = toy_destroy_source,
    };
    struct toy_source *made = memory_take_zeroed(1, sizeof *made);
    if (!made)
        return NULL;
    made->authorities = authorities;
    made->source.cipher = &cipher;
    atomic_init(&made->source.references, 1);
    return &made->source;
}

// Hubs of the simulator read no files of authorities.
struct secure_source *tls_read_authorities(const char *path, char *why, size_t capacity) {
    (void)path, (void)why, (void)capacity;
    return toy_source();
}
