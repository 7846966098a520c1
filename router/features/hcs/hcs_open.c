#include "router/features/hcs/hcs_open.h"

#include <assert.h>
#include <string.h>

#include "core/agents/rules.h"
#include "core/rights/users.h"
#include "router/audit/audit.h"
#include "router/engine/send/reply.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/identity.h"
#include "router/features/hcs/hcs_frames.h"
#include "router/features/hcs/hcs_session.h"
#include "router/features/hcs/hcs_shard.h"
#include "router/rights/authz.h"

static const char capability[] = "hcs", default_target[] = "@hcs";

// --- Refusing

static void drop_start(struct shard *shard, struct hcs_client *client) {
    assert(!client->session);
    if (client->start)
        send_release(shard, client->start);
    client->start = NULL;
}

static void return_start(struct shard *shard, struct hcs_client *client, enum hcs_refusal refusal) {
    drop_start(shard, client);
    client->mail.detail = (uint8_t)refusal;
    hcs_mail_post(shard, connection_shard(client->connection), &client->mail, HCS_MAIL_HOME);
}

static void hcs_open_refuse(struct shard *shard, struct hcs_client *client, enum hcs_frames_code code,
                            const char *message, bool retriable) {
    struct hcs_frame_subject subject = {client->is_generated ? NULL : hcs_client_id(client),
                                        hcs_client_request_id(client), client->id_bytes,
                                        client->request_id_bytes};
    struct parcel *parcel =
        hcs_frames_error(shard, subject, code, message, retriable, "start", strlen("start"));
    drop_one(shard, FEATURE_COUNTER(FEATURE_HCS, HCS_DROP_REFUSED), client->connection, 0);
    if (parcel)
        hcs_delivery_parcel(shard, client, parcel, (struct hcs_tag){.type = TYPE_ERROR});
    return_start(shard, client, parcel ? HCS_REFUSAL_OTHER : HCS_REFUSAL_LOST);
}

// --- The producer

static bool is_producer(const struct shard *shard, const struct agent *agent) {
    const struct group *group =
        groups_find(&shard->agents.groups, GROUP_CAPABILITY, capability, strlen(capability));
    for (size_t at = 0; group && at < agent->membership_count; at++)
        if (agent->memberships[at].group == group)
            return true;
    return false;
}

// Notes the refusal of a start, with what its source is told.
static void note_start_refused(struct shard *shard, uint64_t source, const struct user *user,
                               const char *target, size_t bytes, enum error error, const struct text *data) {
    struct unrouted_request start = {source, user, target, bytes, "start", sizeof "start" - 1};
    audit_refused_unrouted(shard, &start, error, data);
}

static void refuse_level(struct shard *shard, struct hcs_client *client, const struct agent *agent) {
    struct text data;
    text_init(&data);
    reply_data_string(&data, "agent", agent->id, agent->id_bytes);
    reply_data_text(&data, "required", governance_text(client->required));
    reply_data_text(&data, "supported", governance_text(agent->governance));
    note_start_refused(shard, client->connection, client->user, agent->id, agent->id_bytes,
                       ERROR_GOVERNANCE_VIOLATION, &data);
    text_deinit(&data);
    hcs_open_refuse(shard, client, HCS_FRAMES_INVALID_REQUEST,
                    "governance violation: the producer doesn't support the level that is required", false);
}

static void note_refused(struct shard *shard, const struct hcs_client *client, enum hcs_access access) {
    hcs_access_note_refused(shard, client->connection, client->user, access, hcs_client_target(client),
                            client->target_bytes);
}

static void refuse_user(struct shard *shard, struct hcs_client *client, enum hcs_access access) {
    note_refused(shard, client, access);
    hcs_open_refuse(shard, client, HCS_FRAMES_INVALID_REQUEST, hcs_access_text(access), false);
}

// Answers with a status of HTTP. The status is the same where there is no such session and where the session isn't
// for its user.
static void refuse_place(struct shard *shard, struct hcs_client *client, enum hcs_access access) {
    if (client->is_barred || access != HCS_ACCESS_ALLOWED)
        note_refused(shard, client, client->is_barred ? HCS_ACCESS_DENIED : access);
    return_start(shard, client, client->is_barred ? HCS_REFUSAL_BARRED : HCS_REFUSAL_FORGOTTEN);
}

