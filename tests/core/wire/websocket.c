// WebSocket: each stream is laid before the scanner whole, byte by byte and in every two parts. The gaps in
// its units are cut out and not. Each time the stream lies in another place, right before an unreadable page.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/wire/websocket.h"
#include "core/wire/websocket_mask.h"
#include "core/wire/wire.h"
#include "tests/core/base/placed.h"

enum { STREAM_BYTES = 200 * 1024, LOG_BYTES = 210 * 1024 };

// --- Streams

struct stream {
    uint8_t bytes[STREAM_BYTES];
    size_t count;
};

static void put(struct stream *stream, const void *bytes, size_t count) {
    assert_true(stream->count + count <= sizeof stream->bytes);
    memcpy(stream->bytes + stream->count, bytes, count);
    stream->count += count;
}

// The header, with the length in so many bytes behind its own: 0, 2 or 8.
static void put_header(struct stream *stream, uint8_t first, uint64_t length, unsigned bytes) {
    uint8_t mask_bit = 0x80, code = (uint8_t)(bytes == 8 ? 127 : bytes == 2 ? 126 : length);
    uint8_t header[10] = {first, mask_bit | code};
    for (unsigned at = 0; at < bytes; at++)
        header[2 + at] = (uint8_t)(length >> 8 * (bytes - 1 - at));
    put(stream, header, 2 + bytes);
}

static void put_payload(struct stream *stream, const char *payload, size_t count) {
    static uint8_t turn;
    uint8_t mask[4] = {0x37, 0xfa, turn++, 0x3d};
    put(stream, mask, sizeof mask);
    for (size_t at = 0; at < count; at++) {
        uint8_t byte = (uint8_t)payload[at] ^ mask[at % 4];
        put(stream, &byte, 1);
    }
}

static void put_frame(struct stream *stream, uint8_t first, const char *payload, size_t count) {
    put_header(stream, first, count, count > UINT16_MAX ? 8 : count > 125 ? 2 : 0);
    put_payload(stream, payload, count);
}

enum { FIN = 0x80, TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10 };

struct frame_text {
    uint8_t first;
    const char *payload;
};

static void put_frames(struct stream *stream, const struct frame_text *frames) {
    stream->count = 0;
    for (; frames->payload; frames++)
        put_frame(stream, frames->first, frames->payload, strlen(frames->payload));
}

// --- Results

// The unit's bytes that have come lie at `bytes`, as the scanner left them.
struct reader {
    struct unit unit;
    struct unit_limits limits;
    uint8_t bytes[STREAM_BYTES];
    size_t count;
    bool cuts;
    char log[LOG_BYTES]; // what came, each ended by ';'
    size_t log_bytes;
};

static void note(struct reader *reader, char kind, uint32_t at, uint32_t count) {
    assert_true(reader->log_bytes + count + 3 < sizeof reader->log);
    reader->log[reader->log_bytes++] = kind;
    memcpy(reader->log + reader->log_bytes, reader->bytes + at, count);
    reader->log_bytes += count;
    reader->log[reader->log_bytes++] = ';';
    reader->log[reader->log_bytes] = 0;
}

static char kind_of(enum websocket_opcode opcode) {
    return opcode == WEBSOCKET_CLOSE ? 'C' : opcode == WEBSOCKET_PING ? 'P' : 'Q';
}

static enum unit_result scan_elsewhere(struct reader *reader) {
    memcpy(placed_end - reader->count, reader->bytes, reader->count);
    enum unit_result result =
        websocket_scan(&reader->unit, placed_end - reader->count, reader->count, &reader->limits);
    memcpy(reader->bytes, placed_end - reader->count, reader->count);
    memset(placed_end - reader->count, '?', reader->count);
    return result;
}

static void close_gap(struct reader *reader) {
    uint32_t gap = unit_gap(&reader->unit), behind = reader->unit.at;
    memmove(reader->bytes + behind - gap, reader->bytes + behind, reader->count - behind);
    reader->count -= gap;
    unit_close_gap(&reader->unit);
}

