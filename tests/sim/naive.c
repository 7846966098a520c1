#include "tests/sim/naive.h"

#include <string.h>

bool bit_is(struct bit bit, const char *text) {
    return bit.bytes && bit.count == strlen(text) && memcmp(bit.bytes, text, bit.count) == 0;
}

bool bit_equal(struct bit left, struct bit right) {
    return left.count == right.count && (!left.count || memcmp(left.bytes, right.bytes, left.count) == 0);
}

uint64_t bit_number(struct bit bit) {
    uint64_t number = 0;
    if (!bit.bytes || !bit.count || bit.count > 18)
        return UINT64_MAX;
    for (size_t at = 0; at < bit.count; at++) {
        if (bit.bytes[at] < '0' || bit.bytes[at] > '9')
            return UINT64_MAX;
        number = number * 10 + (uint64_t)(bit.bytes[at] - '0');
    }
    return number;
}

int64_t bit_integer(struct bit bit) {
    bool negative = bit.bytes && bit.count && bit.bytes[0] == '-';
    struct bit digits = {negative ? bit.bytes + 1 : bit.bytes, bit.count - negative};
    uint64_t number = bit.bytes ? bit_number(digits) : UINT64_MAX;
    if (number == UINT64_MAX)
        return INT64_MIN;
    return negative ? -(int64_t)number : (int64_t)number;
}

// --- Frames

static const char length_name[] = "Content-Length: ";

enum naive_result naive_frame(struct naive_frame *frame, const uint8_t *bytes, size_t count) {
    const uint8_t *end = memmem(bytes, count, "\r\n\r\n", 4);
    size_t name = sizeof length_name - 1;
    size_t compare = count < name ? count : name;
    if (memcmp(bytes, length_name, compare) != 0)
        return NAIVE_BAD;
    if (!end)
        return NAIVE_PARTIAL;
    const uint8_t *line_end = memmem(bytes, count, "\r\n", 2);
    struct bit length = {bytes + name, (size_t)(line_end - bytes) - name};
    uint64_t body_bytes = bit_number(length);
    if (body_bytes == UINT64_MAX || length.bytes[0] == '0')
        return NAIVE_BAD;
    size_t header = (size_t)(end - bytes) + 4;
    frame->bytes = header + body_bytes;
    frame->fields = (struct bit){line_end + 2, (size_t)(end - line_end)};
    frame->body = (struct bit){bytes + header, body_bytes};
    frame->line = frame->headless = frame->passing = frame->split = false;
    return count < frame->bytes ? NAIVE_PARTIAL : NAIVE_WHOLE;
}

enum naive_result naive_line(struct naive_frame *frame, const uint8_t *bytes, size_t count) {
    const uint8_t *feed = memchr(bytes, '\n', count);
    size_t body_bytes = feed ? (size_t)(feed - bytes) : count;
    if (feed == bytes || memchr(bytes, '\r', body_bytes))
        return NAIVE_BAD;
    *frame = (struct naive_frame){
        .bytes = body_bytes + 1, .body = {bytes, body_bytes}, .line = true, .headless = true};
    return feed ? NAIVE_WHOLE : NAIVE_PARTIAL;
}

bool naive_came(const struct naive_frame *frame, struct bit came, struct bit sent) {
    if (!frame->line)
        return bit_equal(came, sent);
    if (came.count != sent.count)
        return false;
    for (size_t at = 0; at < sent.count; at++) {
        bool is_break = sent.bytes[at] == '\r' || sent.bytes[at] == '\n';
        if (came.bytes[at] != (is_break ? ' ' : sent.bytes[at]))
            return false;
    }
    return true;
}

// --- JSON, by recursive descent. `at` is moved behind what was read; false when it isn't there.

struct text {
    const uint8_t *bytes;
    size_t count;
    size_t at;
};

enum { DEPTH_MAX = 1100 };

static bool value(struct text *text, unsigned depth);

static bool takes_breaks;

void naive_take_breaks(bool take) {
    takes_breaks = take;
}

static int peek(const struct text *text) {
    return text->at < text->count ? text->bytes[text->at] : -1;
}

static bool take(struct text *text, int byte) {
    if (peek(text) != byte)
        return false;
    text->at++;
    return true;
}

static void space(struct text *text) {
    while (peek(text) == ' ' || peek(text) == '\t' || peek(text) == '\r' || peek(text) == '\n')
        text->at++;
}

