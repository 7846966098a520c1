#include "router/audit/audit_remote.h"

#include <assert.h>
#include <string.h>

#include "core/lookup/schema.h"
#include "core/requests/journal_line.h"
#include "router/audit/audit.h"
#include "router/engine/message/message_copy.h"
#include "router/engine/shard/identity.h"

// The error in an answer that strict validation lets pass, as all that enters the journal must; bytes 0: there is none.
static struct span error_of(const struct shard *shard, const struct parcel *answer, const uint8_t *body) {
    struct lookup judged;
    assert(answer->body.bytes > 0 && answer->hole_count == 0);
    lookup_body_strict(&judged, body, answer->body.bytes, shard_limits(shard)->id_bytes_max);
    if (judged.verdict != LOOKUP_GOOD || !schema_outcome_fits(body, &judged) ||
        !lookup_has(&judged, KEY_ERROR))
        return (struct span){0, 0};
    return judged.value[KEY_ERROR];
}

// ERROR_NONE: the journal doesn't keep it.
static enum error kept_error(const uint8_t *body, struct span error) {
    static const enum error kept[] = {ERROR_GOVERNANCE_VIOLATION, ERROR_NOT_ALLOWED};
    struct json_item code = json_member(body, error, "code");
    char digits[24];
    assert(error.bytes > 0);
    for (size_t at = 0; at < sizeof kept / sizeof *kept; at++) {
        size_t bytes = text_digits(digits + 1, (uint64_t)-error_code(kept[at]));
        digits[0] = '-';
        if (code.value.bytes == bytes + 1 && memcmp(body + code.value.at, digits, bytes + 1) == 0)
            return kept[at];
    }
    return ERROR_NONE;
}

// A member of another hub's text is its data: none takes the place of a member of this hub's.
static bool is_free(const char *name) {
    static const char *const own[] = {"time", "kind", "source", "target", "method", "code"};
    for (size_t at = 0; at < sizeof own / sizeof *own; at++)
        if (strcmp(name, own[at]) == 0)
            return false;
    return name[0] != '\0' &&
           name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '\0';
}

static void put_data(struct text *line, const uint8_t *body, struct json_item data) {
    struct json_walk walk;
    char name[32];
    assert(journal_line_is_open(line));
    if (data.type != JSON_OBJECT)
        return;
    json_walk_begin(&walk, body, data.value);
    for (struct json_item item; json_next(&walk, &item) == JSON_ITEM;) {
        size_t bytes = json_string_decode(body, item.key, name, sizeof name - 1);
        name[bytes == SIZE_MAX ? 0 : bytes] = '\0';
        if (is_free(name))
            journal_line_json(line, name, body + item.value.at, item.value.bytes);
    }
}

static void read_method(struct message *message) {
    assert(lookup_has(&message->lookup, KEY_METHOD));
    size_t bytes = json_string_decode(message->body, message->lookup.value[KEY_METHOD], message->method,
                                      sizeof message->method);
    message->method_long = bytes == SIZE_MAX;
    message->method_bytes = bytes == SIZE_MAX ? 0 : bytes;
}

static void write_line(struct shard *shard, const struct message *message, enum error error,
                       const uint8_t *body, struct json_item data) {
    struct journal_entry *entry = audit_entry(shard, message, "refusal", NULL);
    if (entry) {
        journal_line_string(&entry->line, "method", message->method_long ? NULL : message->method,
                            message->method_bytes);
        journal_line_number(&entry->line, "code", error_code(error));
        put_data(&entry->line, body, data);
        entry = audit_finish(entry);
    }
    audit_submit(shard, entry);
}

void audit_remote_refused(struct shard *shard, struct peer *source, const struct pending *pending,
                          const struct parcel *answer) {
    const struct message_copy *offered = pending->offered;
    if (!journal_is_on(shard) || !offered || !answer->buffer)
        return;
    const uint8_t *body = answer->buffer->bytes + answer->body.at;
    struct span said = error_of(shard, answer, body);
    enum error error = said.bytes ? kept_error(body, said) : ERROR_NONE;
    if (!error || !audit_may_tell(shard, offered->user))
        return;
    struct message message;
    message_begin(&message, source, NULL);
    message.frame = &offered->frame;
    message.body = frame_body(&offered->frame);
    lookup_body(&message.lookup, message.body, offered->frame.body.bytes, pending->id_bytes);
    assert(message.lookup.verdict == LOOKUP_GOOD);
    read_method(&message);
    struct identity *identity = identity_of(source);
    const struct user *before = identity ? identity->user : NULL; // of HTTP it may speak for nobody any more
    if (identity)
        identity->user = offered->user;
    write_line(shard, &message, error, body, json_member(body, said, "data"));
    if (identity)
        identity->user = before;
}
