#include "core/cluster/subject.h"

#include <assert.h>
#include <string.h>

static const char subject_root[] = "patchbay.";
enum { ROOT_BYTES = sizeof subject_root - 1 };

static const struct {
    const char *text;
    size_t bytes;
} kinds[SUBJECT_KINDS_COUNT] = {
#define X(kind, text) [kind] = {text, sizeof text - 1},
    SUBJECT_KINDS(X)
#undef X
};

// A table, since each byte of a name passes through it at each crossing.
static const bool plain[256] = {
    ['0' ... '9'] = true,
    ['A' ... 'Z'] = true,
    ['a' ... 'z'] = true,
    ['-'] = true,
};

static bool is_plain(uint8_t byte) {
    return plain[byte];
}

enum { BLOCK_BYTES = 16 };

// Without a branch, so that all of them are judged together.
static bool is_plain_block(const uint8_t text[BLOCK_BYTES]) {
    uint8_t others = 0;
    for (unsigned at = 0; at < BLOCK_BYTES; at++) {
        uint8_t byte = text[at], letter = (uint8_t)((byte | 32) - 'a'), digit = (uint8_t)(byte - '0');
        others |= (uint8_t)(letter >= 26) & (uint8_t)(digit >= 10) & (uint8_t)(byte != '-');
    }
    return !others;
}

// Nearly all names are, throughout.
static bool all_plain(const uint8_t *text, size_t bytes) {
    size_t at = 0;
    assert(text || bytes == 0);
    for (; bytes - at >= BLOCK_BYTES; at += BLOCK_BYTES)
        if (!is_plain_block(text + at))
            return false;
    if (at > 0)
        return at == bytes || is_plain_block(text + bytes - BLOCK_BYTES);
    while (at < bytes && is_plain(text[at]))
        at++;
    return at == bytes;
}

size_t subject_escape(char out[SUBJECT_NAME_BYTES_MAX], const char *name, size_t bytes) {
    static const char digits[] = "0123456789ABCDEF";
    size_t to = 0;
    assert(name || bytes == 0);
    if (bytes <= SUBJECT_NAME_BYTES_MAX && all_plain((const uint8_t *)name, bytes)) {
        if (bytes)
            memcpy(out, name, bytes);
        return bytes;
    }
    for (size_t at = 0; at < bytes; at++) {
        uint8_t byte = (uint8_t)name[at];
        if (is_plain(byte) && to < SUBJECT_NAME_BYTES_MAX) {
            out[to++] = (char)byte;
            continue;
        }
        if (to + 3 > SUBJECT_NAME_BYTES_MAX)
            return 0;
        out[to++] = '_';
        out[to++] = digits[byte >> 4];
        out[to++] = digits[byte & 15];
    }
    return to;
}

// 16: it is none.
static unsigned digit_of(uint8_t byte) {
    return byte >= '0' && byte <= '9' ? byte - 48u : byte >= 'A' && byte <= 'F' ? byte - 'A' + 10u : 16;
}

size_t subject_unescape(char *out, size_t capacity, const uint8_t *token, size_t bytes) {
    size_t to = 0;
    assert(token || bytes == 0);
    if (bytes <= capacity && all_plain(token, bytes)) {
        if (bytes)
            memcpy(out, token, bytes);
        return bytes;
    }
    for (size_t at = 0; at < bytes; at++) {
        uint8_t byte = token[at];
        if (to == capacity)
            return SIZE_MAX;
        if (is_plain(byte)) {
            out[to++] = (char)byte;
            continue;
        }
        if (byte != '_' || bytes - at < 3 || digit_of(token[at + 1]) > 15 || digit_of(token[at + 2]) > 15)
            return SIZE_MAX;
        byte = (uint8_t)(digit_of(token[at + 1]) << 4 | digit_of(token[at + 2]));
        at += 2;
        if (is_plain(byte))
            return SIZE_MAX;
        out[to++] = (char)byte;
    }
    return to;
}

bool subject_is_cluster(const char *name) {
    size_t bytes = strlen(name);
    for (size_t at = 0; at < bytes; at++)
        if (!is_plain((uint8_t)name[at]) && name[at] != '_')
            return false;
    return bytes > 0 && bytes <= CLUSTER_NAME_BYTES_MAX;
}

static size_t put_bytes(char *out, size_t at, const void *bytes, size_t count) {
    memcpy(out + at, bytes, count);
    return at + count;
}

