#include "router/audit.h"

#include <string.h>

#include "core/journal_line.h"
#include "core/memory.h"
#include "core/schema.h"
#include "router/batch.h"
#include "router/refuse.h"
#include "router/validate.h"

static const char log_method[] = "audit/log", approval_method[] = "governance/approval";

// --- Lines

static void put_source(struct shard *shard, struct text *line, uint64_t connection) {
    char name[HUB_SESSION_BYTES];
    hub_session(shard->hub, connection, name);
    journal_line_name(line, "source");
    text_put(line, "{\"connection\":");
    text_string(line, name, sizeof name);
    text_put(line, ",\"agents\":[");
    const struct home *home = agents_home(&shard->agents, connection);
    for (struct list *node = home ? home->agents.next : NULL; home && node != &home->agents;
         node = node->next) {
        const struct agent *agent = list_entry(node, struct agent, by_home);
        text_put(line, node == home->agents.next ? "" : ",");
        text_string(line, agent->id, agent->id_bytes);
    }
    text_put(line, "]}");
}

// Which agent; where none was found, the one that the message names.
static void put_target(struct text *line, const struct message *message, const struct agent *agent) {
    struct span named = message->lookup.value[KEY_TARGET_AGENT];
    if (agent)
        journal_line_string(line, "target", agent->id, agent->id_bytes);
    else if (lookup_has(&message->lookup, KEY_TARGET_AGENT) && json_string_valid(message->body, named))
        journal_line_json(line, "target", message->body + named.at, named.bytes);
    else
        journal_line_string(line, "target", NULL, 0);
}

static void put_entry(struct text *line, const struct message *message) {
    struct span params = message->lookup.value[KEY_PARAMS];
    if (lookup_has(&message->lookup, KEY_PARAMS))
        journal_line_json(line, "entry", message->body + params.at, params.bytes);
    else
        journal_line_string(line, "entry", NULL, 0);
}

static void put_outcome(struct text *line, const char *outcome, enum error error) {
    journal_line_string(line, "outcome", outcome, strlen(outcome));
    if (error)
        journal_line_number(line, "code", error_code(error));
}

// Adds the members of what the source is told, an object that is still open.
static void put_members(struct text *line, const struct text *data) {
    text_put(line, ",");
    if (data->failed)
        line->failed = true;
    else
        text_add(line, data->bytes + 1, data->length - 1);
}

// An entry about a message whose line has begun, or NULL.
static struct entry *begin(struct shard *shard, const struct message *message, const char *kind,
                           const struct agent *agent) {
    struct entry *entry = entry_create(shard, message->peer->name);
    if (!entry)
        return NULL;
    journal_line_begin(&entry->line, io_wall_ms(shard->io), kind);
    put_source(shard, &entry->line, message->peer->name);
    put_target(&entry->line, message, agent);
    return entry;
}

// Ends a line. Without memory for all of it the entry is none.
static struct entry *finish(struct entry *entry) {
    journal_line_end(&entry->line);
    if (!entry->line.failed)
        return entry;
    entry_destroy(entry);
    return NULL;
}

static void submit_or_count(struct shard *shard, struct entry *entry) {
    if (entry && journal_has_room(shard)) {
        journal_submit(shard, entry);
        return;
    }
    if (entry)
        entry_destroy(entry);
    stats_count(&shard->stats, COUNT_JOURNAL_REFUSED);
}

// --- audit/log

static bool keep_reply_to(struct entry *entry, const struct message *message) {
    struct reply_to to = message_reply_to(message);
    if (!message_is_request(message) || lookup_has(&message->lookup, KEY_TARGET_AGENT))
        return true;
    entry->request_id = memory_take(to.id_bytes);
    if (!entry->request_id)
        return false;
    memcpy(entry->request_id, to.id, to.id_bytes);
    entry->request_id_bytes = to.id_bytes;
    entry->batch = to.batch;
    return true;
}

static struct entry *log_entry(struct shard *shard, const struct message *message) {
    struct entry *entry = begin(shard, message, "audit", NULL);
    if (!entry)
        return NULL;
    put_entry(&entry->line, message);
    if (keep_reply_to(entry, message))
        return finish(entry);
    entry_destroy(entry);
    return NULL;
}

static bool hand_in_log(struct shard *shard, const struct message *message) {
    struct entry *entry = log_entry(shard, message);
    if (!entry)
        return false;
    if (entry->request_id)
        message->peer->awaited++;
    journal_submit(shard, entry);
    return true;
}

