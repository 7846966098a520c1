// Judges messages that the journal takes (router/audit), before they are routed, and hands audit/log requests to the
// journal. A request without a target is answered when its entry is on disk. Agents that offer the method get a
// notification.

#include <assert.h>
#include <string.h>

#include "core/base/memory.h"
#include "router/audit/audit.h"
#include "router/engine/request/refuse.h"
#include "router/engine/request/validate.h"
#include "router/engine/send/exchange.h"
#include "router/engine/shard/feature_call.h"
#include "router/features/feature_list.h"

static bool keep_reply_to(struct journal_entry *entry, const struct message *message) {
    struct reply_to to = message_reply_to(message);
    assert(!entry->request_id);
    if (!message_is_request(message) || message_has_target(message))
        return true;
    entry->request_id = memory_take(to.id_bytes);
    if (!entry->request_id)
        return false;
    memcpy(entry->request_id, to.id, to.id_bytes);
    entry->request_id_bytes = to.id_bytes;
    entry->exchange = to.exchange;
    return true;
}

static struct journal_entry *log_entry(struct shard *shard, const struct message *message) {
    struct journal_entry *entry = audit_entry(shard, message, "audit", NULL);
    if (!entry)
        return NULL;
    audit_put_entry(&entry->line, message);
    if (keep_reply_to(entry, message))
        return audit_finish(entry);
    journal_entry_destroy(entry);
    return NULL;
}

static bool hand_in_log(struct shard *shard, const struct message *message) {
    struct journal_entry *entry = log_entry(shard, message);
    if (!entry)
        return false;
    if (entry->request_id) {
        message->peer->awaited++;
        feature_log_began(shard, message, &entry->observation);
    }
    journal_submit(shard, entry);
    return true;
}

static void answer(struct shard *shard, struct peer *peer, const struct journal_entry *entry) {
    static const char logged[] = "{\"logged\":true}";
    struct reply_to to = {entry->request_id, entry->request_id_bytes, entry->exchange};
    assert(entry->request_id && entry->request_id_bytes);
    if (!entry->fault) {
        reply_result(shard, peer, to, logged, sizeof logged - 1);
        return;
    }
    struct text data;
    text_init(&data);
    reply_data_text(&data, "fault", journal_fault_text(entry->fault));
    reply_error(shard, peer, to, ERROR_AUDIT, &data);
}

// A peer that has half-closed stays until its entries have been answered.
static void settle_for_peer(struct shard *shard, const struct journal_entry *entry) {
    struct peer *peer = peer_find(shard, entry->mail.connection);
    if (entry->observation)
        feature_log_ended(shard, entry->observation, entry->fault ? ERROR_AUDIT : ERROR_NONE, !peer);
    if (peer) {
        assert(peer->awaited > 0);
        peer->awaited--;
        answer(shard, peer, entry);
        peer_settle(shard, peer);
    } else {
        reply_missed(shard, entry->mail.connection, (struct reply_to){.exchange = entry->exchange});
    }
}

static void settle_entry(struct shard *shard, struct journal_entry *entry) {
    assert(shard->entries_out > 0 && entry->shard == shard->index);
    shard->entries_out--;
    if (entry->request_id)
        settle_for_peer(shard, entry);
    journal_entry_destroy(entry);
}

// Answers whoever waits for entries that have come home.
static void settle(struct shard *shard) {
    while (shard->settled) {
        struct journal_entry *entry = shard->settled;
        shard->settled = entry->next;
        settle_entry(shard, entry);
    }
}

// --- Judging

static enum message_audit audit_of(const struct message *message) {
    if (message_method_is(message, "audit/log"))
        return MESSAGE_AUDIT_LOG;
    return message_method_is(message, "governance/approval") ? MESSAGE_APPROVAL : MESSAGE_PLAIN;
}

// A batch owes an answer to a member that can't be read, be it a notification.
static void refuse_unreadable(struct shard *shard, struct message *message, const struct lookup *lookup) {
    assert(lookup->verdict != LOOKUP_GOOD);
    if (message->exchange && !message_is_request(message))
        exchange_expect(message->exchange);
    message->lookup = *lookup;
    refuse_body(shard, message);
}

// A strict hub has judged it already.
static bool refuse_invalid(struct shard *shard, struct message *message) {
    struct lookup lookup;
    if (shard->settings->strict)
        return false;
    lookup_body_strict(&lookup, message->body, message->frame->body.bytes, shard_limits(shard)->id_bytes_max);
    if (lookup.verdict == LOOKUP_GOOD)
        return validate_refuse_strictly(shard, message);
    refuse_unreadable(shard, message, &lookup);
    return true;
}

static void refuse_unrecorded(struct shard *shard, const struct message *message, bool is_writable) {
    struct text data;
    text_init(&data);
    if (!is_writable) {
        reply_data_text(&data, "fault", "the journal can't be written");
    } else if (journal_has_room(shard)) {
        reply_data_text(&data, "fault", "memory is used up");
    } else {
        reply_data_text(&data, "fault", "the journal's queue is full");
        reply_data_number(&data, "limit", (int64_t)shard_limits(shard)->journal_bytes_max);
    }
    stats_count(&shard->stats, COUNT_JOURNAL_REFUSED);
    refuse(shard, message, ERROR_AUDIT, &data);
}

// Judges a message that the journal takes as strict validation does. Refuses the message also if the journal has no
// room for its entry.
static bool refuse_call(struct shard *shard, struct message *message) {
    assert(message->audit == MESSAGE_PLAIN);
    enum message_audit audit = audit_of(message);
    if (audit == MESSAGE_PLAIN)
        return false;
    if (refuse_invalid(shard, message))
        return true;
    bool is_writable = audit == MESSAGE_AUDIT_LOG ? !journal_is_failing(shard)
                                                  : journal_is_writable(shard, message->frame->body.bytes);
    bool may_enter = journal_has_room(shard) && (is_writable || audit == MESSAGE_AUDIT_LOG);
    if (!may_enter || (audit == MESSAGE_AUDIT_LOG && !hand_in_log(shard, message))) {
        refuse_unrecorded(shard, message, is_writable);
        return true;
    }
    message->audit = audit;
    if (audit == MESSAGE_AUDIT_LOG && !message_has_target(message)) // the answer is settle_for_peer's
        message->lookup.kind = BODY_NOTIFICATION;
    return false;
}

// --- The registration

static bool is_on(const struct hub_settings *settings) {
    return settings->journal != NULL;
}

const struct feature audit_feature = {
    .name = "audit",
    .is_on = is_on,
    .refuse_call = refuse_call,
    .entries_settled = settle,
};