static bool word(struct text *text, const char *expected) {
    for (; *expected; expected++)
        if (!take(text, *expected))
            return false;
    return true;
}

static bool hex(struct text *text) {
    for (unsigned digit = 0; digit < 4; digit++) {
        int byte = peek(text);
        if (byte < 0 || !strchr("0123456789abcdefABCDEF", byte))
            return false;
        text->at++;
    }
    return true;
}

static bool string(struct text *text) {
    if (!take(text, '"'))
        return false;
    while (peek(text) >= 0x20 || (takes_breaks && (peek(text) == '\r' || peek(text) == '\n'))) {
        if (take(text, '"'))
            return true;
        if (!take(text, '\\')) {
            text->at++;
            continue;
        }
        if (take(text, 'u')) {
            if (!hex(text))
                return false;
        } else if (peek(text) > 0 && strchr("\"\\/bfnrt", peek(text))) {
            text->at++;
        } else {
            return false;
        }
    }
    return false;
}

static bool digits(struct text *text) {
    size_t start = text->at;
    while (peek(text) >= '0' && peek(text) <= '9')
        text->at++;
    return text->at > start;
}

static bool number(struct text *text) {
    take(text, '-');
    if (!take(text, '0') && !digits(text))
        return false;
    if (take(text, '.') && !digits(text))
        return false;
    if (take(text, 'e') || take(text, 'E')) {
        if (!take(text, '+'))
            take(text, '-');
        return digits(text);
    }
    return true;
}

static bool member(struct text *text, bool object, unsigned depth) {
    space(text);
    if (object && !string(text))
        return false;
    space(text);
    if (object && !take(text, ':'))
        return false;
    return value(text, depth + 1);
}

static bool container(struct text *text, bool object, unsigned depth) {
    int close = object ? '}' : ']';
    text->at++;
    space(text);
    if (take(text, close))
        return true;
    do {
        if (!member(text, object, depth))
            return false;
        space(text);
    } while (take(text, ','));
    return take(text, close);
}

static bool value(struct text *text, unsigned depth) {
    space(text);
    switch (peek(text)) {
    case '{':
    case '[':
        return depth < DEPTH_MAX && container(text, peek(text) == '{', depth);
    case '"':
        return string(text);
    case 't':
        return word(text, "true");
    case 'f':
        return word(text, "false");
    case 'n':
        return word(text, "null");
    default:
        return number(text);
    }
}

bool naive_valid(struct bit json) {
    struct text text = {json.bytes, json.count, 0};
    if (!value(&text, 0))
        return false;
    space(&text);
    return text.at == text.count;
}

// Steps over the text between two items, or before the first; false when no item follows.
static bool step_to_item(struct text *text, bool first) {
    space(text);
    if (!take(text, first ? peek(text) : ','))
        return false;
    space(text);
    return !first || (peek(text) != '}' && peek(text) != ']');
}

bool naive_next(struct bit json, size_t *at, struct naive_item *item) {
    struct text text = {json.bytes, json.count, 0};
    space(&text);
    bool object = peek(&text) == '{';
    if (!json.bytes || (!object && peek(&text) != '['))
        return false;
    text.at = *at ? *at : text.at;
    if (!step_to_item(&text, *at == 0))
        return false;
    size_t key = text.at;
    if (object && !string(&text))
        return false;
    item->key = (struct bit){json.bytes + key, text.at - key};
    space(&text);
    if (object && !take(&text, ':'))
        return false;
    space(&text);
    size_t start = text.at;
    if (!value(&text, 0))
        return false;
    item->value = (struct bit){json.bytes + start, text.at - start};
    *at = text.at;
    return true;
}

size_t naive_value(struct bit json) {
    struct text text = {json.bytes, json.count, 0};
    return value(&text, 0) ? text.at : 0;
}

// The member `name` of the object; nothing when there is none.
static struct bit find_member(struct bit json, const char *name, size_t name_bytes) {
    struct naive_item item;
    for (size_t at = 0; naive_next(json, &at, &item);)
        if (item.key.count == name_bytes + 2 && memcmp(item.key.bytes + 1, name, name_bytes) == 0)
            return item.value;
    return (struct bit){NULL, 0};
}

struct bit naive_find(struct bit json, const char *path) {
    while (json.bytes && *path) {
        size_t name = strcspn(path, ".");
        json = find_member(json, path, name);
        path += name + (path[name] == '.');
    }
    return json;
}
