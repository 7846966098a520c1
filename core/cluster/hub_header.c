#include "core/cluster/hub_header.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

static const char hub_header_version[] = "NATS/1.0\r\n", hub_header_name[] = "Patchbay: 1";
enum {
    VERSION_BYTES = sizeof hub_header_version - 1,
    NAME_BYTES = sizeof hub_header_name - 1,
    DIGITS_MAX = 16,
    TIME_MS_MAX = 3600 * 1000
};

// One more than what a digit means; 0: it is none.
static const uint8_t digit_values[256] = {
    ['0'] = 1, ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9, ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16};

// A word that holds a byte eight times over.
#define EIGHT(byte) ((byte)*UINT64_C(0x0101010101010101))

// Eight digits that mean a number, the first one lowest in memory.
static uint64_t digits_of(uint32_t number) {
    uint64_t word = number;
    word = (word << 16 | word) & UINT64_C(0x0000ffff0000ffff);
    word = (word << 8 | word) & UINT64_C(0x00ff00ff00ff00ff);
    word = (word << 4 | word) & EIGHT(0x0f);
    uint64_t letters = (word + EIGHT(6)) >> 4 & EIGHT(1);
    return htobe64(word + EIGHT('0') + letters * ('a' - '0' - 10));
}

// What eight digits mean; false where one is none.
static bool number_of(const uint8_t digits[8], uint32_t *out) {
    uint64_t word;
    memcpy(&word, digits, sizeof word);
    word = be64toh(word);
    uint64_t letters = word >> 6 & EIGHT(1);
    word = (word & EIGHT(0x0f)) + letters * 9;
    word = (word >> 4 | word) & UINT64_C(0x00ff00ff00ff00ff);
    word = (word >> 8 | word) & UINT64_C(0x0000ffff0000ffff);
    *out = (uint32_t)(word >> 16 | word);
    word = digits_of(*out);
    return memcmp(&word, digits, sizeof word) == 0; // nothing else is written so
}

// Few, from the first one on.
static bool read_few(const uint8_t *digits, uint32_t count, uint64_t *out) {
    const uint8_t *at = digits, *end = at + count;
    uint64_t number = 0;
    for (; at < end && digit_values[*at]; at++)
        number = number << 4 | (digit_values[*at] - 1u);
    *out = number;
    return at == end;
}

bool hub_header_read_digits(const uint8_t *bytes, struct span digits, uint64_t *out) {
    uint32_t high, low;
    if (digits.bytes == 0 || digits.bytes > DIGITS_MAX)
        return false;
    if (digits.bytes < 8)
        return read_few(bytes + digits.at, digits.bytes, out);
    const uint8_t *first = bytes + digits.at,
                  *last = first + digits.bytes - 8; // which may lie one over the other
    if (!number_of(first, &high) || !number_of(last, &low))
        return false;
    *out = (uint64_t)high >> 4 * (DIGITS_MAX - digits.bytes) << 32 | low;
    return true;
}

size_t hub_header_digits(char out[16], uint64_t number) {
    uint64_t words[4] = {digits_of((uint32_t)(number >> 32)), digits_of((uint32_t)number)};
    size_t count = number ? DIGITS_MAX - (size_t)__builtin_clzll(number) / 4 : 1;
    static_assert(sizeof words == 2 * DIGITS_MAX, "what is copied lies within");
    memcpy(out, (const char *)words + DIGITS_MAX - count, DIGITS_MAX);
    return count;
}

void hub_header_all_digits(char out[16], uint64_t number) {
    uint64_t words[2] = {digits_of((uint32_t)(number >> 32)), digits_of((uint32_t)number)};
    memcpy(out, words, sizeof words);
}

static bool key_is(const uint8_t *bytes, struct span key, const char *text) {
    return key.bytes == strlen(text) && memcmp(bytes + key.at, text, key.bytes) == 0;
}

// Without a branch, so that all digits are judged together.
static bool is_hub(const uint8_t name[HUB_NAME_BYTES]) {
    uint8_t others = 0;
    for (unsigned at = 0; at < HUB_NAME_BYTES; at++)
        others |= !((uint8_t)(name[at] - '0') < 10 || (uint8_t)(name[at] - 'a') < 6);
    return !others;
}

