#include "router/features/gate/gate_query.h"

#include <assert.h>
#include <string.h>

#include "core/rights/users.h"
#include "router/engine/request/refuse.h"
#include "router/engine/shard/post.h"
#include "router/features/gate/approver.h"
#include "router/features/gate/gate_json.h"

enum found { FOUND_NOTHING, FOUND_APPLIED, FOUND_OWN };

struct gate_query {
    struct mail mail; // its connection: who asks
    const struct user *user;
    struct exchange *exchange;
    bool is_list, is_request;
    bool is_remote; // another hub's approver decides
    bool names_one; // there may be something under its checkpoint
    bool is_over;   // it need go nowhere else
    struct checkpoint checkpoint;
    // A decision.
    enum decision decision;
    enum found found;
    bool has_target; // what was found
    uint8_t target_bytes;
    char target[METHOD_BYTES_MAX];
    // A list.
    struct text list;
    size_t room;
    bool lacks_room, lacks_memory;
    // Texts of its own.
    const char *id, *name;
    uint32_t id_bytes, name_bytes;
    struct ruling ruling;
    char texts[];
};

// --- Making one

static const char *keep(char **to, const void *text, size_t bytes) {
    char *kept = *to;
    if (bytes)
        memcpy(kept, text, bytes);
    *to += bytes;
    return text ? kept : NULL;
}

// NULL when the message was refused.
static struct gate_query *make(struct shard *shard, const struct message *message, const char *name,
                               size_t name_bytes, const struct ruling *ruling) {
    struct reply_to to = message_is_request(message) ? message_reply_to(message) : (struct reply_to){0};
    size_t bytes = to.id_bytes + name_bytes + ruling->approver_bytes + ruling->feedback_bytes;
    struct gate_query *errand = quota_take(&shard->quota, sizeof *errand + bytes);
    if (!errand) {
        refuse_keeping(shard, message, NULL);
        return NULL;
    }
    *errand = (struct gate_query){.exchange = to.exchange, .is_request = message_is_request(message)};
    errand->mail.connection = message->peer->name;
    errand->user = approver_of(message->peer).user;
    errand->id_bytes = to.id_bytes;
    errand->name_bytes = (uint32_t)name_bytes;
    struct hub_name elsewhere = {.bytes = 0};
    errand->is_remote = message->origin != NULL;
    errand->names_one = name &&
                        gate_json_read_checkpoint(shard, name, name_bytes, &errand->checkpoint, &elsewhere) &&
                        !elsewhere.bytes;
    errand->ruling = *ruling;
    char *at = errand->texts;
    errand->id = keep(&at, to.id, to.id_bytes);
    errand->name = keep(&at, name, name_bytes);
    errand->ruling.approver = keep(&at, ruling->approver, ruling->approver_bytes);
    errand->ruling.feedback = keep(&at, ruling->feedback, ruling->feedback_bytes);
    assert(at == errand->texts + bytes);
    return errand;
}

// --- At home

static void answer_decision(struct shard *shard, struct peer *peer, struct reply_to to,
                            const struct gate_query *errand) {
    struct text text;
    text_init(&text);
    assert(errand->is_request && errand->name);
    if (errand->found == FOUND_OWN) {
        reply_data_text(&text, "rule", "own");
        reply_error(shard, peer, to, ERROR_NOT_ALLOWED, &text);
        return;
    }
    text_put(&text, "{\"checkpoint\":");
    text_string(&text, errand->name, errand->name_bytes);
    text_put(&text, errand->found == FOUND_APPLIED ? ",\"applied\":true}" : ",\"applied\":false}");
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
                        struct gate_query *errand) {
    assert(errand->is_list && errand->room > 0);
    text_put(&errand->list, errand->list.length ? "]}" : "{\"approvals\":[]}");
    if (errand->lacks_room || (!errand->list.failed && errand->list.length > errand->room))
        reply_too_large(shard, peer, to);
    else if (errand->lacks_memory || errand->list.failed)
        refuse_list(shard, peer, to);
    else
        reply_result(shard, peer, to, errand->list.bytes, errand->list.length);
}

static void answer(struct shard *shard, struct gate_query *errand) {
    struct reply_to to = {errand->id, errand->id_bytes, errand->exchange};
    struct peer *peer = peer_find(shard, errand->mail.connection);
    if (!peer) {
        reply_missed(shard, errand->mail.connection, to);
        return;
    }
    assert(peer->awaited > 0);
    peer->awaited--;
    if (errand->is_list)
        answer_list(shard, peer, to, errand);
    else
        answer_decision(shard, peer, to, errand);
    peer_settle(shard, peer);
}

static void note(struct shard *shard, const struct gate_query *errand) {
    static const char *const outcomes[] = {"not applied", "applied", "refused"};
    assert(!errand->is_list && errand->found <= FOUND_OWN);
    struct gate_audit_entry noted = {
        .target = errand->has_target ? errand->target : NULL,
        .target_bytes = errand->target_bytes,
        .checkpoint = errand->name,
        .checkpoint_bytes = errand->name_bytes,
        .decision = decision_text(errand->decision),
        .ruling = &errand->ruling,
        .outcome = outcomes[errand->found],
        .error = errand->found == FOUND_OWN ? ERROR_NOT_ALLOWED : ERROR_NONE,
    };
    gate_audit_decision(shard, (struct approver){errand->mail.connection, errand->user}, &noted);
}