size_t subject_write(char out[SUBJECT_BYTES_MAX], const char *cluster, enum subject_kind kind,
                     const char *rest, size_t rest_bytes) {
    assert(kind < SUBJECT_KINDS_COUNT && rest_bytes <= SUBJECT_NAME_BYTES_MAX && subject_is_cluster(cluster));
    size_t at = put_bytes(out, 0, subject_root, ROOT_BYTES);
    at = put_bytes(out, at, cluster, strlen(cluster));
    out[at++] = '.';
    at = put_bytes(out, at, kinds[kind].text, kinds[kind].bytes);
    if (rest_bytes) {
        out[at++] = '.';
        at = put_bytes(out, at, rest, rest_bytes);
    }
    assert(at <= SUBJECT_BYTES_MAX);
    return at;
}

size_t subject_write_at(char out[SUBJECT_BYTES_MAX], const char *cluster, const char hub[HUB_NAME_BYTES],
                        enum subject_kind kind, const char *token, size_t bytes) {
    size_t at = subject_write(out, cluster, SUBJECT_HUB, hub, HUB_NAME_BYTES);
    assert(kind < SUBJECT_HOLDER && bytes > 0 && bytes <= SUBJECT_NAME_BYTES_MAX);
    out[at++] = '.';
    at = put_bytes(out, at, kinds[kind].text, kinds[kind].bytes);
    out[at++] = '.';
    at = put_bytes(out, at, token, bytes);
    assert(at <= SUBJECT_BYTES_MAX);
    return at;
}

size_t subject_write_inbox(char out[SUBJECT_INBOX_BYTES_MAX], const char *cluster,
                           const char hub[HUB_NAME_BYTES]) {
    char subject[SUBJECT_BYTES_MAX];
    size_t bytes = subject_write(subject, cluster, SUBJECT_HUB, hub, HUB_NAME_BYTES);
    assert(bytes < SUBJECT_INBOX_BYTES_MAX);
    memcpy(out, subject, bytes);
    out[bytes] = '.';
    return bytes + 1;
}

// Takes a text and a dot off the front.
static bool take_token(const uint8_t *text, struct span *rest, const char *token, size_t bytes) {
    if (rest->bytes < bytes || memcmp(text + rest->at, token, bytes) != 0)
        return false;
    bool last = rest->bytes == bytes;
    if (!last && text[rest->at + bytes] != '.')
        return false;
    uint32_t taken = (uint32_t)bytes + !last;
    *rest = (struct span){rest->at + taken, rest->bytes - taken};
    return true;
}

// Those that begin with a letter, from 'a' on: a bit each.
static const uint16_t kinds_of['z' - 'a' + 1] = {
    ['a' - 'a'] = 1 << SUBJECT_AGENT,
    ['b' - 'a'] = 1 << SUBJECT_BEAT,
    ['c' - 'a'] = 1 << SUBJECT_CAPABILITY | 1 << SUBJECT_COMMAND,
    ['e' - 'a'] = 1 << SUBJECT_EVENT,
    ['h' - 'a'] = 1 << SUBJECT_HOLDER | 1 << SUBJECT_HUB | 1 << SUBJECT_HUBS,
    ['m' - 'a'] = 1 << SUBJECT_METHOD,
    ['n' - 'a'] = 1 << SUBJECT_NOTICE,
    ['t' - 'a'] = 1 << SUBJECT_TOOL,
};

enum subject_kind subject_read_kind(const uint8_t *text, struct span from, struct span *token) {
    *token = from;
    if (!token->bytes)
        return SUBJECT_KINDS_COUNT;
    uint8_t letter = (uint8_t)(text[token->at] - 'a');
    for (unsigned left = letter < 26 ? kinds_of[letter] : 0; left; left &= left - 1) {
        unsigned kind = (unsigned)__builtin_ctz(left);
        if (take_token(text, token, kinds[kind].text, kinds[kind].bytes))
            return (enum subject_kind)kind;
    }
    return SUBJECT_KINDS_COUNT;
}

enum subject_kind subject_read(const char *cluster, const uint8_t *text, struct span subject,
                               struct span *rest) {
    const uint8_t *at = text + subject.at;
    size_t cluster_bytes = strlen(cluster);
    uint32_t before = (uint32_t)(ROOT_BYTES + cluster_bytes + 1);
    assert(subject_is_cluster(cluster));
    *rest = subject;
    if (subject.bytes < before || memcmp(at, subject_root, ROOT_BYTES) != 0 ||
        memcmp(at + ROOT_BYTES, cluster, cluster_bytes) != 0 || at[before - 1] != '.')
        return SUBJECT_KINDS_COUNT;
    return subject_read_kind(text, (struct span){subject.at + before, subject.bytes - before}, rest);
}