// A user's `hold` is for the gate to heed (docs/gate.md), which can't hold a stream.
static bool is_held(const struct shard *shard, const struct hcs_client *client, const struct agent *agent) {
    size_t bytes = agent->pool_bytes ? agent->pool_bytes : agent->id_bytes;
    bool has_target = client->target_bytes;
    return shard->hub->settings.approval_level &&
           authz_stream_requires_approval(client->user, agent->id, bytes,
                                          has_target ? hcs_client_target(client) : default_target,
                                          has_target ? client->target_bytes : strlen(default_target));
}

static bool reaches(const void *user, const struct agent *agent) {
    return authz_reaches(user, agent);
}

// Producers that a hold names are no more among those to choose from than those that a denial names.
static bool reaches_without_approval(const void *user, const struct agent *agent) {
    assert(user && agent->id_bytes > 0);
    size_t bytes = agent->pool_bytes ? agent->pool_bytes : agent->id_bytes;
    return authz_reaches(user, agent) && !authz_stream_requires_approval(user, agent->id, bytes, NULL, 0);
}

static groups_reaches *reaching_for(const struct shard *shard, const struct user *user) {
    if (user && shard->hub->settings.approval_level && rights_hold_any(user))
        return reaches_without_approval;
    return user && !rights_reach_all(user) ? reaches : NULL;
}

// NULL: the client was refused.
static struct agent *choose(struct shard *shard, struct hcs_client *client) {
    bool has_target = client->target_bytes;
    struct rules_message criteria = {
        .target = {true, true, has_target ? hcs_client_target(client) : default_target,
                   has_target ? client->target_bytes : strlen(default_target)},
        .required = client->required,
        .source = client->connection,
        .reaches = reaching_for(shard, client->user),
        .reaching = client->user,
    };
    struct rules_verdict verdict = rules_route(&shard->agents, &criteria, hub_pending, shard->hub);
    if (verdict.error == ERROR_GOVERNANCE_VIOLATION && is_producer(shard, verdict.agent)) {
        refuse_level(shard, client, verdict.agent);
        return NULL;
    }
    if (!verdict.error && is_producer(shard, verdict.agent))
        return verdict.agent;
    hcs_open_refuse(shard, client, HCS_FRAMES_INVALID_REQUEST, "there is no such producer", true);
    return NULL;
}

// --- A new session

static void refuse_place_taken(struct shard *shard, struct hcs_client *client) {
    if (client->user)
        stats_count(&shard->stats, COUNT_OVER_LIMIT);
    hcs_open_refuse(shard, client, HCS_FRAMES_INTERNAL,
                    client->user ? "overloaded: your user has as much pending as it may have"
                                 : "overloaded: this connection has as many sessions as it may have",
                    true);
}

static bool forget_oldest(struct shard *shard) {
    struct list *ended = &hcs_of(shard)->ended;
    if (list_empty(ended))
        return false;
    hcs_session_forget(shard, list_entry(ended->next, struct hcs_session, link));
    return true;
}

// Sessions that have ended are bounded, too, but give way.
static bool hub_has_room(struct shard *shard) {
    uint32_t max = (uint32_t)hcs_option(shard, HCS_OPTION_SESSIONS_MAX);
    while (hcs_of(shard)->ended_count >= max)
        forget_oldest(shard);
    return atomic_load_explicit(&hcs_hub_of(shard)->sessions, memory_order_relaxed) < max;
}

// Takes a place for the session among its opener's pending requests: as many as the user's `pending` says;
// without users a quarter of all sessions a connection. False where there is none left.
static bool take_place(struct shard *shard, const struct hcs_client *client) {
    uint32_t share = (uint32_t)hcs_option(shard, HCS_OPTION_SESSIONS_MAX) / 4;
    uint32_t max = client->user ? users_rights(client->user)->limits.pending : share ? share : 1;
    assert(!client->user || client->account == client->user->account);
    if (!client->account)
        return true;
    account_leases_empty(&shard->account_leases); // what this turn has taken ahead may be the last place
    return account_ask(client->account, max);
}

static bool session_begin(struct shard *shard, struct hcs_client *client, struct agent *agent) {
    struct hcs_session *session = hcs_session_make(shard, client, agent);
    while (!session && forget_oldest(shard))
        session = hcs_session_make(shard, client, agent);
    if (!session) {
        if (client->account)
            account_answer(client->account);
        return false;
    }
    if (!hcs_session_enter(shard, session, client)) {
        hcs_session_end(shard, session, NULL, TYPE_OTHER);
        hcs_session_forget(shard, session);
        return false;
    }
    struct parcel *start = client->start;
    client->start = NULL;
    start->hub_id = session->handle;
    start->to = NULL;
    start->mail.connection = session->producer;
    start->mail.detail = (uint8_t)shard->index;
    hcs_mail_post(shard, connection_shard(session->producer), &start->mail, HCS_MAIL_START);
    return true;
}