// The unit is whole.
static void end_unit(struct reader *reader) {
    const struct unit *unit = &reader->unit;
    assert_true(unit->length_known && unit->bytes <= reader->count && unit->bytes > 0);
    assert_int_equal(unit->length_line_bytes, 0);
    assert_false(unit->canonical);
    if (unit->counts_without_body)
        note(reader, 'T', unit->body_at, unit->body_bytes);
    else
        assert_int_equal(unit->body_bytes, 0);
    reader->count -= unit->bytes;
    memmove(reader->bytes, reader->bytes + unit->bytes, reader->count);
    unit_begin(&reader->unit);
}

// Takes in `count` more bytes and all units that are there; returns how the last one stands.
static enum unit_result go_on(struct reader *reader, const uint8_t *bytes, size_t count) {
    memcpy(reader->bytes + reader->count, bytes, count);
    reader->count += count;
    for (;;) {
        enum unit_result result = scan_elsewhere(reader);
        if (result == UNIT_CONTROL)
            note(reader, kind_of(websocket_aside(&reader->unit)), reader->unit.control_at,
                 reader->unit.control_bytes);
        if (result == UNIT_WHOLE)
            end_unit(reader);
        if (reader->cuts && result == UNIT_OPEN)
            close_gap(reader);
        if (result == UNIT_OPEN || result == UNIT_PARTIAL || result == UNIT_BAD)
            return result;
    }
}

static struct reader *reader_new(uint32_t body_max, bool cuts) {
    static struct reader reader;
    memset(&reader, 0, offsetof(struct reader, bytes));
    reader.limits = (struct unit_limits){.header_bytes_max = 1, .body_bytes_max = body_max};
    reader.cuts = cuts;
    reader.count = reader.log_bytes = 0;
    reader.log[0] = 0;
    return &reader;
}

// The first `first` bytes come before the rest; one alone: so do all others.
static enum unit_result read_split(struct reader *reader, const struct stream *stream, size_t first) {
    enum unit_result result = UNIT_OPEN;
    for (size_t at = 0, step; at < stream->count && result != UNIT_BAD; at += step) {
        step = at == 0 || first == 1 ? first : stream->count - at;
        result = go_on(reader, stream->bytes + at, step);
        if (result == UNIT_OPEN && reader->cuts)
            assert_true(reader->count < websocket_open_max(&reader->limits));
    }
    return result;
}

static void assert_log(const struct stream *stream, uint32_t body_max, enum unit_result expected,
                       enum unit_fault fault, const char *log) {
    for (size_t first = 1; first <= stream->count; first++) {
        for (int cuts = 0; cuts < 2; cuts++) {
            struct reader *reader = reader_new(body_max, cuts);
            assert_int_equal(read_split(reader, stream, first), expected);
            assert_string_equal(reader->log, log);
            assert_int_equal(reader->unit.fault, fault);
            if (expected == UNIT_BAD) {
                assert_false(reader->unit.length_known);
                assert_int_equal(scan_elsewhere(reader), UNIT_BAD);
            }
        }
    }
}

// --- Messages