// What is said of a message that not all may get.
static void take_fencing(const uint8_t *bytes, struct span key, uint64_t number, struct hub_header *out) {
    assert(!out->given);
    if (key_is(bytes, key, "approved"))
        out->is_approved = number != 0;
    else if (key_is(bytes, key, "judge"))
        out->is_judged = number != 0;
    else if (key_is(bytes, key, "gate"))
        out->is_held = number != 0;
    else if (key_is(bytes, key, "fences"))
        out->knows_fences = number != 0;
}

// What is said of names that are held.
static void take_holding(const uint8_t *bytes, struct span key, uint64_t number, struct hub_header *out) {
    assert(!out->given);
    if (key_is(bytes, key, "holder"))
        out->holder = number;
    else if (key_is(bytes, key, "over"))
        out->takes_over = number != 0;
    else if (key_is(bytes, key, "claim"))
        out->claim = number;
    else if (key_is(bytes, key, "claims"))
        out->claims = number;
    else if (key_is(bytes, key, "last"))
        out->last = number;
    else if (key_is(bytes, key, "yield"))
        out->yields = number != 0;
    else if (key_is(bytes, key, "names"))
        out->names = number != 0;
    else if (key_is(bytes, key, "joint"))
        out->is_joint = number != 0;
    else if (key_is(bytes, key, "settle"))
        out->settle = number != 0;
    else if (key_is(bytes, key, "leaves"))
        out->leaves = number != 0;
    else if (key_is(bytes, key, "nobodys"))
        out->is_nobodys = number != 0;
    else
        take_fencing(bytes, key, number, out);
}

static void take_hub(const uint8_t *bytes, struct span value, struct hub_header *out) {
    assert(!out->given);
    if (value.bytes != HUB_NAME_BYTES || !is_hub(bytes + value.at))
        return;
    memcpy(out->hub, bytes + value.at, sizeof out->hub);
    out->has_hub = true;
}

static void take_time(uint64_t number, struct hub_header *out) {
    if (number > 0 && number <= TIME_MS_MAX)
        out->time_ms = (uint32_t)number;
}

// Whose it is, and whom that one may reach. False: that is another key.
static bool take_source(const uint8_t *bytes, struct span key, struct span value, struct hub_header *out) {
    assert(!out->given);
    if (key_is(bytes, key, "user"))
        out->user = value;
    else if (key_is(bytes, key, "agent"))
        out->agent = value;
    else if (key_is(bytes, key, "deny"))
        out->denied = value;
    else if (key_is(bytes, key, "hold"))
        out->holds = value;
    else
        return false;
    return true;
}

static void take_pair(const uint8_t *bytes, struct span key, struct span value, struct hub_header *out) {
    assert(!out->given && key.at + key.bytes < value.at);
    uint64_t number = 0;
    if (key_is(bytes, key, "hub")) {
        take_hub(bytes, value, out);
    } else if (key_is(bytes, key, "taken")) {
        out->taken = value;
    } else if (key_is(bytes, key, "ask")) {
        out->asked = value;
    } else if (key_is(bytes, key, "gone")) {
        out->gone = value;
    } else if (key_is(bytes, key, "seek")) {
        out->sought = value;
    } else if (key_is(bytes, key, "none")) {
        out->none = value;
    } else if (key_is(bytes, key, "can")) {
        out->capability = value;
    } else if (key_is(bytes, key, "free")) {
        out->free = value;
    } else if (key_is(bytes, key, "held")) {
        out->held = value;
    } else if (take_source(bytes, key, value, out)) {
        return;
    } else if (!hub_header_read_digits(bytes, value, &number)) {
        return;
    } else if (key_is(bytes, key, "time")) {
        take_time(number, out);
    } else if (key_is(bytes, key, "re")) {
        out->answered = number;
    } else if (key_is(bytes, key, "level") && number < GOVERNANCE_COUNT) {
        out->level = (enum governance)number;
    } else if (key_is(bytes, key, "offer")) {
        out->offered = number;
    } else if (key_is(bytes, key, "back")) {
        out->is_back = true;
        out->owed = number;
    } else if (key_is(bytes, key, "refused")) {
        out->refused = number != 0;
    } else if (key_is(bytes, key, "probe")) {
        out->probes = number != 0;
        out->attaches = number == 2;
    } else if (key_is(bytes, key, "unsaid")) {
        out->unsaid = number != 0;
    } else if (key_is(bytes, key, "cancel")) {
        out->cancelled = number;
    } else if (key_is(bytes, key, "agents")) {
        out->inquired = number;
    } else if (key_is(bytes, key, "part")) {
        out->part = number;
    } else if (key_is(bytes, key, "more")) {
        out->more = number != 0;
    } else if (key_is(bytes, key, "cut")) {
        out->cut = number != 0;
    } else {
        take_holding(bytes, key, number, out);
    }
}