// A user who is gone has no denials either.
static bool is_gone(const struct hcs_client *client) {
    return client->user && users_rights(client->user) == &users_no_rights;
}

static void begin_allowed(struct shard *shard, struct hcs_client *client) {
    if (shard->phase != HUB_SERVING) {
        hcs_open_refuse(shard, client, HCS_FRAMES_INTERNAL, "the hub ends", true);
        return;
    }
    if (is_gone(client)) {
        refuse_user(shard, client, HCS_ACCESS_DENIED);
        return;
    }
    struct agent *agent = choose(shard, client);
    if (!agent)
        return;
    if (is_held(shard, client, agent))
        refuse_user(shard, client, HCS_ACCESS_HELD);
    else if (hub_pending(shard->hub, agent->home->connection) >= shard_limits(shard)->pending_max)
        hcs_open_refuse(shard, client, HCS_FRAMES_INTERNAL, "overloaded: the producer owes too much", true);
    else if (!hub_has_room(shard))
        hcs_open_refuse(shard, client, HCS_FRAMES_INTERNAL, "overloaded: there are too many sessions", true);
    else if (!take_place(shard, client))
        refuse_place_taken(shard, client);
    else if (!session_begin(shard, client, agent))
        hcs_open_refuse(shard, client, HCS_FRAMES_INTERNAL, "overloaded: there is no memory for a session",
                        true);
}

// By the newest edition, as hcs_access_check.
static void begin(struct shard *shard, struct hcs_client *client) {
    const struct users *own = users_judge_by(hub_settings(shard->hub)->users);
    assert(own == shard->settings->users);
    begin_allowed(shard, client);
    users_judge_by(own);
}

void hcs_open_join(struct shard *shard, struct hcs_client *client) {
    struct hcs_session *session = hcs_session_find(shard, hcs_client_id(client), client->id_bytes);
    assert(!client->session && client->start);
    enum hcs_access access = session             ? hcs_access_check(shard, session, client->user)
                             : client->is_barred ? HCS_ACCESS_DENIED
                                                 : HCS_ACCESS_ALLOWED;
    bool has_status =
        client->resumes || (client->on_streamed && client->is_barred); // of HTTP, in place of a stream
    if (has_status && (!session || access != HCS_ACCESS_ALLOWED)) {
        refuse_place(shard, client, access);
    } else if (access != HCS_ACCESS_ALLOWED) {
        refuse_user(shard, client, access);
    } else if (session) {
        drop_start(shard, client);
        if (!hcs_session_enter(shard, session, client))
            hcs_open_refuse(shard, client, HCS_FRAMES_INTERNAL, "overloaded: there is no memory to join",
                            true);
    } else if (client->has_after) {
        hcs_open_refuse(shard, client, HCS_FRAMES_INVALID_REQUEST, "this session isn't known any more",
                        false);
    } else {
        begin(shard, client);
    }
}

// --- At the producer

// Queues a start. The queue knows starts, and a program that ends leaves them to the next one.
static void queue_start(struct shard *shard, struct peer *peer, struct parcel *parcel, uint64_t start) {
    parcel = hcs_mail_fit(shard, peer, parcel);
    if (!parcel)
        return;
    parcel->of_stream = true;
    parcel->stream = start;
    send_queue(shard, peer, parcel);
}

void hcs_open_arrived(struct shard *shard, struct parcel *parcel) {
    struct peer *peer = peer_find(shard, parcel->mail.connection);
    if (peer && !queue_limit_has_room(shard, peer)) {
        hcs_mail_post(shard, parcel->mail.detail, &parcel->mail, HCS_MAIL_TURNED);
        return;
    }
    uint64_t start = hcs_open_id(parcel->mail.detail, parcel->hub_id);
    parcel->hub_id = 0;
    if (peer) {
        queue_start(shard, peer, parcel, start);
        return;
    }
    // The producer's leaving is on its way to the session.
    drop_one(shard, COUNT_DROP_TARGET_GONE, parcel->mail.connection, parcel->bytes);
    send_release(shard, parcel);
}

