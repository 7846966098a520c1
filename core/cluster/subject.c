#include "core/cluster/subject.h"

#include <assert.h>
#include <string.h>

#include "core/base/text.h"

static const char subject_root[] = "patchbay.";
enum { ROOT_BYTES = sizeof subject_root - 1 };

enum {
    NAMED_KINDS = SUBJECT_NAME + 1, // kinds before this number have a REALM
    HUB_KINDS_END = SUBJECT_GONE + 1,
};

static const struct {
    const char *text;
    size_t bytes;
} kinds[SUBJECT_KINDS_COUNT] = {
#define X(kind, text) [kind] = {text, sizeof text - 1},
    SUBJECT_KINDS(X)
#undef X
};

// Bytes that need no escape. A table is fast: each byte of a name is looked up for each message between hubs.
static const bool plain[256] = {
    ['0' ... '9'] = true,
    ['A' ... 'Z'] = true,
    ['a' ... 'z'] = true,
    ['-'] = true,
};

// Returns how many bytes from `at` on need no escape.
static size_t count_plain(const uint8_t *text, size_t at, size_t bytes) {
    size_t end = at;
    while (end < bytes && plain[text[end]])
        end++;
    return end - at;
}

size_t subject_escape(char out[SUBJECT_NAME_BYTES_MAX], const char *name, size_t bytes) {
    static const char digits[] = "0123456789ABCDEF";
    size_t to = 0;
    assert(name);
    for (size_t at = 0;; at++) {
        size_t count = count_plain((const uint8_t *)name, at, bytes);
        if (to + count > SUBJECT_NAME_BYTES_MAX)
            return 0;
        text_copy(out + to, name + at, count);
        to += count;
        at += count;
        if (at == bytes)
            return to;
        uint8_t byte = (uint8_t)name[at];
        if (to + 3 > SUBJECT_NAME_BYTES_MAX)
            return 0;
        out[to++] = '_';
        out[to++] = digits[byte >> 4];
        out[to++] = digits[byte & 15];
    }
}

// Returns a hexadecimal digit's value; 16: not a digit.
static unsigned digit_of(uint8_t byte) {
    return byte >= '0' && byte <= '9' ? byte - 48u : byte >= 'A' && byte <= 'F' ? byte - 'A' + 10u : 16;
}

size_t subject_unescape(char *out, size_t capacity, const uint8_t *token, size_t bytes) {
    size_t to = 0;
    assert(token);
    for (size_t at = 0;; at++) {
        size_t count = count_plain(token, at, bytes);
        if (to + count + (at + count < bytes) > capacity)
            return SIZE_MAX;
        text_copy(out + to, (const char *)token + at, count);
        to += count;
        at += count;
        if (at == bytes)
            return to;
        uint8_t byte = token[at];
        if (byte != '_' || bytes - at < 3 || digit_of(token[at + 1]) > 15 || digit_of(token[at + 2]) > 15)
            return SIZE_MAX;
        byte = (uint8_t)(digit_of(token[at + 1]) << 4 | digit_of(token[at + 2]));
        at += 2;
        if (plain[byte])
            return SIZE_MAX;
        out[to++] = (char)byte;
    }
}

bool subject_is_cluster(const char *name) {
    size_t bytes = strlen(name);
    for (size_t at = 0; at < bytes; at++)
        if (!plain[(uint8_t)name[at]] && name[at] != '_')
            return false;
    return bytes > 0 && bytes <= CLUSTER_NAME_BYTES_MAX;
}

// Writes "patchbay.CLUSTER."
static char *put_root(char *to, const char *cluster) {
    assert(subject_is_cluster(cluster));
    to = text_copy(text_copy(to, subject_root, ROOT_BYTES), cluster, strlen(cluster));
    *to++ = '.';
    return to;
}

size_t subject_write(char out[SUBJECT_BYTES_MAX], const char *cluster, const struct realm *realm,
                     enum subject_kind kind, const char *token, size_t bytes) {
    assert(kind <= SUBJECT_NAME && realm->bytes && bytes > 0 && bytes <= SUBJECT_NAME_BYTES_MAX);
    char *to = text_copy(put_root(out, cluster), realm->text, realm->bytes);
    *to++ = '.';
    to = text_copy(to, kinds[kind].text, kinds[kind].bytes);
    *to++ = '.';
    return (size_t)(text_copy(to, token, bytes) - out);
}