static void answer(struct shard *shard, struct peer *peer, const struct entry *entry) {
    static const char logged[] = "{\"logged\":true}";
    struct reply_to to = {entry->request_id, entry->request_id_bytes, entry->batch};
    if (!entry->fault) {
        reply_result(shard, peer, to, logged, sizeof logged - 1);
        return;
    }
    struct text data;
    text_init(&data);
    reply_data_text(&data, "fault", audit_fault_text(entry->fault));
    reply_error(shard, peer, to, ERROR_AUDIT, &data);
}

// A peer that has half-closed stays until its entries have been answered.
static void settle_for_peer(struct shard *shard, const struct entry *entry) {
    struct peer *peer = peer_find(shard, entry->mail.connection);
    if (peer) {
        peer->awaited--;
        answer(shard, peer, entry);
        peer_settle(shard, peer);
    } else {
        reply_missed(shard, entry->mail.connection, (struct reply_to){.batch = entry->batch});
    }
}

void audit_settled(struct shard *shard, struct entry *entry) {
    shard->entries_out--;
    if (entry->request_id)
        settle_for_peer(shard, entry);
    entry_destroy(entry);
}

const char *audit_fault_text(int error) {
    const char *text = strerrordesc_np(error);
    return text ? text : "the journal could not be written";
}

// --- Judging

static bool is_method(const struct message *message, const char *name, size_t bytes) {
    return message->method_bytes == bytes && memcmp(message->method, name, bytes) == 0;
}

static enum message_audit audit_of(const struct message *message) {
    if (is_method(message, log_method, sizeof log_method - 1))
        return MESSAGE_AUDIT_LOG;
    return is_method(message, approval_method, sizeof approval_method - 1) ? MESSAGE_APPROVAL : MESSAGE_PLAIN;
}

// A batch owes an answer to a member that can't be read, be it a notification.
static void refuse_unreadable(struct shard *shard, struct message *message, const struct lookup *judged) {
    if (message->batch && !message_is_request(message))
        batch_expect(message->batch);
    message->lookup = *judged;
    refuse_body(shard, message);
}

// A strict hub has judged it already.
static bool refuse_invalid(struct shard *shard, struct message *message) {
    struct lookup judged;
    if (shard->settings->strict)
        return false;
    lookup_body_strict(&judged, message->body, message->frame->body.bytes, shard_limits(shard)->id_bytes_max);
    if (judged.verdict == LOOKUP_GOOD)
        return validate_refuse_strictly(shard, message);
    refuse_unreadable(shard, message, &judged);
    return true;
}

static void refuse_full(struct shard *shard, const struct message *message) {
    struct text data;
    text_init(&data);
    if (journal_has_room(shard)) {
        reply_data_text(&data, "fault", "memory is used up");
    } else {
        reply_data_text(&data, "fault", "the journal's queue is full");
        reply_data_number(&data, "limit", (int64_t)shard_limits(shard)->journal_bytes_max);
    }
    stats_count(&shard->stats, COUNT_JOURNAL_REFUSED);
    refuse(shard, message, ERROR_AUDIT, &data);
}

bool audit_begin(struct shard *shard, struct message *message) {
    enum message_audit audit = journal_is_on(shard) ? audit_of(message) : MESSAGE_PLAIN;
    if (audit == MESSAGE_PLAIN)
        return true;
    if (refuse_invalid(shard, message))
        return false;
    if (!journal_has_room(shard) || (audit == MESSAGE_AUDIT_LOG && !hand_in_log(shard, message))) {
        refuse_full(shard, message);
        return false;
    }
    message->audit = audit;
    return true;
}

// --- governance/approval

enum { OUTCOME_BYTES_MAX = 128 };

// The line that will tell how a request ended, made in advance, so that no end goes untold. There is room in
// it for what is still to come.
static struct mail *outcome_entry(struct shard *shard, const struct message *message,
                                  const struct agent *agent, uint64_t hub_id) {
    struct entry *entry = begin(shard, message, "outcome", agent);
    if (!entry)
        return NULL;
    journal_line_number(&entry->line, "request", (int64_t)hub_id);
    text_reserve(&entry->line, OUTCOME_BYTES_MAX);
    if (!entry->line.failed)
        return &entry->mail;
    entry_destroy(entry);
    return NULL;
}

static struct entry *approval_entry(struct shard *shard, const struct message *message,
                                    const struct agent *agent, uint64_t hub_id) {
    struct entry *entry = begin(shard, message, "approval", agent);
    if (!entry)
        return NULL;
    if (hub_id)
        journal_line_number(&entry->line, "request", (int64_t)hub_id);
    else
        put_outcome(&entry->line, "forwarded", ERROR_NONE);
    put_entry(&entry->line, message);
    return finish(entry);
}