static void gate_query_end(struct shard *shard, struct gate_query *errand) {
    assert(shard->gate->errands_out > 0);
    shard->gate->errands_out--;
    if (!errand->is_list)
        note(shard, errand);
    if (errand->is_request)
        answer(shard, errand);
    text_deinit(&errand->list);
    quota_give(&shard->quota, errand);
}

// --- On its way

// While it is still there.
static void note_target(struct gate_query *errand, const struct held_message *held) {
    char decoded[METHOD_BYTES_MAX];
    size_t bytes;
    const char *target = gate_json_target(held, decoded, &bytes);
    static_assert(METHOD_BYTES_MAX <= UINT8_MAX && AGENT_ID_BYTES_MAX <= METHOD_BYTES_MAX, "it has room");
    errand->has_target = target != NULL;
    errand->target_bytes = (uint8_t)bytes;
    if (target)
        memcpy(errand->target, target, bytes);
}

static void apply(struct shard *shard, struct gate_query *errand, struct held_message *held) {
    assert(!held->is_released);
    errand->is_over = true;
    note_target(errand, held);
    struct approver source = {held->source, held->user}, decider = {errand->mail.connection, errand->user};
    bool by_user = source.user || decider.user; // else another hub's connections are known there
    if ((by_user || !errand->is_remote) && approver_is_same(source, decider)) {
        errand->found = FOUND_OWN;
    } else if (peer_find(shard, held->source)) { // else it is about to go
        errand->found = FOUND_APPLIED;
        gate_hold_decide(shard, held, errand->decision, &errand->ruling);
    }
}

static void add(struct shard *shard, struct gate_query *errand, const struct held_message *held) {
    struct text *out = &errand->list;
    assert(errand->is_list && !errand->is_over);
    size_t bytes = out->length + gate_json_bytes(held, errand->name != NULL);
    errand->lacks_room = bytes > errand->room;
    errand->lacks_memory = !buffer_budget_has_room(&shard->hub->budget, 2 * bytes, BUDGET_MESSAGE);
    errand->is_over = errand->lacks_room || errand->lacks_memory;
    if (errand->is_over)
        return;
    text_put(out, out->length ? "," : "{\"approvals\":[");
    gate_json_put(out, shard, held, errand->name != NULL);
}

static void list_all(struct shard *shard, struct gate_query *errand) {
    const struct list *all = &shard->gate->held;
    assert(errand->is_list && !errand->name);
    for (struct list *node = all->next; node != all && !errand->is_over; node = node->next)
        add(shard, errand, list_entry(node, struct held_message, by_age));
}

static void visit(struct shard *shard, struct gate_query *errand) {
    struct held_message *held = errand->names_one ? gate_find(shard->gate, &errand->checkpoint) : NULL;
    assert(!errand->is_over);
    if (errand->is_list && !errand->name)
        list_all(shard, errand);
    else if (errand->is_list && held)
        add(shard, errand, held);
    else if (held)
        apply(shard, errand, held);
}

static void go_on(struct shard *shard, struct gate_query *errand) {
    uint32_t home = connection_shard(errand->mail.connection);
    visit(shard, errand);
    assert(home < shard->hub->settings.shard_count);
    uint32_t next = (shard->index + 1) % shard->hub->settings.shard_count;
    bool nothing_more = errand->is_over || (errand->name && !errand->names_one);
    if (nothing_more)
        next = home;
    if (next == home && shard->index == home) {
        gate_query_end(shard, errand);
        return;
    }
    errand->mail.kind = MAIL_ERRAND;
    mailbox_post(hub_mailbox(shard->hub, shard->index, next), &errand->mail);
}

void gate_query_arrived(struct shard *shard, struct mail *mail) {
    struct gate_query *errand = list_entry(mail, struct gate_query, mail);
    assert(mail->kind == MAIL_ERRAND && shard->gate);
    if (connection_shard(mail->connection) == shard->index)
        gate_query_end(shard, errand);
    else
        go_on(shard, errand);
}

static void begin(struct shard *shard, const struct message *message, struct gate_query *errand) {
    assert(connection_shard(errand->mail.connection) == shard->index);
    shard->gate->errands_out++;
    message->peer->awaited += errand->is_request;
    go_on(shard, errand);
}

void gate_query_decide(struct shard *shard, const struct message *message,
                       const struct gate_query_decision *decision) {
    struct ruling ruling = decision->ruling;
    assert(decision->checkpoint && decision->decision < DECISIONS_COUNT);
    char session[HUB_SESSION_BYTES];
    const struct user *user = approver_of(message->peer).user;
    if (user) {
        ruling.approver = user->name;
        ruling.approver_bytes = strlen(user->name);
    } else if (!ruling.approver) {
        hub_session(shard->hub, message->peer->name, session);
        ruling.approver = session;
        ruling.approver_bytes = sizeof session;
    }
    struct gate_query *errand =
        make(shard, message, decision->checkpoint, decision->checkpoint_bytes, &ruling);
    if (!errand)
        return;
    errand->decision = decision->decision;
    begin(shard, message, errand);
}

void gate_query_list(struct shard *shard, const struct message *message, const char *checkpoint,
                     size_t checkpoint_bytes) {
    assert(message_is_request(message));
    struct gate_query *errand = make(shard, message, checkpoint, checkpoint_bytes, &(struct ruling){0});
    if (!errand)
        return;
    errand->is_list = true;
    errand->room = message_room(shard, message);
    begin(shard, message, errand);
}
