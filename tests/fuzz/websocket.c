// Fuzzes the scanner of WebSocket frames. The input's first three bytes choose the side, the limit, how the
// rest is cut and when gaps are closed. The rest must be read alike whole, cut, and with its gaps closed, and
// as a second, naive reader of the standard reads it. Every piece is handed over in memory of just its size,
// which is another each time.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/websocket.h"
#include "tests/fuzz/cutting.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds)
        abort();
}

struct input {
    const uint8_t *text;
    size_t bytes;
    struct unit_limits limits;
    uint32_t seed;
    bool of_server; // they are what a server sends
};

// Results, one behind the other: a letter, how many bytes, those bytes; and the end.
struct story {
    uint8_t *bytes;
    size_t count, room;
    enum unit_fault fault;
};

static void tell(struct story *story, char kind, const uint8_t *bytes, size_t count) {
    size_t wanted = story->count + 1 + sizeof count + count;
    if (wanted > story->room) {
        story->room = 2 * wanted;
        story->bytes = realloc(story->bytes, story->room);
        require(story->bytes != NULL);
    }
    story->bytes[story->count++] = (uint8_t)kind;
    memcpy(story->bytes + story->count, &count, sizeof count);
    story->count += sizeof count;
    if (count)
        memcpy(story->bytes + story->count, bytes, count);
    story->count += count;
}

// --- The naive reader: nothing here is shared with the scanner.

struct naive {
    const uint8_t *at, *end;
    uint8_t *message; // as much as has come
    size_t message_bytes;
    bool in_message;
};