static void finds_messages(void **state) {
    (void)state;
    static const struct {
        struct frame_text frames[8];
        enum unit_result result; // for what is left behind the last
        const char *log;
    } cases[] = {
        {{{FIN | TEXT, "{}"}}, UNIT_OPEN, "T{};"},
        {{{FIN | TEXT, ""}}, UNIT_OPEN, "T;"},
        {{{FIN | TEXT, "[1]"}, {FIN | TEXT, "[2]"}}, UNIT_OPEN, "T[1];T[2];"},
        {{{TEXT, "Hel"}, {FIN, "lo"}}, UNIT_OPEN, "THello;"},
        {{{TEXT, ""}, {0, ""}, {FIN, ""}}, UNIT_OPEN, "T;"},
        {{{TEXT, ""}, {0, "a"}, {0, ""}, {FIN, "b"}}, UNIT_OPEN, "Tab;"},
        {{{TEXT, "a"}, {FIN, ""}, {FIN | TEXT, "b"}}, UNIT_OPEN, "Ta;Tb;"},
        {{{FIN | PING, "Hello"}, {FIN | PONG, ""}}, UNIT_OPEN, "PHello;Q;"},
        {{{FIN | PING, ""}, {FIN | TEXT, "{}"}, {FIN | PONG, "x"}}, UNIT_OPEN, "P;T{};Qx;"},
        {{{TEXT, "one, "}, {FIN | PING, "p"}, {0, "two, "}, {FIN | PONG, ""}, {FIN, "three"}},
         UNIT_OPEN,
         "Pp;Q;Tone, two, three;"},
        {{{FIN | CLOSE, "\x03\xe8that is all"}}, UNIT_OPEN, "C\x03\xe8that is all;"},
        {{{TEXT, "a"}, {FIN | CLOSE, ""}}, UNIT_OPEN, "C;"},
        {{{TEXT, "\xc3"}, {FIN | PING, "p"}, {FIN, "\xa4"}}, UNIT_OPEN, "Pp;T\xc3\xa4;"},
    };
    static struct stream stream;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_frames(&stream, cases[i].frames);
        assert_log(&stream, 64, cases[i].result, UNIT_FAULT_NONE, cases[i].log);
    }
}

// RFC 6455 section 5.7, where the client speaks.
static void reads_the_examples_of_the_standard(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t count;
        const char *log;
    } cases[] = {
        {"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", 11, "THello;"},
        {"\x8a\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", 11, "QHello;"},
    };
    static struct stream stream;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stream.count = 0;
        put(&stream, cases[i].bytes, cases[i].count);
        assert_log(&stream, 64, UNIT_OPEN, UNIT_FAULT_NONE, cases[i].log);
    }
}

static void messages_have_any_length(void **state) {
    (void)state;
    static const size_t lengths[] = {1,   7,   8,   9,   31,  32,    33,    40,   124,
                                     125, 126, 127, 128, 300, 65535, 65536, 65600};
    static struct stream stream;
    static char text[65600], log[LOG_BYTES];
    for (size_t at = 0; at < sizeof text; at++)
        text[at] = (char)('a' + at % 23);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        stream.count = 0;
        put_frame(&stream, FIN | TEXT, text, lengths[i]);
        put_frame(&stream, TEXT, text, lengths[i] / 3);
        put_frame(&stream, FIN, text + lengths[i] / 3, lengths[i] - lengths[i] / 3);
        int log_bytes =
            snprintf(log, sizeof log, "T%.*s;T%.*s;", (int)lengths[i], text, (int)lengths[i], text);
        assert_true(log_bytes > 0 && (size_t)log_bytes < sizeof log);
        for (size_t first = 1; first <= stream.count; first = first * 2 + 1) {
            struct reader *reader = reader_new(65600, first % 3 == 0);
            if (first == 1 && lengths[i] > 300)
                continue; // quadratic
            assert_int_equal(read_split(reader, &stream, first), UNIT_OPEN);
            assert_int_equal(reader->log_bytes, log_bytes);
            assert_memory_equal(reader->log, log, reader->log_bytes);
        }
    }
}

// The rest of a large message is received where it is to lie.
static void the_length_is_known_with_the_last_header(void **state) {
    (void)state;
    static struct stream stream;
    struct reader *reader = reader_new(1000, true);
    char text[500] = {0};
    stream.count = 0;
    put_frame(&stream, TEXT, text, 200);
    size_t last_at = stream.count;
    put_frame(&stream, FIN, text, 500);
    assert_int_equal(go_on(reader, stream.bytes, last_at + 7), UNIT_OPEN);
    assert_int_equal(go_on(reader, stream.bytes + last_at + 7, 1), UNIT_PARTIAL);
    assert_int_equal(reader->unit.body_bytes, 700);
    assert_int_equal(reader->unit.bytes, reader->count + 500);
    assert_int_equal(go_on(reader, stream.bytes + last_at + 8, 499), UNIT_PARTIAL);
    assert_int_equal(go_on(reader, stream.bytes + last_at + 507, 1), UNIT_OPEN);
    assert_int_equal(reader->log_bytes, 702);
}

