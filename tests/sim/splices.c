// Bodies as they arrive in which the hub replaces something, or out of which it cuts something.
#include <string.h>

#include "tests/sim/run.h"

static bool is_space(uint8_t byte) {
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

// Takes what it is compared with off the front.
static bool begins(const struct naive_frame *frame, struct bit *came, struct bit with) {
    if (came->count < with.count || !naive_came(frame, (struct bit){came->bytes, with.count}, with))
        return false;
    came->bytes += with.count;
    came->count -= with.count;
    return true;
}

// Fields that guests put into their blocks pass over HTTP, but for the first of them.
static struct bit passing_of(struct bit fields) {
    static const char type[] = "Content-Type: ";
    if (fields.count < sizeof type - 1 || memcmp(fields.bytes, type, sizeof type - 1) != 0)
        return fields;
    const uint8_t *end = memmem(fields.bytes, fields.count, "\r\n", 2);
    return (struct bit){end + 2, (size_t)(fields.bytes + fields.count - end) - 2};
}

bool splices_fields_same(const struct record *record, const struct naive_frame *frame) {
    if (frame->passing)
        return bit_equal(frame->fields, passing_of(record->fields));
    return bit_equal(frame->fields, frame->headless ? (struct bit){0} : record->fields);
}

bool splices_same(struct bit sent, const struct splice *splices, unsigned count,
                  const struct naive_frame *frame) {
    struct bit came = frame->body;
    size_t at = 0;
    for (unsigned index = 0; index < count; index++) {
        const struct splice *splice = &splices[index];
        if (!begins(frame, &came, (struct bit){sent.bytes + at, splice->at - at}) ||
            !begins(frame, &came, splice->value))
            return false;
        at = splice->at + splice->bytes;
    }
    return naive_came(frame, came, (struct bit){sent.bytes + at, sent.count - at});
}

struct splice splices_id_member(const struct record *record) {
    if (record->kind != RECORD_ASK)
        return (struct splice){0};
    const uint8_t *body = record->body.bytes;
    size_t begin = record->id_at - strlen("\"id\":"), end = record->id_at + record->id_bytes, comma = end;
    while (is_space(body[comma]))
        comma++;
    if (body[comma] == ',') {
        end = comma + 1;
    } else {
        for (comma = begin; is_space(body[comma - 1]);)
            comma--;
        begin = body[comma - 1] == ',' ? comma - 1 : begin;
    }
    return (struct splice){begin, end - begin, {0}};
}

// CR LF is one break.
static bool split_same(struct bit sent, const struct splice *cut, struct bit came) {
    size_t to = 0;
    bool after_cr = false;
    for (size_t at = 0; at < sent.count; at++) {
        if (at >= cut->at && at < cut->at + cut->bytes)
            continue;
        uint8_t byte = sent.bytes[at];
        bool belongs = after_cr && byte == '\n';
        after_cr = byte == '\r';
        if (belongs)
            continue;
        if (to == came.count || came.bytes[to++] != (byte == '\r' ? '\n' : byte))
            return false;
    }
    return to == came.count;
}

bool splices_told(const struct record *record, const struct naive_frame *frame) {
    struct splice id = splices_id_member(record);
    if (frame->split)
        return split_same(record->body, &id, frame->body);
    return splices_fields_same(record, frame) && splices_same(record->body, &id, 1, frame);
}