static bool naive_utf8(const uint8_t *text, size_t bytes) {
    for (size_t at = 0; at < bytes;) {
        static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
        uint8_t first = text[at];
        unsigned count = first < 0x80       ? 1
                         : first >> 5 == 6  ? 2
                         : first >> 4 == 14 ? 3
                         : first >> 3 == 30 ? 4
                                            : 0;
        if (!count || at + count > bytes)
            return false;
        uint32_t code = count == 1 ? first : first & (0x7fu >> count);
        for (unsigned next = 1; next < count; next++) {
            if (text[at + next] >> 6 != 2)
                return false;
            code = code << 6 | (text[at + next] & 0x3fu);
        }
        if (code < least[count] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
            return false;
        at += count;
    }
    return true;
}

static enum unit_fault naive_close(const uint8_t *payload, size_t count) {
    if (count == 0)
        return UNIT_FAULT_NONE;
    unsigned code = count > 1 ? payload[0] * 256u + payload[1] : 0;
    bool good = code == 1000 || code == 1001 || code == 1002 || code == 1003 ||
                (code > 1006 && code < 1015) || (code >= 3000 && code < 5000);
    if (!good)
        return UNIT_FAULT_WEBSOCKET_CLOSE;
    return naive_utf8(payload + 2, count - 2) ? UNIT_FAULT_NONE : UNIT_FAULT_WEBSOCKET_UTF8;
}

// A frame whose payload has come, without its mask.
static enum unit_fault naive_frame(struct naive *naive, struct story *story, unsigned first, uint8_t *payload,
                                   size_t count) {
    unsigned opcode = first % 16;
    enum unit_fault fault = UNIT_FAULT_NONE;
    if (opcode == 8)
        fault = naive_close(payload, count);
    if (opcode >= 8 && !fault)
        tell(story, (char)('0' + opcode), payload, count);
    if (opcode >= 8)
        return fault;
    naive->message = realloc(naive->message, naive->message_bytes + count + 1);
    require(naive->message != NULL);
    memcpy(naive->message + naive->message_bytes, payload, count);
    naive->message_bytes += count;
    naive->in_message = first < 128;
    if (naive->in_message)
        return UNIT_FAULT_NONE;
    if (!naive_utf8(naive->message, naive->message_bytes))
        return UNIT_FAULT_WEBSOCKET_UTF8;
    tell(story, 'T', naive->message, naive->message_bytes);
    naive->message_bytes = 0;
    return UNIT_FAULT_NONE;
}

static enum unit_fault naive_first(const struct naive *naive, unsigned first) {
    unsigned opcode = first % 16;
    if (first / 16 % 8)
        return UNIT_FAULT_WEBSOCKET_BITS;
    if ((opcode > 2 && opcode < 8) || opcode > 10)
        return UNIT_FAULT_WEBSOCKET_OPCODE;
    if (opcode >= 8)
        return first < 128 ? UNIT_FAULT_WEBSOCKET_CONTROL : UNIT_FAULT_NONE;
    if (opcode && naive->in_message)
        return UNIT_FAULT_WEBSOCKET_WITHIN;
    if (!opcode && !naive->in_message)
        return UNIT_FAULT_WEBSOCKET_CONTINUATION;
    return opcode == 2 ? UNIT_FAULT_WEBSOCKET_BINARY : UNIT_FAULT_NONE;
}

// Reads one frame; false where it isn't whole, or is refused.
static bool naive_next(struct naive *naive, struct story *story, const struct input *input) {
    uint64_t max = input->limits.body_bytes_max;
    size_t masks = input->of_server ? 0 : 4;
    size_t left = (size_t)(naive->end - naive->at);
    const uint8_t *at = naive->at;
    if (left < 1 || (story->fault = naive_first(naive, at[0])) || left < 2)
        return false;
    bool control = at[0] % 16 >= 8;
    uint64_t count = at[1] % 128;
    if (!masks == (at[1] >= 128))
        story->fault = masks ? UNIT_FAULT_WEBSOCKET_UNMASKED : UNIT_FAULT_WEBSOCKET_MASKED;
    else if (control && count > 125)
        story->fault = UNIT_FAULT_WEBSOCKET_CONTROL;
    size_t extra = count == 126 ? 2 : count == 127 ? 8 : 0;
    if (story->fault || left < 2 + extra)
        return false;
    if (extra) {
        count = 0;
        for (size_t digit = 0; digit < extra; digit++)
            count = count * 256 + at[2 + digit];
        if (count <= (extra == 2 ? 125u : 65535u) || count > INT64_MAX)
            story->fault = UNIT_FAULT_WEBSOCKET_LENGTH;
    }
    if (!story->fault && !control && count + naive->message_bytes > max)
        story->fault = UNIT_FAULT_BODY_TOO_LARGE;
    if (story->fault || left < 2 + extra + masks || left - 2 - extra - masks < count)
        return false;
    uint8_t *payload = malloc(count + 1);
    require(payload != NULL);
    for (size_t byte = 0; byte < count; byte++)
        payload[byte] = at[2 + extra + masks + byte] ^ (masks ? at[2 + extra + byte % 4] : 0);
    story->fault = naive_frame(naive, story, at[0], payload, count);
    free(payload);
    naive->at += 2 + extra + masks + count;
    return !story->fault;
}

static struct story naive_story(const struct input *input) {
    struct story story = {0};
    struct naive naive = {.at = input->text, .end = input->text + input->bytes};
    while (naive_next(&naive, &story, input))
        continue;
    free(naive.message);
    return story;
}

// --- The scanner

static enum unit_result scan_side(struct unit *unit, uint8_t *bytes, size_t count,
                                  const struct input *input) {
    return (input->of_server ? websocket_client_scan : websocket_scan)(unit, bytes, count, &input->limits);
}

struct reader {
    struct unit unit;
    uint8_t *bytes; // the unit's, as the scanner left them, in memory of just their size
    size_t count;
};

static void place(struct reader *reader, const uint8_t *more, size_t count, size_t without) {
    uint8_t *fresh = malloc(reader->count - without + count + 1);
    require(fresh != NULL);
    uint8_t *last = fresh + 1; // no two places are aligned alike
    if (reader->count > without)
        memcpy(last, reader->bytes + without, reader->count - without);
    if (count)
        memcpy(last + reader->count - without, more, count);
    if (reader->bytes)
        free(reader->bytes - 1);
    reader->bytes = last;
    reader->count += count - without;
}

static void close_gap(struct reader *reader) {
    uint32_t gap = unit_gap(&reader->unit), behind = reader->unit.at;
    memmove(reader->bytes + behind - gap, reader->bytes + behind, reader->count - behind);
    reader->count -= gap;
    unit_close_gap(&reader->unit);
    place(reader, NULL, 0, 0);
    require(unit_gap(&reader->unit) == 0);
}

static enum unit_result scan(struct reader *reader, struct story *story, const struct input *input) {
    enum unit_result result = scan_side(&reader->unit, reader->bytes, reader->count, input);
    const struct unit *unit = &reader->unit;
    require(unit->length_known == (result == UNIT_PARTIAL || result == UNIT_WHOLE ||
                                   (result == UNIT_CONTROL && unit->length_known)));
    if (result == UNIT_CONTROL) {
        require(unit->control_at + unit->control_bytes <= reader->count);
        tell(story, (char)('0' + websocket_aside(unit)), reader->bytes + unit->control_at,
             unit->control_bytes);
    } else if (result == UNIT_WHOLE) {
        require(unit->bytes > 0 && unit->bytes <= reader->count && !unit->length_line_bytes);
        require(unit->body_at + unit->body_bytes <= unit->bytes &&
                unit->counts_without_body >= (unit->body_bytes > 0));
        if (unit->counts_without_body)
            tell(story, 'T', reader->bytes + unit->body_at, unit->body_bytes);
        place(reader, NULL, 0, unit->bytes);
        unit_begin(&reader->unit);
    } else if (result == UNIT_PARTIAL) {
        require(unit->bytes > reader->count && unit->body_bytes <= input->limits.body_bytes_max);
    }
    return result;
}

static struct story read_all(struct input *input, bool cut, bool close) {
    struct story story = {0};
    struct reader reader = {0};
    enum unit_result result = UNIT_OPEN;
    unit_begin(&reader.unit);
    place(&reader, NULL, 0, 0);
    for (size_t at = 0; at < input->bytes && result != UNIT_BAD;) {
        size_t count = cutting_next(&input->seed, input->bytes - at, cut);
        place(&reader, input->text + at, count, 0);
        at += count;
        do {
            result = scan(&reader, &story, input);
        } while (result == UNIT_WHOLE || result == UNIT_CONTROL);
        if (result == UNIT_OPEN && close)
            close_gap(&reader);
        if (result == UNIT_OPEN && close && input->limits.body_bytes_max < UINT32_MAX / 2)
            require(reader.count < websocket_open_max(&input->limits));
    }
    if (result == UNIT_BAD) {
        require(scan_side(&reader.unit, reader.bytes, reader.count, input) == UNIT_BAD);
        require(websocket_code_of(reader.unit.fault) >= 1002 && reader.unit.fault_at <= reader.count);
        story.fault = reader.unit.fault;
    }
    free(reader.bytes - 1);
    return story;
}

static void compare(const struct story *naive, struct story story) {
    require(story.fault == naive->fault && story.count == naive->count);
    require(!story.count || memcmp(story.bytes, naive->bytes, story.count) == 0);
    free(story.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint32_t limits[] = {1, 16, 200, 1u << 30};
    if (size < 3)
        return 0;
    struct input input = {.text = data + 3,
                          .bytes = size - 3,
                          .limits = {.header_bytes_max = 24, .body_bytes_max = limits[data[0] & 3]},
                          .seed = (uint32_t)data[1] << 8 | data[2],
                          .of_server = data[0] & 4};
    struct story naive = naive_story(&input);
    compare(&naive, read_all(&input, false, false));
    compare(&naive, read_all(&input, true, false));
    compare(&naive, read_all(&input, true, true));
    free(naive.bytes);
    return 0;
}