// Bytes that a peer may send for ever within a message take no memory.
static void gaps_do_not_add_up(void **state) {
    (void)state;
    static struct stream stream;
    struct reader *reader = reader_new(1000, true);
    stream.count = 0;
    put_frame(&stream, TEXT, "abc", 3);
    for (int turn = 0; turn < 1000; turn++) {
        put_frame(&stream, 0, "", 0);
        put_frame(&stream, FIN | PING, "", 0);
    }
    for (size_t at = 0; at < stream.count; at++) {
        assert_int_equal(go_on(reader, stream.bytes + at, 1), UNIT_OPEN);
        assert_true(reader->count < 16);
    }
    reader->log_bytes = 0;
    stream.count = 0;
    put_frame(&stream, FIN, "d", 1);
    assert_int_equal(go_on(reader, stream.bytes, stream.count), UNIT_OPEN);
    assert_string_equal(reader->log, "Tabcd;");
    assert_int_equal(reader->count, 0);
}

// A lone control frame leaves nothing.
static void what_comes_before_a_message_leaves_nothing(void **state) {
    (void)state;
    static struct stream stream;
    struct reader *reader = reader_new(1000, true);
    static const struct frame_text ping[] = {{FIN | PING, "payload"}, {0, NULL}};
    put_frames(&stream, ping);
    assert_int_equal(go_on(reader, stream.bytes, stream.count), UNIT_OPEN);
    assert_int_equal(reader->count, 0);
    assert_int_equal(reader->unit.at, 0);
}

// --- Faults

static void faults_are_told(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t count;
        enum unit_fault fault;
        enum websocket_code code;
    } cases[] = {
#define BYTES(text) (text), sizeof(text) - 1
        {BYTES("\xc1"), UNIT_FAULT_WEBSOCKET_BITS, 1002},
        {BYTES("\xa1"), UNIT_FAULT_WEBSOCKET_BITS, 1002},
        {BYTES("\x91"), UNIT_FAULT_WEBSOCKET_BITS, 1002},
        {BYTES("\x83"), UNIT_FAULT_WEBSOCKET_OPCODE, 1002},
        {BYTES("\x87"), UNIT_FAULT_WEBSOCKET_OPCODE, 1002},
        {BYTES("\x8b"), UNIT_FAULT_WEBSOCKET_OPCODE, 1002},
        {BYTES("\x8f"), UNIT_FAULT_WEBSOCKET_OPCODE, 1002},
        {BYTES("\x81\x05"), UNIT_FAULT_WEBSOCKET_UNMASKED, 1002},
        {BYTES("\x89\x00"), UNIT_FAULT_WEBSOCKET_UNMASKED, 1002},
        {BYTES("\x09"), UNIT_FAULT_WEBSOCKET_CONTROL, 1002},
        {BYTES("\x08"), UNIT_FAULT_WEBSOCKET_CONTROL, 1002},
        {BYTES("\x89\xfe"), UNIT_FAULT_WEBSOCKET_CONTROL, 1002},
        {BYTES("\x8a\xff"), UNIT_FAULT_WEBSOCKET_CONTROL, 1002},
        {BYTES("\x81\xfe\x00\x7d"), UNIT_FAULT_WEBSOCKET_LENGTH, 1002},
        {BYTES("\x81\xfe\x00\x00"), UNIT_FAULT_WEBSOCKET_LENGTH, 1002},
        {BYTES("\x81\xff\x00\x00\x00\x00\x00\x00\xff\xff"), UNIT_FAULT_WEBSOCKET_LENGTH, 1002},
        {BYTES("\x81\xff\x80\x00\x00\x00\x00\x01\x00\x00"), UNIT_FAULT_WEBSOCKET_LENGTH, 1002},
        {BYTES("\x80"), UNIT_FAULT_WEBSOCKET_CONTINUATION, 1002},
        {BYTES("\x00"), UNIT_FAULT_WEBSOCKET_CONTINUATION, 1002},
        {BYTES("\x82"), UNIT_FAULT_WEBSOCKET_BINARY, 1003},
        {BYTES("\x02"), UNIT_FAULT_WEBSOCKET_BINARY, 1003},
        {BYTES("\x01\x80mask\x81"), UNIT_FAULT_WEBSOCKET_WITHIN, 1002},
        {BYTES("\x01\x80mask\x02"), UNIT_FAULT_WEBSOCKET_WITHIN, 1002},
        {BYTES("\x81\xfe\x01\x01"), UNIT_FAULT_BODY_TOO_LARGE, 1009},
        {BYTES("\x01\xff\x00\x00\x00\x00\x00\x01\x00\x00"), UNIT_FAULT_BODY_TOO_LARGE, 1009},
        {BYTES("\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff"), UNIT_FAULT_BODY_TOO_LARGE, 1009},
        {BYTES("\x88\x81\x00\x00\x00\x00\x03"), UNIT_FAULT_WEBSOCKET_CLOSE, 1002},
        {BYTES("\x88\x82\x00\x00\x00\x00\x03\xe7"), UNIT_FAULT_WEBSOCKET_CLOSE, 1002},
        {BYTES("\x88\x83\x00\x00\x00\x00\x03\xe8\xff"), UNIT_FAULT_WEBSOCKET_UTF8, 1007},
        {BYTES("\x81\x81\x00\x00\x00\x00\xff"), UNIT_FAULT_WEBSOCKET_UTF8, 1007},
        {BYTES("\x81\x81\x00\x00\x00\x00\xc3"), UNIT_FAULT_WEBSOCKET_UTF8, 1007},
#undef BYTES
    };
    static struct stream stream;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stream.count = 0;
        put(&stream, cases[i].bytes, cases[i].count);
        assert_log(&stream, 256, UNIT_BAD, cases[i].fault, "");
        assert_int_equal(websocket_code_of(cases[i].fault), cases[i].code);
        assert_non_null(unit_fault_text(cases[i].fault));
    }
}

