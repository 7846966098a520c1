#include "router/routing/route_query.h"

#include <assert.h>

#include "router/rights/authz_cache.h"

// A block at a time, be it behind the body.
static inline void copy_method(struct message *message, struct span method) {
    enum { BLOCK = AUTHZ_CACHE_BLOCK_BYTES };
    const uint8_t *text = message->body + method.at + 1;
    static_assert((int)AUTHZ_CACHE_TEXT_BYTES_MAX <= (int)METHOD_BYTES_MAX, "what is kept fits");
    static_assert((int)AUTHZ_CACHE_TEXT_BYTES_MAX == 2 * BLOCK, "and is as many blocks");
    message->method_bytes = method.bytes - 2;
    memcpy(message->method, text, BLOCK);
    if (__builtin_expect(message->method_bytes > BLOCK, false))
        memcpy(message->method + BLOCK, text + BLOCK, BLOCK);
}

void route_query_read_method(struct message *message) {
    assert(message->lookup.verdict == LOOKUP_GOOD);
    struct span method = message->lookup.value[KEY_METHOD];
    if (message->again) {
        copy_method(message, method);
        return;
    }
    size_t bytes = json_string_decode(message->body, method, message->method, sizeof message->method);
    message->method_long = bytes == SIZE_MAX;
    message->method_bytes = message->method_long ? 0 : bytes;
}

static struct rules_field attached_target(const struct attachment *attachment) {
    assert(attachment->bytes > 0);
    return (struct rules_field){
        .given = true, .is_string = true, .text = attachment->agent, .bytes = attachment->bytes};
}

// Decodes a field of params into `out`. A field that doesn't fit is longer than any name that is known here.
static void read_field(const struct message *message, enum lookup_key key, struct rules_field *field,
                       char *out, size_t capacity) {
    *field = (struct rules_field){.given = lookup_has(&message->lookup, key)};
    field->is_string = field->given && message->lookup.type[key] == JSON_STRING;
    if (!field->is_string)
        return;
    size_t bytes = json_string_decode(message->body, message->lookup.value[key], out, capacity);
    if (bytes != SIZE_MAX) {
        field->text = out;
        field->bytes = bytes;
    }
}

// The target, which has no escape.
static inline struct rules_field field_as_it_lies(const struct message *message) {
    struct span value = message->lookup.value[KEY_TARGET_AGENT];
    return (struct rules_field){.given = true,
                                .is_string = true,
                                .text = (const char *)message->body + value.at + 1,
                                .bytes = value.bytes - 2};
}

void route_query_read(const struct message *message, struct route_query *query) {
    struct rules_message *criteria = &query->criteria;
    criteria->method = message->method_long ? NULL : message->method;
    criteria->method_bytes = message->method_bytes;
    criteria->tool = criteria->approver = criteria->command = (struct rules_field){0};
    criteria->required = message->frame->unit->directives.governance;
    criteria->source = message->peer->name;
    criteria->from_elsewhere = message->origin != NULL;
    criteria->reaching = NULL;
    criteria->reaches = NULL;
    criteria->by_name_only = criteria->by_method_only = false;
    if (message->again && lookup_has(&message->lookup, KEY_TARGET_AGENT))
        criteria->target = field_as_it_lies(message);
    else
        read_field(message, KEY_TARGET_AGENT, &criteria->target, query->target, sizeof query->target);
    query->named = criteria->target.given;
    const struct attachment *attachment = message_attachment(message);
    if (attachment)
        criteria->target = attached_target(attachment);
    if (rules_read_tool(criteria))
        read_field(message, KEY_TOOL, &criteria->tool, query->second, sizeof query->second);
    else if (rules_read_approver(criteria))
        read_field(message, KEY_APPROVER, &criteria->approver, query->second, sizeof query->second);
    else if (rules_read_command(criteria))
        read_field(message, KEY_COMMAND, &criteria->command, query->second, sizeof query->second);
}
