#include "router/route/routing.h"

#include <assert.h>

#include "router/rights/fenced.h"

void routing_read_method(struct message *message) {
    assert(message->lookup.verdict == LOOKUP_GOOD);
    struct span method = message->lookup.value[KEY_METHOD];
    size_t bytes = json_string_decode(message->body, method, message->method, sizeof message->method);
    message->method_long = bytes == SIZE_MAX;
    message->method_bytes = message->method_long ? 0 : bytes;
}

static struct rules_field attached_target(const struct attachment *attachment) {
    assert(attachment->bytes > 0);
    return (struct rules_field){
        .given = true, .is_string = true, .text = attachment->agent, .bytes = attachment->bytes};
}

// Decodes a field of params into `out`. One that doesn't fit is longer than any name that is known here.
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

void routing_read(const struct message *message, struct routing *routing) {
    struct rules_message *asked = &routing->asked;
    asked->method = message->method_long ? NULL : message->method;
    asked->method_bytes = message->method_bytes;
    asked->tool = asked->approver = asked->command = (struct rules_field){0};
    asked->required = message->frame->unit->directives.governance;
    asked->source = message->peer->name;
    asked->from_elsewhere = message->peer->transport->is_link;
    asked->reaching = fenced_by(message);
    asked->reaches = asked->reaching ? fenced_in_reach : NULL;
    asked->by_name_only = asked->by_method_only = false;
    read_field(message, KEY_TARGET_AGENT, &asked->target, routing->target, sizeof routing->target);
    routing->named = asked->target.given;
    const struct attachment *attachment = message_attachment(message);
    if (attachment)
        asked->target = attached_target(attachment);
    if (rules_read_tool(asked))
        read_field(message, KEY_TOOL, &asked->tool, routing->other, sizeof routing->other);
    else if (rules_read_approver(asked))
        read_field(message, KEY_APPROVER, &asked->approver, routing->other, sizeof routing->other);
    else if (rules_read_command(asked))
        read_field(message, KEY_COMMAND, &asked->command, routing->other, sizeof routing->other);
}