// A fault comes behind all that was good.
static void messages_before_a_fault_are_there(void **state) {
    (void)state;
    static struct stream stream;
    static const struct frame_text frames[] = {{FIN | TEXT, "{}"}, {FIN | PING, "p"}, {TEXT, "\xc3"},
                                               {FIN | PONG, ""},   {FIN, "a"},        {0, NULL}};
    put_frames(&stream, frames);
    assert_log(&stream, 256, UNIT_BAD, UNIT_FAULT_WEBSOCKET_UTF8, "T{};Pp;Q;");
}

// All fragments together, and before the payload that is too much has come.
static void the_limit_is_the_sums(void **state) {
    (void)state;
    static struct stream stream;
    static const struct frame_text fits[] = {
        {TEXT, "12"}, {0, "34"}, {FIN | PING, "567"}, {FIN, "5"}, {0, NULL}};
    put_frames(&stream, fits);
    assert_log(&stream, 5, UNIT_OPEN, UNIT_FAULT_NONE, "P567;T12345;");
    assert_log(&stream, 4, UNIT_BAD, UNIT_FAULT_BODY_TOO_LARGE, "P567;");
    stream.count = 0;
    put_frame(&stream, TEXT, "12", 2);
    put_header(&stream, 0, 4, 0);
    assert_log(&stream, 5, UNIT_BAD, UNIT_FAULT_BODY_TOO_LARGE, "");
}

static void no_more_than_a_body_and_a_control_frame_stays_open(void **state) {
    (void)state;
    static struct stream stream;
    struct reader *reader = reader_new(70000, true);
    static char text[70000];
    stream.count = 0;
    put_frame(&stream, TEXT, text, sizeof text);
    put_frame(&stream, FIN | PING, text, 125);
    assert_int_equal(go_on(reader, stream.bytes, stream.count - 1), UNIT_OPEN);
    assert_int_equal(reader->count, sizeof text + 14 + 130);
    assert_int_equal(go_on(reader, stream.bytes + stream.count - 1, 1), UNIT_OPEN);
    assert_int_equal(reader->log_bytes, 127);
    assert_int_equal(reader->count, sizeof text + 14);
}