// Who says it is what all hubs say, and first: returns where that ends, or `at`.
static uint32_t read_hub(const uint8_t *bytes, uint32_t at, uint32_t end, struct hub_header *out) {
    static const char key[] = " hub=";
    struct span value = {at + (uint32_t)sizeof key - 1, HUB_NAME_BYTES};
    uint32_t behind = value.at + value.bytes;
    assert(at <= end);
    if (behind > end || memcmp(bytes + at, key, sizeof key - 1) != 0 ||
        (behind < end && bytes[behind] != ' '))
        return at;
    take_hub(bytes, value, out);
    return behind;
}

// The same for a pair whose value is a number; 0: it isn't there. `key` begins with the blank, and ends with the sign.
static inline uint32_t read_number(const uint8_t *bytes, uint32_t at, uint32_t end, const char *key,
                                   size_t key_bytes, uint64_t *number) {
    assert(at <= end);
    *number = 0;
    if (end - at <= key_bytes || memcmp(bytes + at, key, key_bytes) != 0)
        return at;
    uint32_t from = at + (uint32_t)key_bytes, stop = from;
    while (stop < end && stop - from < DIGITS_MAX && digit_values[bytes[stop]])
        *number = *number << 4 | (digit_values[bytes[stop++]] - 1u);
    if (stop > from && (stop == end || bytes[stop] == ' '))
        return stop;
    *number = 0;
    return at;
}

// Requests have a time next, and answers say what they are for.
static uint32_t read_next(const uint8_t *bytes, uint32_t at, uint32_t end, struct hub_header *out) {
    static const char time[] = " time=", re[] = " re=";
    uint64_t number;
    at = read_number(bytes, at, end, time, sizeof time - 1, &number);
    take_time(number, out);
    return read_number(bytes, at, end, re, sizeof re - 1, &out->answered);
}

// What stands from `at` to `end`: pairs, and before each of them a blank.
static void read_pairs(const uint8_t *bytes, uint32_t at, uint32_t end, struct hub_header *out) {
    assert(at <= end);
    at = read_next(bytes, read_hub(bytes, at, end, out), end, out) + 1;
    while (at < end) {
        uint32_t sign = at;
        while (sign < end && bytes[sign] != '=' && bytes[sign] != ' ')
            sign++;
        const uint8_t *blank = sign < end ? memchr(bytes + sign, ' ', end - sign) : NULL;
        uint32_t stop = blank ? (uint32_t)(blank - bytes) : end, behind = sign + 1;
        if (sign < stop)
            take_pair(bytes, (struct span){at, sign - at}, (struct span){behind, stop - behind}, out);
        at = stop + 1;
    }
}

void hub_header_read(const uint8_t *bytes, struct span headers, struct hub_header *out) {
    *out = (struct hub_header){0};
    const uint8_t *begin = bytes + headers.at;
    if (headers.bytes < VERSION_BYTES + NAME_BYTES + 3 ||
        memcmp(begin, hub_header_version, VERSION_BYTES) != 0 ||
        memcmp(begin + VERSION_BYTES, hub_header_name, NAME_BYTES) != 0)
        return;
    uint32_t at = headers.at + VERSION_BYTES + NAME_BYTES, end = headers.at + headers.bytes;
    const uint8_t *stop = memchr(bytes + at, '\r', end - at);
    if (!stop || stop + 1 == bytes + end || stop[1] != '\n' || (bytes[at] != ' ' && bytes[at] != '\r'))
        return;
    read_pairs(bytes, at, (uint32_t)(stop - bytes), out);
    out->given = true;
    out->bytes = (uint32_t)(stop + 2 - begin);
}

