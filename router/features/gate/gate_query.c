#include "router/features/gate/gate_query.h"

#include <assert.h>
#include <string.h>

#include "core/rights/users.h"
#include "router/engine/request/refuse.h"
#include "router/engine/shard/feature.h"
#include "router/engine/shard/post.h"
#include "router/features/feature_list.h"
#include "router/features/gate/gate_json.h"
#include "router/rights/authz.h"

enum found { FOUND_NOTHING, FOUND_APPLIED, FOUND_OWN };

struct gate_query {
    struct mail mail; // mail.connection: the connection that asks
    const struct user *user;
    struct exchange *exchange;
    bool is_list, is_request;
    bool is_remote; // an approver of another hub decides
    bool names_one; // the checkpoint may be one of this hub
    bool is_final;  // the query needs no other shard
    struct checkpoint checkpoint;
    // For a decision:
    enum decision decision;
    enum found found;
    bool has_target; // `target` is the held message's target
    uint8_t target_bytes;
    char target[METHOD_BYTES_MAX];
    // For a list:
    struct text list;
    size_t bytes_max;
    bool is_full, lacks_memory;
    // Texts in `texts`.
    const char *id, *name;
    uint32_t id_bytes, name_bytes;
    struct ruling ruling;
    char texts[];
};

// --- Begin

static const char *copy_text(char **to, const void *text, size_t bytes) {
    char *copied = *to;
    if (bytes)
        memcpy(copied, text, bytes);
    *to += bytes;
    return text ? copied : NULL;
}

// Makes a query. Returns NULL if the message was refused.
static struct gate_query *make(struct shard *shard, const struct message *message, const char *name,
                               size_t name_bytes, const struct ruling *ruling) {
    struct reply_to to = message_is_request(message) ? message_reply_to(message) : (struct reply_to){0};
    size_t bytes = to.id_bytes + name_bytes + ruling->approver_bytes + ruling->feedback_bytes;
    struct gate_query *query = quota_take(&shard->quota, sizeof *query + bytes);
    if (!query) {
        refuse_without_quota(shard, message, NULL);
        return NULL;
    }
    *query = (struct gate_query){.exchange = to.exchange, .is_request = message_is_request(message)};
    query->mail.connection = message->peer->connection_id;
    query->user = authz_approver(message->peer).user;
    query->id_bytes = to.id_bytes;
    query->name_bytes = (uint32_t)name_bytes;
    struct hub_name other_hub = {.bytes = 0};
    query->is_remote = message->origin != NULL;
    query->names_one = name &&
                       gate_json_read_checkpoint(shard, name, name_bytes, &query->checkpoint, &other_hub) &&
                       !other_hub.bytes;
    query->ruling = *ruling;
    char *at = query->texts;
    query->id = copy_text(&at, to.id, to.id_bytes);
    query->name = copy_text(&at, name, name_bytes);
    query->ruling.approver = copy_text(&at, ruling->approver, ruling->approver_bytes);
    query->ruling.feedback = copy_text(&at, ruling->feedback, ruling->feedback_bytes);
    assert(at == query->texts + bytes);
    return query;
}

// --- End, on the shard of the connection

static void answer_decision(struct shard *shard, struct peer *peer, struct reply_to to,
                            const struct gate_query *query) {
    struct text text;
    text_init(&text);
    assert(query->is_request && query->name);
    if (query->found == FOUND_OWN) {
        reply_data_text(&text, "rule", "own");
        reply_error(shard, peer, to, ERROR_NOT_ALLOWED, &text);
        return;
    }
    text_put(&text, "{\"checkpoint\":");
    text_string(&text, query->name, query->name_bytes);
    text_put(&text, query->found == FOUND_APPLIED ? ",\"applied\":true}" : ",\"applied\":false}");
    if (text.failed)
        reply_failed(shard, peer, to);
    else
        reply_result(shard, peer, to, text.bytes, text.length);
    text_deinit(&text);
}

static void refuse_list(struct shard *shard, struct peer *peer, struct reply_to to) {
    struct text data;
    text_init(&data);
    reply_data_text(&data, "fault", "there is no memory for the list");
    reply_error(shard, peer, to, ERROR_OVERLOADED, &data);
}

static void answer_list(struct shard *shard, struct peer *peer, struct reply_to to,
                        struct gate_query *query) {
    assert(query->is_list && query->bytes_max > 0);
    text_put(&query->list, query->list.length ? "]}" : "{\"approvals\":[]}");
    if (query->is_full || (!query->list.failed && query->list.length > query->bytes_max))
        reply_too_large(shard, peer, to);
    else if (query->lacks_memory || query->list.failed)
        refuse_list(shard, peer, to);
    else
        reply_result(shard, peer, to, query->list.bytes, query->list.length);
}

static void answer(struct shard *shard, struct gate_query *query) {
    struct reply_to to = {query->id, query->id_bytes, query->exchange};
    struct peer *peer = peer_find(shard, query->mail.connection);
    if (!peer) {
        reply_missed(shard, query->mail.connection, to);
        return;
    }
    assert(peer->awaited > 0);
    peer->awaited--;
    if (query->is_list)
        answer_list(shard, peer, to, query);
    else
        answer_decision(shard, peer, to, query);
    peer_settle(shard, peer);
}

static void record_decision(struct shard *shard, const struct gate_query *query) {
    static const char *const outcomes[] = {"not applied", "applied", "refused"};
    assert(!query->is_list && query->found <= FOUND_OWN);
    struct gate_audit_entry record = {
        .target = query->has_target ? query->target : NULL,
        .target_bytes = query->target_bytes,
        .checkpoint = query->name,
        .checkpoint_bytes = query->name_bytes,
        .decision = decision_text(query->decision),
        .ruling = &query->ruling,
        .outcome = outcomes[query->found],
        .error = query->found == FOUND_OWN ? ERROR_NOT_ALLOWED : ERROR_NONE,
    };
    gate_audit_decision(shard, (struct approver){query->mail.connection, query->user}, &record);
}