// --- Closing, and going out

static void only_some_codes_close(void **state) {
    (void)state;
    static const struct { unsigned from, to; } good[] = {{1000, 1003}, {1007, 1014}, {3000, 4999}};
    for (unsigned code = 0; code <= UINT16_MAX; code++) {
        uint8_t payload[] = {(uint8_t)(code >> 8), (uint8_t)code};
        uint16_t read;
        bool may = false;
        for (size_t i = 0; i < sizeof good / sizeof *good; i++)
            may |= code >= good[i].from && code <= good[i].to;
        assert_int_equal(websocket_close_read(payload, 2, &read),
                         may ? UNIT_FAULT_NONE : UNIT_FAULT_WEBSOCKET_CLOSE);
        assert_int_equal(read, may ? code : 0);
    }
}

static void heads_are_as_short_as_can_be(void **state) {
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *head;
        size_t count;
    } cases[] = {
        {0, "\x81\x00", 2},
        {5, "\x81\x05", 2},
        {125, "\x81\x7d", 2},
        {126, "\x81\x7e\x00\x7e", 4},
        {65535, "\x81\x7e\xff\xff", 4},
        {65536, "\x81\x7f\x00\x00\x00\x00\x00\x01\x00\x00", 10},
        {UINT32_MAX, "\x81\x7f\x00\x00\x00\x00\xff\xff\xff\xff", 10},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[WIRE_HEAD_BYTES_MAX];
        assert_int_equal(websocket_head(out, cases[i].bytes), cases[i].count);
        assert_memory_equal(out, cases[i].head, cases[i].count);
    }
}

// Either side reads what the other one writes.
static void clients_and_servers_understand_each_other(void **state) {
    (void)state;
    static const size_t lengths[] = {0, 1, 125, 126, 65535, 65536};
    static const struct unit_limits limits = {1, 1 << 20};
    static uint8_t bytes[65536 + 14];
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        for (int served = 0; served < 2; served++) {
            char head[WIRE_HEAD_BYTES_MAX];
            uint8_t mask[WEBSOCKET_MASK_BYTES] = {1, 2, 3, 4};
            size_t head_bytes = served ? websocket_head(head, lengths[i])
                                       : websocket_client_head(head, WEBSOCKET_TEXT, lengths[i], mask);
            memcpy(bytes, head, head_bytes);
            memset(bytes + head_bytes, 'x', lengths[i]);
            if (!served)
                websocket_mask_off(bytes + head_bytes, bytes + head_bytes, lengths[i], mask);
            struct unit unit, other;
            unit_begin(&unit);
            unit_begin(&other);
            enum unit_result result =
                (served ? websocket_scan : websocket_client_scan)(&other, bytes, 2, &limits);
            assert_int_equal(result, UNIT_BAD);
            assert_int_equal(other.fault,
                             served ? UNIT_FAULT_WEBSOCKET_UNMASKED : UNIT_FAULT_WEBSOCKET_MASKED);
            result = (served ? websocket_client_scan : websocket_scan)(&unit, bytes, head_bytes + lengths[i],
                                                                       &limits);
            assert_int_equal(result, UNIT_WHOLE);
            assert_int_equal(unit.body_at, head_bytes);
            assert_int_equal(unit.body_bytes, lengths[i]);
            for (size_t at = 0; at < lengths[i]; at++)
                assert_true(bytes[unit.body_at + at] == 'x');
        }
    }
}

