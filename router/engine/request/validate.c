#include "router/engine/request/validate.h"

#include <assert.h>

#include "core/lookup/schema.h"
#include "router/audit/audit.h"
#include "router/engine/message/message.h"
#include "router/engine/request/refuse.h"

void validate_look_up(const struct shard *shard, struct message *message, const struct frame *frame) {
    assert(frame->body.bytes > 0 && frame->body.at + frame->body.bytes <= frame->buffer->capacity);
    message->frame = frame;
    message->body = frame_body(frame);
    uint32_t bytes = frame->body.bytes, id_bytes_max = shard_limits(shard)->id_bytes_max;
    if (shard->settings->strict)
        lookup_body_strict(&message->lookup, message->body, bytes, id_bytes_max);
    else
        lookup_body(&message->lookup, message->body, bytes, id_bytes_max);
}

void validate_read_method(struct message *message) {
    assert(message->lookup.verdict == LOOKUP_GOOD && lookup_has(&message->lookup, KEY_METHOD));
    size_t bytes = json_string_decode(message->body, message->lookup.value[KEY_METHOD], message->method,
                                      sizeof message->method);
    message->method_long = bytes == SIZE_MAX;
    message->method_bytes = message->method_long ? 0 : bytes;
}

static void refuse_source_named(struct shard *shard, const struct message *message, const char *source,
                                size_t bytes) {
    struct text data;
    text_init(&data);
    reply_data_text(&data, "field", "params.sourceAgent");
    reply_data_string(&data, "agent", source, bytes);
    audit_refusal(shard, message, ERROR_NOT_ALLOWED, NULL, &data);
    refuse(shard, message, ERROR_NOT_ALLOWED, &data);
}

static bool refuse_foreign_source(struct shard *shard, const struct message *message) {
    char source[AGENT_ID_BYTES_MAX];
    size_t bytes;
    if (!lookup_has(&message->lookup, KEY_SOURCE_AGENT) ||
        shard->settings->users) // authn has checked this then
        return false;
    if (message->lookup.type[KEY_SOURCE_AGENT] != JSON_STRING) {
        refuse_field(shard, message, "params.sourceAgent", "string");
        return true;
    }
    if (source_agent_read(shard, message, source, &bytes) != SOURCE_FOREIGN)
        return false;
    refuse_source_named(shard, message, source, bytes);
    return true;
}

bool validate_refuse_source(struct shard *shard, const struct message *message) {
    assert(message->approved);
    return shard->settings->strict && refuse_foreign_source(shard, message);
}

bool validate_is_response(const struct shard *shard, const struct message *message, bool is_expected) {
    const struct lookup *lookup = &message->lookup;
    assert(message->frame->body.bytes > 0);
    bool is_broken = lookup->kind == BODY_UNKNOWN && lookup->verdict == LOOKUP_NOT_MESSAGE;
    return lookup->kind == BODY_RESPONSE || (is_broken && is_expected && shard->settings->strict);
}

bool validate_refuse(struct shard *shard, const struct message *message) {
    return shard->settings->strict && validate_refuse_strictly(shard, message);
}

bool validate_refuse_strictly(struct shard *shard, const struct message *message) {
    assert(message->lookup.verdict == LOOKUP_GOOD);
    assert(message->lookup.kind == BODY_REQUEST || message->lookup.kind == BODY_NOTIFICATION);
    struct schema_fault fault =
        schema_check(message->body, &message->lookup, message->method, message->method_bytes);
    if (!fault.field)
        return refuse_foreign_source(shard, message);
    refuse_field(shard, message, fault.field, fault.expected);
    return true;
}

bool validate_response(const struct shard *shard, const struct message *message) {
    assert(message->lookup.verdict == LOOKUP_GOOD && message->lookup.kind == BODY_RESPONSE);
    return !shard->settings->strict || (schema_version_served(message->body, &message->lookup) &&
                                        schema_outcome_fits(message->body, &message->lookup));
}