static void gate_query_end(struct shard *shard, struct gate_query *query) {
    assert(gate_of(shard)->queries_out > 0);
    gate_of(shard)->queries_out--;
    if (!query->is_list)
        record_decision(shard, query);
    if (query->is_request)
        answer(shard, query);
    text_deinit(&query->list);
    quota_give(&shard->quota, query);
}

// --- On each shard

// Copies the held message's target before the message ends.
static void note_target(struct gate_query *query, const struct held_message *held) {
    char decoded[METHOD_BYTES_MAX];
    size_t bytes;
    const char *target = gate_json_target(held, decoded, &bytes);
    static_assert(METHOD_BYTES_MAX <= UINT8_MAX && AGENT_ID_BYTES_MAX <= METHOD_BYTES_MAX, "it has room");
    query->has_target = target != NULL;
    query->target_bytes = (uint8_t)bytes;
    if (target)
        memcpy(query->target, target, bytes);
}

static void apply(struct shard *shard, struct gate_query *query, struct held_message *held) {
    assert(!held->is_released);
    query->is_final = true;
    note_target(query, held);
    struct approver source = {held->source, held->user}, decider = {query->mail.connection, query->user};
    // Without users, connections of other hubs are compared at their hub
    bool by_user = source.user || decider.user;
    if ((by_user || !query->is_remote) && authz_is_same_approver(source, decider)) {
        query->found = FOUND_OWN;
    } else if (peer_find(shard, held->source)) { // otherwise the source's peer is ending
        query->found = FOUND_APPLIED;
        gate_hold_decide(shard, held, query->decision, &query->ruling);
    }
}

static void add(struct shard *shard, struct gate_query *query, const struct held_message *held) {
    struct text *out = &query->list;
    assert(query->is_list && !query->is_final);
    size_t bytes = out->length + gate_json_bytes(held, query->name != NULL);
    query->is_full = bytes > query->bytes_max;
    query->lacks_memory = !buffer_budget_has_room(&shard->hub->budget, 2 * bytes, BUDGET_MESSAGE);
    query->is_final = query->is_full || query->lacks_memory;
    if (query->is_final)
        return;
    text_put(out, out->length ? "," : "{\"approvals\":[");
    gate_json_put(out, shard, held, query->name != NULL);
}

static void list_all(struct shard *shard, struct gate_query *query) {
    const struct list *all = &gate_of(shard)->held;
    assert(query->is_list && !query->name);
    for (struct list *node = all->next; node != all && !query->is_final; node = node->next)
        add(shard, query, list_entry(node, struct held_message, by_age));
}

static void visit(struct shard *shard, struct gate_query *query) {
    struct held_message *held = query->names_one ? gate_find(gate_of(shard), &query->checkpoint) : NULL;
    assert(!query->is_final);
    if (query->is_list && !query->name)
        list_all(shard, query);
    else if (query->is_list && held)
        add(shard, query, held);
    else if (held)
        apply(shard, query, held);
}

static void pass_on(struct shard *shard, struct gate_query *query) {
    uint32_t home = connection_shard(query->mail.connection);
    visit(shard, query);
    assert(home < shard->hub->start_settings.shard_count);
    uint32_t next = (shard->index + 1) % shard->hub->start_settings.shard_count;
    bool is_last = query->is_final || (query->name && !query->names_one);
    if (is_last)
        next = home;
    if (next == home && shard->index == home) {
        gate_query_end(shard, query);
        return;
    }
    query->mail.kind = FEATURE_KIND(FEATURE_GATE, GATE_MAIL_QUERY);
    mailbox_post(hub_mailbox(shard->hub, shard->index, next), &query->mail);
}

void gate_query_arrived(struct shard *shard, struct mail *mail) {
    struct gate_query *query = list_entry(mail, struct gate_query, mail);
    assert(gate_of(shard));
    if (connection_shard(mail->connection) == shard->index)
        gate_query_end(shard, query);
    else
        pass_on(shard, query);
}

static void begin(struct shard *shard, const struct message *message, struct gate_query *query) {
    assert(connection_shard(query->mail.connection) == shard->index);
    gate_of(shard)->queries_out++;
    message->peer->awaited += query->is_request;
    pass_on(shard, query);
}

void gate_query_decide(struct shard *shard, const struct message *message,
                       const struct gate_query_decision *decision) {
    struct ruling ruling = decision->ruling;
    assert(decision->checkpoint && decision->decision < DECISIONS_COUNT);
    char session[HUB_SESSION_BYTES];
    const struct user *user = authz_approver(message->peer).user;
    if (user) {
        ruling.approver = user->name;
        ruling.approver_bytes = strlen(user->name);
    } else if (!ruling.approver) {
        hub_session(shard->hub, message->peer->connection_id, session);
        ruling.approver = session;
        ruling.approver_bytes = sizeof session;
    }
    struct gate_query *query =
        make(shard, message, decision->checkpoint, decision->checkpoint_bytes, &ruling);
    if (!query)
        return;
    query->decision = decision->decision;
    begin(shard, message, query);
}

void gate_query_list(struct shard *shard, const struct message *message, const char *checkpoint,
                     size_t checkpoint_bytes) {
    assert(message_is_request(message));
    struct gate_query *query = make(shard, message, checkpoint, checkpoint_bytes, &(struct ruling){0});
    if (!query)
        return;
    query->is_list = true;
    query->bytes_max = message_room(shard, message);
    begin(shard, message, query);
}