// RFC 6455 section 5.7, where the server speaks.
static void a_client_reads_the_examples_of_the_standard(void **state) {
    (void)state;
    static const char fragments[] = "\x01\x03\x48\x65\x6c\x89\x05\x48\x65\x6c\x6c\x6f\x80\x02\x6c\x6f";
    static const struct unit_limits limits = {1, 1 << 20};
    uint8_t bytes[sizeof fragments];
    struct unit unit;
    memcpy(bytes, fragments, sizeof fragments);
    unit_begin(&unit);
    assert_int_equal(websocket_client_scan(&unit, bytes, sizeof fragments - 1, &limits), UNIT_CONTROL);
    assert_int_equal(websocket_aside(&unit), WEBSOCKET_PING);
    assert_int_equal(unit.control_bytes, 5);
    assert_memory_equal(bytes + unit.control_at, "Hello", 5);
    assert_int_equal(websocket_client_scan(&unit, bytes, sizeof fragments - 1, &limits), UNIT_WHOLE);
    assert_int_equal(unit.body_bytes, 5);
    assert_memory_equal(bytes + unit.body_at, "Hello", 5);
}

static void control_frames_are_written(void **state) {
    (void)state;
    char out[WEBSOCKET_CONTROL_HEAD_BYTES + WEBSOCKET_CONTROL_BYTES_MAX], reason[200];
    websocket_control_head(out, WEBSOCKET_PONG, 125);
    assert_memory_equal(out, "\x8a\x7d", 2);
    assert_int_equal(websocket_close(out, WEBSOCKET_CODE_GOING_AWAY, "drain"), 9);
    assert_memory_equal(out,
                        "\x88\x07\x03\xe9"
                        "drain",
                        9);
    assert_int_equal(websocket_close(out, WEBSOCKET_CODE_NONE, "never"), 2);
    assert_memory_equal(out, "\x88\x00", 2);
    memset(reason, 'r', sizeof reason - 1);
    reason[sizeof reason - 1] = 0;
    assert_int_equal(websocket_close(out, WEBSOCKET_CODE_PROTOCOL, reason), sizeof out);
    assert_memory_equal(out,
                        "\x88\x7d\x03\xea"
                        "rrr",
                        7);
}

// Whatever the alignment, the length, the way down and the turn of the mask.
static void a_mask_is_taken_off_everywhere(void **state) {
    (void)state;
    enum { DOWN_MAX = 40, COUNT_MAX = 150 };
    for (size_t down = 0; down <= DOWN_MAX; down++) {
        for (size_t count = 0; count <= COUNT_MAX; count++) {
            static const uint8_t key[4] = {1, 2, 0x84, 8};
            uint8_t bytes[DOWN_MAX + COUNT_MAX], expected[COUNT_MAX], mask[4];
            memcpy(mask, key, sizeof mask);
            bool ascii = true;
            for (size_t at = 0; at < count; at++) {
                bytes[down + at] = (uint8_t)(at * 7 + (at % 4 == 2 && (count & 1) == 0 ? 0x80 : 0)) & 0xff;
                expected[at] = bytes[down + at] ^ key[at % 4];
                ascii &= expected[at] < 0x80;
            }
            assert_int_equal(websocket_mask_off(bytes, bytes + down, count, mask), ascii);
            assert_memory_equal(bytes, expected, count);
            for (size_t at = 0; at < 4; at++)
                assert_int_equal(mask[at], key[(count + at) % 4]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_messages),
        cmocka_unit_test(reads_the_examples_of_the_standard),
        cmocka_unit_test(messages_have_any_length),
        cmocka_unit_test(the_length_is_known_with_the_last_header),
        cmocka_unit_test(gaps_do_not_add_up),
        cmocka_unit_test(what_comes_before_a_message_leaves_nothing),
        cmocka_unit_test(faults_are_told),
        cmocka_unit_test(messages_before_a_fault_are_there),
        cmocka_unit_test(the_limit_is_the_sums),
        cmocka_unit_test(no_more_than_a_body_and_a_control_frame_stays_open),
        cmocka_unit_test(only_some_codes_close),
        cmocka_unit_test(heads_are_as_short_as_can_be),
        cmocka_unit_test(clients_and_servers_understand_each_other),
        cmocka_unit_test(a_client_reads_the_examples_of_the_standard),
        cmocka_unit_test(control_frames_are_written),
        cmocka_unit_test(a_mask_is_taken_off_everywhere),
    };
    return cmocka_run_group_tests(tests, placed_map, placed_unmap);
}