bool hub_header_next(const uint8_t *bytes, struct span *list, uint64_t *number) {
    uint32_t at = list->at, end = list->at + list->bytes;
    uint64_t found = 0;
    while (at < end && digit_values[bytes[at]])
        found = found << 4 | (digit_values[bytes[at++]] - 1u);
    uint32_t digits = at - list->at;
    bool good = digits > 0 && digits <= DIGITS_MAX && (at == end || bytes[at] == ',');
    uint32_t next = good && at < end ? at + 1 : good ? at : end; // nothing is read behind what is none
    *list = (struct span){next, end - next};
    if (good)
        *number = found;
    return good;
}

static size_t put(char *out, size_t at, const void *bytes, size_t count) {
    memcpy(out + at, bytes, count);
    return at + count;
}

size_t hub_header_write(char out[HUB_HEADER_BYTES_MAX], const char hub[HUB_NAME_BYTES], uint32_t time_ms,
                        enum governance level, uint32_t offered, uint64_t answered, unsigned flags,
                        const struct hub_header_source *source) {
    size_t at = put(out, 0, hub_header_version, VERSION_BYTES);
    at = put(out, at, hub_header_name, NAME_BYTES);
    at = put(out, at, " hub=", 5);
    at = put(out, at, hub, HUB_NAME_BYTES);
    if (time_ms) {
        at = put(out, at, " time=", 6);
        at += hub_header_digits(out + at, time_ms);
    }
    if (level) {
        at = put(out, at, " level=", 7);
        at += hub_header_digits(out + at, level);
    }
    if (offered) {
        at = put(out, at, " offer=", 7);
        at += hub_header_digits(out + at, offered);
    }
    if (answered) {
        at = put(out, at, " re=", 4);
        at += hub_header_digits(out + at, answered);
    }
    if (flags & HUB_HEADER_REFUSED)
        at = put(out, at, " refused=1", 10);
    else if (flags & HUB_HEADER_PROBES)
        at = put(out, at, " probe=1", 8);
    else if (flags & HUB_HEADER_ATTACHES)
        at = put(out, at, " probe=2", 8);
    else if (flags & HUB_HEADER_UNSAID)
        at = put(out, at, " unsaid=1", 9);
    if (source->user) {
        assert(*source->user && strlen(source->user) <= USER_NAME_BYTES_MAX);
        at = put(out, at, " user=", 6);
        at = put(out, at, source->user, strlen(source->user));
    }
    if (source->agent_bytes) {
        assert(source->agent_bytes <= AGENT_ID_BYTES_MAX); // and none of its characters ends it
        at = put(out, at, " agent=", 7);
        at = put(out, at, source->agent, source->agent_bytes);
    }
    at = put(out, at, "\r\n", 2);
    assert(at <= HUB_HEADER_BYTES_MAX);
    return at;
}

size_t hub_header_add(char *line, size_t bytes, const char *pairs, size_t pairs_bytes) {
    assert(bytes > 2 && (pairs_bytes == 0 || *pairs == ' '));
    size_t at = put(line, bytes - 2, pairs, pairs_bytes);
    return put(line, at, "\r\n", 2);
}

void hub_header_begin(struct text *out, const char hub[HUB_NAME_BYTES]) {
    text_put(out, hub_header_version);
    text_put(out, hub_header_name);
    text_put(out, " hub=");
    text_add(out, hub, HUB_NAME_BYTES);
}

void hub_header_number(struct text *out, const char *key, uint64_t number) {
    char digits[DIGITS_MAX];
    assert(strlen(key) > 0);
    text_put(out, " ");
    text_put(out, key);
    text_put(out, "=");
    text_add(out, digits, hub_header_digits(digits, number));
}

void hub_header_end(struct text *out) {
    text_put(out, "\r\n");
}
