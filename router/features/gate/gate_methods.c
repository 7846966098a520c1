#include "router/features/gate/gate_methods.h"

#include <assert.h>

#include "router/audit/audit.h"
#include "router/engine/request/refuse.h"
#include "router/features/gate/gate_json.h"
#include "router/features/gate/gate_query.h"
#include "router/rights/authz.h"

// Refuses a decision of a peer that may not decide. A decision from another hub must have the subject for decisions.
// Returns whether the decision was refused.
static bool refuse_unauthorized(struct shard *shard, const struct message *message) {
    bool may_reply = !message->origin || message->origin->kind == SUBJECT_DECIDE;
    if (may_reply && authz_may_decide(shard, message->peer))
        return false;
    struct text data;
    text_init(&data);
    reply_data_text(&data, "rule", "admin");
    audit_refusal(shard, message, ERROR_NOT_ALLOWED, NULL, &data);
    refuse(shard, message, ERROR_NOT_ALLOWED, &data);
    return true;
}

static bool is_string(const struct message *message, enum lookup_key key) {
    return lookup_has(&message->lookup, key) && message->lookup.type[key] == JSON_STRING;
}

static bool is_of_the_gate(const struct message *message) {
    return is_string(message, KEY_CHECKPOINT) &&
           json_string_begins(message->body, message->lookup.value[KEY_CHECKPOINT], CHECKPOINT_PREFIX);
}

// Returns the decision; DECISIONS_COUNT: there is none.
static enum decision read_decision(const struct message *message) {
    enum decision decision = 0;
    if (!is_string(message, KEY_DECISION))
        return DECISIONS_COUNT;
    while (decision < DECISIONS_COUNT &&
           !json_string_is(message->body, message->lookup.value[KEY_DECISION], decision_text(decision)))
        decision++;
    return decision;
}

// Decodes a string. Returns NULL if there is none. *bytes is SIZE_MAX if the string is longer than `capacity`.
static const char *read_text(const struct message *message, enum lookup_key key, char *out, size_t capacity,
                             size_t *bytes) {
    *bytes = 0;
    if (!is_string(message, key))
        return NULL;
    *bytes = json_string_decode(message->body, message->lookup.value[key], out, capacity);
    return out;
}

// --- The list

void gate_methods_list(struct shard *shard, const struct message *message) {
    static const char none[] = "{\"approvals\":[]}";
    char checkpoint[METHOD_BYTES_MAX];
    size_t bytes;
    const char *named = read_text(message, KEY_CHECKPOINT, checkpoint, sizeof checkpoint, &bytes);
    if (refuse_unauthorized(shard, message))
        return;
    if (bytes == SIZE_MAX || (!named && lookup_has(&message->lookup, KEY_CHECKPOINT)))
        refuse_field(shard, message, "params.checkpoint", "a string of up to 255 bytes");
    else if (message_is_request(message) && gate_of(shard))
        gate_query_list(shard, message, named, bytes);
    else if (message_is_request(message))
        reply_result(shard, message->peer, message_reply_to(message), none, sizeof none - 1);
}

// --- Decisions

static void answer_without_gate(struct shard *shard, const struct message *message,
                                const struct gate_query_decision *decision) {
    struct text result;
    assert(!gate_of(shard) && decision->checkpoint);
    text_init(&result);
    text_put(&result, "{\"checkpoint\":");
    text_string(&result, decision->checkpoint, decision->checkpoint_bytes);
    text_put(&result, ",\"applied\":false}");
    message_reply(shard, message, &result);
}

// Refuses a decision if the journal can't be written. Returns whether the decision was refused.
static bool refuse_unrecorded(struct shard *shard, const struct message *message) {
    if (!journal_is_on(shard) || journal_is_writable(shard, message->frame->body.bytes))
        return false;
    struct text data;
    text_init(&data);
    reply_data_text(&data, "fault", "the journal can't be written");
    stats_count(&shard->stats, COUNT_JOURNAL_REFUSED);
    refuse(shard, message, ERROR_AUDIT, &data);
    return true;
}

static void forward_decision(struct shard *shard, const struct message *message,
                             const struct gate_query_decision *decision) {
    assert(decision->checkpoint && decision->decision < DECISIONS_COUNT);
    if (gate_of(shard) && !refuse_unrecorded(shard, message))
        gate_query_decide(shard, message, decision);
    else if (!gate_of(shard))
        answer_without_gate(shard, message, decision);
}

// Reads a decision and forwards it. An approver's name that is too long is ignored, and the connection's name replaces
// it.
static void read_and_forward(struct shard *shard, const struct message *message, enum decision allowed) {
    char checkpoint[METHOD_BYTES_MAX], approver[METHOD_BYTES_MAX], feedback[GATE_FEEDBACK_BYTES_MAX];
    struct gate_query_decision decision = {.decision = allowed};
    struct ruling *ruling = &decision.ruling;
    assert(is_of_the_gate(message) && allowed < DECISIONS_COUNT);
    decision.checkpoint =
        read_text(message, KEY_CHECKPOINT, checkpoint, sizeof checkpoint, &decision.checkpoint_bytes);
    ruling->approver = read_text(message, KEY_APPROVER, approver, sizeof approver, &ruling->approver_bytes);
    ruling->feedback = read_text(message, KEY_FEEDBACK, feedback, sizeof feedback, &ruling->feedback_bytes);
    if (ruling->approver_bytes == SIZE_MAX) {
        ruling->approver = NULL;
        ruling->approver_bytes = 0;
    }
    if (decision.checkpoint_bytes == SIZE_MAX)
        refuse_field(shard, message, "params.checkpoint", "a string of up to 255 bytes");
    else if (ruling->feedback_bytes == SIZE_MAX ||
             (!ruling->feedback && lookup_has(&message->lookup, KEY_FEEDBACK)))
        refuse_field(shard, message, "params.feedback", "a string of up to 4096 bytes");
    else
        forward_decision(shard, message, &decision);
}

// Not inlined, so that gate_methods_decide stays short for all messages that are no decisions.
static __attribute__((noinline)) bool gate_methods_take(struct shard *shard, const struct message *message) {
    if (!is_of_the_gate(message))
        return false;
    enum decision decision = read_decision(message);
    if (refuse_unauthorized(shard, message))
        return true;
    if (decision == DECISIONS_COUNT)
        refuse_field(shard, message, "params.decision", "approved, rejected or needs_revision");
    else
        read_and_forward(shard, message, decision);
    return true;
}

bool gate_methods_refuse(struct shard *shard, const struct message *message) {
    return message_method_is(message, "governance/approval") && is_of_the_gate(message) &&
           refuse_unauthorized(shard, message);
}

bool gate_methods_remote(struct shard *shard, const struct message *message, struct gate_place *place) {
    struct checkpoint checkpoint;
    if (message->origin || !message_method_is(message, "governance/approval") || !is_of_the_gate(message) ||
        !authz_may_decide(shard, message->peer) || read_decision(message) == DECISIONS_COUNT)
        return false;
    size_t bytes = json_string_decode(message->body, message->lookup.value[KEY_CHECKPOINT], place->checkpoint,
                                      sizeof place->checkpoint);
    place->bytes = bytes;
    return bytes != SIZE_MAX &&
           gate_json_read_checkpoint(shard, place->checkpoint, bytes, &checkpoint, &place->hub) &&
           place->hub.bytes;
}

bool gate_methods_decide(struct shard *shard, const struct message *message) {
    assert(message->lookup.verdict == LOOKUP_GOOD);
    return message_method_is(message, "governance/approval") && gate_methods_take(shard, message);
}