void hcs_open_turned(struct shard *shard, struct parcel *parcel) {
    uint64_t handle = parcel->hub_id;
    struct hcs_session *session =
        name_map_get(&hcs_of(shard)->by_handle, (const char *)&handle, sizeof handle);
    parcel->hub_id = 0;
    send_release(shard, parcel);
    if (!session || session->ended)
        return;
    struct parcel *error = hcs_frames_error(shard, hcs_session_subject(session), HCS_FRAMES_INTERNAL,
                                            "overloaded: the producer's queue is full", true, NULL, 0);
    hcs_session_end(shard, session, error, TYPE_ERROR);
    hcs_session_forget(shard, session); // nothing ever was in it
}

// A session's id alone joins nothing. A user who may call its producer joins it, be it as one of those that
// stream. The user who began it may join by the address that it was asked for at, too.
enum hcs_access hcs_access_check(const struct shard *shard, const struct hcs_session *session,
                                 const struct user *user) {
    const char *target = session->text + session->id_bytes + session->request_id_bytes;
    const char *agent = target + session->target_bytes;
    if (!user)
        return HCS_ACCESS_ALLOWED;
    if (!session->agent_bytes)
        return HCS_ACCESS_DENIED;
    // The newest edition: the shard on which this one was judged may have taken it up before this one does.
    const struct users *own = users_judge_by(hub_settings(shard->hub)->users);
    bool may = authz_joins(user, agent, session->agent_bytes, NULL, 0) ||
               (identity_same(session->user, user) &&
                authz_joins(user, agent, session->agent_bytes, target, session->target_bytes));
    bool is_held = may && shard->hub->settings.approval_level &&
                   authz_stream_requires_approval(user, agent, session->agent_bytes, NULL, 0);
    users_judge_by(own);
    return !may ? HCS_ACCESS_DENIED : is_held ? HCS_ACCESS_HELD : HCS_ACCESS_ALLOWED;
}

// --- Access

const char *hcs_access_text(enum hcs_access access) {
    assert(access != HCS_ACCESS_ALLOWED);
    return access == HCS_ACCESS_HELD ? "approval required: the gate can't hold a stream"
                                     : "capability not allowed: call";
}

void hcs_access_note_refused(struct shard *shard, uint64_t source, const struct user *user,
                             enum hcs_access access, const char *target, size_t target_bytes) {
    bool is_held = access == HCS_ACCESS_HELD;
    struct text data;
    assert(access != HCS_ACCESS_ALLOWED);
    text_init(&data);
    reply_data_text(&data, "rule", is_held ? "hold" : rule_text(RULE_CALL));
    stats_count(&shard->stats, is_held ? COUNT_APPROVALS_REFUSED : COUNT_REFUSED_CALL);
    note_start_refused(shard, source, user, target, target_bytes,
                       is_held ? ERROR_APPROVAL_REQUIRED : ERROR_NOT_ALLOWED, &data);
    text_deinit(&data);
}

static void expel(struct shard *shard, struct hcs_session *session, struct hcs_client *client,
                  enum hcs_access access) {
    struct hcs_frame_subject subject = {hcs_client_id(client), hcs_client_request_id(client),
                                        client->id_bytes, client->request_id_bytes};
    struct parcel *error =
        hcs_frames_error(shard, subject, HCS_FRAMES_INVALID_REQUEST, hcs_access_text(access), false, NULL, 0);
    if (error)
        hcs_delivery_parcel(shard, client, error, (struct hcs_tag){.type = TYPE_ERROR});
    hcs_session_remove(shard, session, client, error ? HCS_REFUSAL_OTHER : HCS_REFUSAL_LOST);
}

static void review_session(struct shard *shard, struct hcs_session *session) {
    for (struct list *node = session->clients.next, *next; node != &session->clients; node = next) {
        struct hcs_client *client = list_entry(node, struct hcs_client, by_session);
        next = node->next;
        assert(client->session == session);
        enum hcs_access access = hcs_access_check(shard, session, client->user);
        if (access != HCS_ACCESS_ALLOWED)
            expel(shard, session, client, access);
    }
}

void hcs_access_review(struct shard *shard) {
    struct list *all[] = {&hcs_of(shard)->live, &hcs_of(shard)->ended};
    for (unsigned at = 0; at < sizeof all / sizeof *all; at++)
        for (struct list *node = all[at]->next, *next; node != all[at]; node = next) {
            next = node->next;
            review_session(shard, list_entry(node, struct hcs_session, link));
        }
}