size_t subject_write_hub(char out[SUBJECT_BYTES_MAX], const char *cluster, const struct hub_name *hub,
                         enum subject_kind kind, uint64_t number) {
    assert(kind > SUBJECT_NAME && (kind <= SUBJECT_GONE) == (hub != NULL) && (!hub || hub->bytes));
    char *to = text_copy(put_root(out, cluster), hub ? "hub." : "hubs.", hub ? 4 : 5);
    if (hub) {
        to = text_copy(to, hub->text, hub->bytes);
        *to++ = '.';
    }
    to = text_copy(to, kinds[kind].text, kinds[kind].bytes);
    if (number) {
        *to++ = '.';
        to += text_digits(to, number);
    }
    return (size_t)(to - out);
}

// Removes the first token, and the dot after it, from `rest`. Returns the token.
static struct span take_token(const uint8_t *text, struct span *rest) {
    uint32_t end = rest->at + rest->bytes, dot = text_find(text, rest->at, end, '.');
    struct span token = {rest->at, dot - rest->at};
    rest->at = dot + (dot < end);
    rest->bytes = end - rest->at;
    return token;
}

static bool token_is(const uint8_t *text, struct span token, const char *word, size_t bytes) {
    return token.bytes == bytes && memcmp(text + token.at, word, bytes) == 0;
}

static enum subject_kind kind_of(const uint8_t *text, struct span token, unsigned from, unsigned end) {
    for (unsigned kind = from; kind < end; kind++)
        if (token_is(text, token, kinds[kind].text, kinds[kind].bytes))
            return (enum subject_kind)kind;
    return SUBJECT_KINDS_COUNT;
}

// Reads a number in the form that hubs write. Returns 0 for other text.
static uint64_t read_number(const uint8_t *text, struct span digits) {
    uint64_t number = 0;
    bool is_plain_form = digits.bytes > 0 && text[digits.at] != '0';
    return is_plain_form && text_read_digits(text + digits.at, digits.bytes, UINT64_C(1) << 54, &number)
               ? number
               : 0;
}

static enum subject_kind read_hub(const uint8_t *text, struct span rest, struct subject *out) {
    out->hub = take_token(text, &rest);
    enum subject_kind kind = kind_of(text, take_token(text, &rest), NAMED_KINDS, HUB_KINDS_END);
    out->number = read_number(text, rest);
    bool is_numbered = kind == SUBJECT_ANSWER || kind == SUBJECT_HELD;
    return out->hub.bytes && (rest.bytes == 0 || (is_numbered && out->number)) ? kind : SUBJECT_KINDS_COUNT;
}

void subject_read(const char *cluster, const uint8_t *text, struct span subject, struct subject *out) {
    size_t cluster_bytes = strlen(cluster);
    uint32_t before = (uint32_t)(ROOT_BYTES + cluster_bytes + 1);
    const uint8_t *at = text + subject.at;
    *out = (struct subject){.kind = SUBJECT_KINDS_COUNT};
    if (subject.bytes <= before || memcmp(at, subject_root, ROOT_BYTES) != 0 ||
        memcmp(at + ROOT_BYTES, cluster, cluster_bytes) != 0 || at[before - 1] != '.')
        return;
    struct span rest = {subject.at + before, subject.bytes - before}, first = take_token(text, &rest);
    if (token_is(text, first, "hub", 3)) {
        out->kind = read_hub(text, rest, out);
    } else if (token_is(text, first, "hubs", 4)) {
        out->kind = kind_of(text, rest, HUB_KINDS_END, SUBJECT_KINDS_COUNT);
    } else {
        out->realm = first;
        out->kind = kind_of(text, take_token(text, &rest), 0, NAMED_KINDS);
        out->token = rest;
        if (rest.bytes == 0 || memchr(text + rest.at, '.', rest.bytes))
            out->kind = SUBJECT_KINDS_COUNT;
    }
}

void answer_subject_write(struct answer_subject *out, const char *cluster, const struct hub_name *hub) {
    out->bytes = (uint32_t)subject_write_hub(out->text, cluster, hub, SUBJECT_ANSWER, 0);
    out->text[out->bytes++] = '.';
}

size_t answer_subject_put(const struct answer_subject *answers, uint64_t number,
                          char out[SUBJECT_BYTES_MAX]) {
    assert(answers->bytes && number);
    return (size_t)(text_copy(out, answers->text, answers->bytes) - out) +
           text_digits(out + answers->bytes, number);
}

uint64_t answer_subject_number(const struct answer_subject *answers, const uint8_t *text,
                               struct span subject) {
    uint32_t before = answers->bytes;
    bool is_there = subject.bytes > before && memcmp(text + subject.at, answers->text, before) == 0;
    return is_there ? read_number(text, (struct span){subject.at + before, subject.bytes - before}) : 0;
}