bool audit_approval(struct shard *shard, const struct message *message, const struct agent *agent,
                    struct pending *pending) {
    if (message->audit != MESSAGE_APPROVAL)
        return true;
    uint64_t hub_id = pending ? pending_hub_id(&shard->pending, pending) : 0;
    struct mail *outcome = pending ? outcome_entry(shard, message, agent, hub_id) : NULL;
    struct entry *entry = approval_entry(shard, message, agent, hub_id);
    if (!entry || (pending && !outcome)) {
        if (entry)
            entry_destroy(entry);
        if (outcome)
            entry_destroy(list_entry(outcome, struct entry, mail));
        stats_count(&shard->stats, COUNT_JOURNAL_REFUSED);
        return false;
    }
    journal_submit(shard, entry);
    if (pending)
        pending->outcome = outcome;
    return true;
}

// The line that tells how the request ended, or NULL where nobody need know.
static struct entry *take_outcome(struct shard *shard, struct pending *pending) {
    if (!pending->outcome)
        return NULL;
    struct entry *entry = list_entry(pending->outcome, struct entry, mail);
    pending->outcome = NULL;
    journal_line_stamp(&entry->line, io_wall_ms(shard->io));
    return entry;
}

static void submit_outcome(struct shard *shard, struct entry *entry) {
    journal_line_end(&entry->line);
    journal_submit(shard, entry);
}

// Why an answer isn't written; NULL: it is. Its line must not fail for it, nor pass the bound of what waits.
static const char *fault_of(const struct shard *shard, struct entry *entry, const struct parcel *answer,
                            struct span *value) {
    const uint8_t *body = answer->buffer->bytes + answer->body.at;
    struct lookup judged;
    lookup_body_strict(&judged, body, answer->body.bytes, shard_limits(shard)->id_bytes_max);
    if (judged.verdict != LOOKUP_GOOD || !schema_outcome_fits(body, &judged))
        return "not what strict validation lets pass";
    *value = judged.value[lookup_has(&judged, KEY_ERROR) ? KEY_ERROR : KEY_RESULT];
    if (value->bytes > JOURNAL_ANSWER_BYTES_MAX)
        return "too large";
    if (!journal_has_room(shard))
        return "the journal's queue is full";
    return text_try_reserve(&entry->line, value->bytes + OUTCOME_BYTES_MAX) ? NULL : "memory is used up";
}

void audit_answered(struct shard *shard, struct pending *pending, const struct parcel *parcel) {
    struct entry *entry = take_outcome(shard, pending);
    if (!entry)
        return;
    const char *name = parcel->mail.detail ? "error" : "result";
    struct span value;
    const char *fault = fault_of(shard, entry, parcel, &value);
    put_outcome(&entry->line, name, ERROR_NONE);
    if (!fault) {
        journal_line_json(&entry->line, name, parcel->buffer->bytes + parcel->body.at + value.at,
                          value.bytes);
    } else {
        journal_line_string(&entry->line, "fault", fault, strlen(fault));
        journal_line_number(&entry->line, "bytes", parcel->body.bytes);
    }
    submit_outcome(shard, entry);
}

void audit_ended(struct shard *shard, struct pending *pending, enum error error) {
    struct entry *entry = take_outcome(shard, pending);
    if (!entry)
        return;
    put_outcome(&entry->line, error ? "failed" : "source left", error);
    submit_outcome(shard, entry);
}

// --- Refusals

void audit_refused(struct shard *shard, const struct message *message, enum error error) {
    if (message->audit != MESSAGE_APPROVAL)
        return;
    struct entry *entry = begin(shard, message, "approval", NULL);
    if (entry) {
        put_outcome(&entry->line, "refused", error);
        put_entry(&entry->line, message);
        entry = finish(entry);
    }
    submit_or_count(shard, entry);
}

void audit_refusal(struct shard *shard, const struct message *message, enum error error,
                   const struct agent *agent, const struct text *data) {
    if (!journal_is_on(shard))
        return;
    struct entry *entry = begin(shard, message, "refusal", agent);
    if (entry) {
        journal_line_string(&entry->line, "method", message->method_long ? NULL : message->method,
                            message->method_bytes);
        journal_line_number(&entry->line, "code", error_code(error));
        put_members(&entry->line, data);
        entry = finish(entry);
    }
    submit_or_count(shard, entry);
}
