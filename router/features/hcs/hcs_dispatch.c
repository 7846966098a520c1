#include "router/features/hcs/hcs_dispatch.h"

#include <assert.h>
#include <string.h>

#include "core/agents/rules.h"
#include "core/hcs/last_event_id.h"
#include "core/lookup/hcs_fields.h"
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

// --- Refused starts

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

// Writes the refusal of a start to the journal, with the data that its source gets.
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

// Refuses a client that gets a status of HTTP. The status is the same for a session that isn't there and for one that
// the user may not join.
static void refuse_place(struct shard *shard, struct hcs_client *client, enum hcs_access access) {
    if (client->is_barred || access != HCS_ACCESS_ALLOWED)
        note_refused(shard, client, client->is_barred ? HCS_ACCESS_DENIED : access);
    return_start(shard, client, client->is_barred ? HCS_REFUSAL_BARRED : HCS_REFUSAL_FORGOTTEN);
}

// Returns whether a `hold` of the user forbids a stream with this agent: the gate can't hold a stream (docs/gate.md).
static bool is_held(const struct shard *shard, const struct hcs_client *client, const struct agent *agent) {
    size_t bytes = agent->pool_bytes ? agent->pool_bytes : agent->id_bytes;
    bool has_target = client->target_bytes;
    return shard->hub->start_settings.approval_level &&
           authz_stream_requires_approval(client->user, agent->id, bytes,
                                          has_target ? hcs_client_target(client) : default_target,
                                          has_target ? client->target_bytes : strlen(default_target));
}

static bool may_reach_agent(const void *user, const struct agent *agent) {
    return authz_reaches(user, agent);
}

// Returns whether the user reaches an agent as a producer: agents that a `hold` names are left out, as agents that a
// denial names.
static bool reaches_without_approval(const void *user, const struct agent *agent) {
    assert(user && agent->id_bytes > 0);
    size_t bytes = agent->pool_bytes ? agent->pool_bytes : agent->id_bytes;
    return authz_reaches(user, agent) && !authz_stream_requires_approval(user, agent->id, bytes, NULL, 0);
}

static groups_may_reach *may_reach_for(const struct shard *shard, const struct user *user) {
    if (user && shard->hub->start_settings.approval_level && rights_hold_any(user))
        return reaches_without_approval;
    return user && !rights_reach_all(user) ? may_reach_agent : NULL;
}

// Chooses the producer. Returns NULL if the client was refused.
static struct agent *choose(struct shard *shard, struct hcs_client *client) {
    bool has_target = client->target_bytes;
    struct rules_message criteria = {
        .target = {true, true, has_target ? hcs_client_target(client) : default_target,
                   has_target ? client->target_bytes : strlen(default_target)},
        .required = client->required,
        .source = client->connection,
        .may_reach = may_reach_for(shard, client->user),
        .may_reach_context = client->user,
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

// Returns whether there may be one more session. Sessions that have ended have their own bound: the oldest are freed.
static bool hub_has_room(struct shard *shard) {
    uint32_t max = (uint32_t)hcs_option(shard, HCS_OPTION_SESSIONS_MAX);
    while (hcs_of(shard)->ended_count >= max)
        forget_oldest(shard);
    return atomic_load_explicit(&hcs_hub_of(shard)->sessions, memory_order_relaxed) < max;
}

// Counts the session among its opener's pending requests: up to the user's `pending`, or without a users file up to a
// quarter of all sessions a connection. Returns false at the bound.
static bool take_place(struct shard *shard, const struct hcs_client *client) {
    uint32_t share = (uint32_t)hcs_option(shard, HCS_OPTION_SESSIONS_MAX) / 4;
    uint32_t max = client->user ? users_rights(client->user)->limits.pending : share ? share : 1;
    assert(!client->user || client->account == client->user->account);
    if (!client->account)
        return true;
    // Units that this turn has taken ahead may include the last one
    account_leases_empty(&shard->account_leases);
    return account_begin_pending(client->account, max);
}

static bool session_begin(struct shard *shard, struct hcs_client *client, struct agent *agent) {
    struct hcs_session *session = hcs_session_make(shard, client, agent);
    while (!session && forget_oldest(shard))
        session = hcs_session_make(shard, client, agent);
    if (!session) {
        if (client->account)
            account_end_pending(client->account);
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

// Returns whether the user isn't in the users file any more. Such a user has no denials, either.
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
    else if (hub_pending(shard->hub, agent->registrant->connection) >= shard_limits(shard)->pending_max)
        hcs_open_refuse(shard, client, HCS_FRAMES_INTERNAL, "overloaded: the producer owes too much", true);
    else if (!hub_has_room(shard))
        hcs_open_refuse(shard, client, HCS_FRAMES_INTERNAL, "overloaded: there are too many sessions", true);
    else if (!take_place(shard, client))
        refuse_place_taken(shard, client);
    else if (!session_begin(shard, client, agent))
        hcs_open_refuse(shard, client, HCS_FRAMES_INTERNAL, "overloaded: there is no memory for a session",
                        true);
}

// Begins a session by the rights of the newest edition, as hcs_access_check does.
static void begin(struct shard *shard, struct hcs_client *client) {
    const struct users *own = users_judge_by(hub_settings(shard->hub)->users);
    assert(own == shard->settings->users);
    begin_allowed(shard, client);
    users_judge_by(own);
}

// Returns what the client's user may do: join this session, or with NULL begin one.
static enum hcs_access access_of(const struct shard *shard, const struct hcs_session *session,
                                 const struct hcs_client *client) {
    if (session)
        return hcs_access_check(shard, session, client->user);
    return client->is_barred ? HCS_ACCESS_DENIED : HCS_ACCESS_ALLOWED;
}

// Lets a client join a session that has begun. The client's start isn't needed any more.
static void join(struct shard *shard, struct hcs_session *session, struct hcs_client *client) {
    drop_start(shard, client);
    if (!hcs_session_enter(shard, session, client))
        hcs_open_refuse(shard, client, HCS_FRAMES_INTERNAL, "overloaded: there is no memory to join", true);
}

void hcs_open_join(struct shard *shard, struct hcs_client *client) {
    struct hcs_session *session = hcs_session_find(shard, hcs_client_id(client), client->id_bytes);
    assert(!client->session && client->start);
    enum hcs_access access = access_of(shard, session, client);
    bool is_allowed = access == HCS_ACCESS_ALLOWED;
    // Such a client gets a status of HTTP instead of a stream
    bool has_status = client->resumes || (client->on_streamed && client->is_barred);
    if (has_status && !(session && is_allowed))
        refuse_place(shard, client, access);
    else if (!is_allowed)
        refuse_user(shard, client, access);
    else if (session)
        join(shard, session, client);
    else if (client->has_after)
        hcs_open_refuse(shard, client, HCS_FRAMES_INVALID_REQUEST, "this session isn't known any more",
                        false);
    else
        begin(shard, client);
}

// --- A start at its producer

// Queues a start for its producer. With its id in the queue, the start survives the end of the producer's program, and
// goes to the next program.
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
    // The order that the producer has left will reach the session.
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
    hcs_session_forget(shard, session); // the session has no chunks
}

// Checks access to a session, whose name alone isn't enough. A user who may call the producer may join. The user who
// began the session may also join by the target of its start.
enum hcs_access hcs_access_check(const struct shard *shard, const struct hcs_session *session,
                                 const struct user *user) {
    const char *target = session->text + session->id_bytes + session->request_id_bytes;
    const char *agent = target + session->target_bytes;
    if (!user)
        return HCS_ACCESS_ALLOWED;
    if (!session->agent_bytes)
        return HCS_ACCESS_DENIED;
    // Uses the newest edition: the shard that checked the start may have taken it up earlier than this shard.
    const struct users *own = users_judge_by(hub_settings(shard->hub)->users);
    bool may = authz_joins(user, agent, session->agent_bytes, NULL, 0) ||
               (identity_same(session->user, user) &&
                authz_joins(user, agent, session->agent_bytes, target, session->target_bytes));
    bool is_held = may && shard->hub->start_settings.approval_level &&
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

static void remove_client(struct shard *shard, struct hcs_session *session, struct hcs_client *client,
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
            remove_client(shard, session, client, access);
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

// --- Frames

enum { TEXT_BYTES_MAX = 256 };

struct incoming_frame {
    uint64_t from;                     // the sender's connection
    struct hcs_http_frame *http_frame; // NULL: the frame came on the connection `from`
    struct parcel *parcel;             // NULL once the frame is taken
    const uint8_t *body;
    struct hcs_fields frame;
    enum hcs_type type;
    struct hcs_session *session;       // NULL: no session has this name
    struct hcs_http_owner *http_owner; // the owner for http_frame, or NULL
    bool finished;                     // http_frame is on its way back
};

static enum hcs_type type_of(const struct incoming_frame *incoming) {
    for (enum hcs_type type = TYPE_OTHER + 1; type < TYPES_COUNT; type++)
        if (hcs_fields_is(&incoming->frame, incoming->body, STREAM_TYPE, hcs_type_text(type)))
            return type;
    return TYPE_OTHER;
}

static size_t read_text(const struct incoming_frame *incoming, enum hcs_fields_key key,
                        char out[TEXT_BYTES_MAX]) {
    size_t bytes = hcs_fields_text(&incoming->frame, incoming->body, key, out, TEXT_BYTES_MAX);
    return bytes == SIZE_MAX ? 0 : bytes;
}

// --- Answers

static void finish(struct shard *shard, struct incoming_frame *incoming, struct parcel *error, bool failed) {
    struct hcs_http_frame *http_frame = incoming->http_frame;
    assert(http_frame && !incoming->parcel && !incoming->finished);
    incoming->finished = true;
    http_frame->error = error;
    http_frame->failed = failed;
    hcs_mail_post(shard, connection_shard(http_frame->connection), &http_frame->mail, HCS_MAIL_DONE);
}

static void release_parcel(struct shard *shard, struct incoming_frame *incoming) {
    send_release(shard, incoming->parcel);
    incoming->parcel = NULL;
}

static struct parcel *take(struct incoming_frame *incoming) {
    struct parcel *parcel = incoming->parcel;
    assert(parcel);
    incoming->parcel = NULL;
    return parcel;
}

static void drop(struct shard *shard, struct incoming_frame *incoming, unsigned counter) {
    drop_one(shard, counter, incoming->from, incoming->parcel->bytes);
    release_parcel(shard, incoming);
}

static struct parcel *refusal_of(struct shard *shard, const struct incoming_frame *incoming,
                                 const char *message) {
    char id[TEXT_BYTES_MAX], request_id[TEXT_BYTES_MAX], type[TEXT_BYTES_MAX];
    size_t id_bytes = read_text(incoming, STREAM_SESSION_ID, id);
    size_t request_id_bytes = read_text(incoming, STREAM_REQUEST_ID, request_id);
    size_t type_bytes = read_text(incoming, STREAM_TYPE, type);
    struct hcs_frame_subject subject = {id_bytes ? id : NULL, request_id_bytes ? request_id : NULL,
                                        (uint32_t)id_bytes, (uint32_t)request_id_bytes};
    return hcs_frames_error(shard, subject, HCS_FRAMES_INVALID_REQUEST, message, false, type, type_bytes);
}

static bool is_answer(const struct incoming_frame *incoming) {
    return incoming->type == TYPE_ERROR && hcs_fields_has(&incoming->frame, STREAM_REFUSED);
}

// Refuses a frame. An error that answers a frame gets no answer: two peers that answered errors would never stop.
static void hcs_dispatch_refuse(struct shard *shard, struct incoming_frame *incoming, const char *message,
                                unsigned counter) {
    bool answers = is_answer(incoming);
    struct parcel *error = answers && !incoming->http_frame ? NULL : refusal_of(shard, incoming, message);
    drop(shard, incoming, counter);
    if (incoming->http_frame)
        finish(shard, incoming, error, !error);
    else if (error)
        hcs_mail_send(shard, incoming->from, error, true);
    else if (!answers)
        drop_one(shard, COUNT_DROP_NO_MEMORY, incoming->from, 0);
}

// --- Frames of the producer

static enum stream_lod lod_of(const struct incoming_frame *incoming) {
    if (hcs_fields_is(&incoming->frame, incoming->body, STREAM_LOD, "atomic"))
        return LOD_ATOMIC;
    return hcs_fields_is(&incoming->frame, incoming->body, STREAM_LOD, "micro") ? LOD_MICRO : LOD_KEPT;
}

static void route_chunk(struct shard *shard, struct incoming_frame *incoming) {
    uint64_t seq;
    if (!hcs_fields_number(&incoming->frame, incoming->body, STREAM_SEQ, &seq))
        hcs_dispatch_refuse(shard, incoming, "a chunk needs a seq from 0 to 2^53-1",
                            FEATURE_COUNTER(FEATURE_HCS, HCS_DROP_REFUSED));
    else if (!history_rises(&incoming->session->history, seq))
        hcs_dispatch_refuse(shard, incoming, "seq must rise", FEATURE_COUNTER(FEATURE_HCS, HCS_DROP_SEQ));
    else
        hcs_session_add(shard, incoming->session, take(incoming), seq, lod_of(incoming));
}

static void by_producer(struct shard *shard, struct incoming_frame *incoming) {
    struct hcs_session *session = incoming->session;
    session->active_ms = shard_now_ms(shard);
    bool ends = incoming->type == TYPE_COMPLETE || (incoming->type == TYPE_ERROR && !is_answer(incoming));
    if (incoming->type == TYPE_CHUNK)
        route_chunk(shard, incoming);
    else if (ends)
        hcs_session_end(shard, session, take(incoming), incoming->type);
    else
        hcs_session_broadcast(shard, session, take(incoming), incoming->type);
}

// --- Frames of clients

static void to_producer(struct shard *shard, struct incoming_frame *incoming) {
    hcs_mail_send(shard, incoming->session->producer, take(incoming), false);
}

static void route_ack(struct shard *shard, struct incoming_frame *incoming) {
    const struct history *history = &incoming->session->history;
    bool has_seq = hcs_fields_has(&incoming->frame, STREAM_SEQ);
    uint64_t seq;
    if (has_seq && !hcs_fields_number(&incoming->frame, incoming->body, STREAM_SEQ, &seq))
        hcs_dispatch_refuse(shard, incoming, "seq must be a number from 0 to 2^53-1",
                            FEATURE_COUNTER(FEATURE_HCS, HCS_DROP_REFUSED));
    else if (has_seq && (history->end == 0 || seq > history->last_seq))
        hcs_dispatch_refuse(shard, incoming, "this seq has not been sent",
                            FEATURE_COUNTER(FEATURE_HCS, HCS_DROP_SEQ));
    else
        to_producer(shard, incoming);
}

// Returns the next client for which the frame acts, behind `after`; or the first, if `after` is the list's head. NULL:
// there is no other client.
static struct hcs_client *next_client(const struct shard *shard, const struct incoming_frame *incoming,
                                      struct list *after) {
    const struct hcs_session *session = incoming->session;
    if (!incoming->http_frame)
        return after == &session->clients ? hcs_session_client(shard, session, incoming->from) : NULL;
    for (struct list *node = after->next; node != &session->clients; node = node->next) {
        struct hcs_client *client = list_entry(node, struct hcs_client, by_session);
        if (client->http_owner && client->http_owner == incoming->http_owner)
            return client;
    }
    return NULL;
}

// Has the chunks in the client's queue dropped, on the client's shard. A share of the parcel goes there as mail.
static void flush_queue(struct shard *shard, struct incoming_frame *incoming, struct hcs_client *client) {
    struct parcel *share = parcel_share(&shard->parcels, incoming->parcel);
    if (!share) { // the chunks stay in the queue
        drop_one(shard, COUNT_DROP_NO_MEMORY, client->connection, 0);
        return;
    }
    share->to = client;
    hcs_mail_post(shard, connection_shard(client->connection), &share->mail, HCS_MAIL_FLUSH);
}

static void apply(struct shard *shard, struct incoming_frame *incoming, struct hcs_client *client) {
    const struct hcs_fields *frame = &incoming->frame;
    if (hcs_fields_is(frame, incoming->body, STREAM_ACTION, "flush")) {
        hcs_session_flush(shard, incoming->session, client);
        flush_queue(shard, incoming, client);
    } else {
        hcs_session_pause(shard, incoming->session, client,
                          hcs_fields_is(frame, incoming->body, STREAM_ACTION, "pause"));
    }
}

// Sends the pause or resume of a session's only client to the producer itself, which so knows the state.
static void report_single(struct shard *shard, struct incoming_frame *incoming, bool pauses) {
    struct hcs_session *session = incoming->session;
    if (session->ended || session->flow.clients != 1 || !next_client(shard, incoming, &session->clients))
        return;
    struct parcel *share = parcel_share(&shard->parcels, incoming->parcel);
    if (!share)
        return; // the hub sends a control frame of its own
    hcs_mail_send(shard, session->producer, share, true);
    hcs_flow_control_signalled(shard, session, pauses ? HCS_FLOW_OVER : HCS_FLOW_READS);
}

static void route_control(struct shard *shard, struct incoming_frame *incoming) {
    struct hcs_session *session = incoming->session;
    bool pauses = hcs_fields_is(&incoming->frame, incoming->body, STREAM_ACTION, "pause");
    bool resumes = hcs_fields_is(&incoming->frame, incoming->body, STREAM_ACTION, "resume");
    bool flushes = hcs_fields_is(&incoming->frame, incoming->body, STREAM_ACTION, "flush");
    if (!pauses && !resumes && !flushes) {
        if (session->ended)
            drop(shard, incoming, FEATURE_COUNTER(FEATURE_HCS, HCS_DROP_ENDED));
        else
            to_producer(shard, incoming);
        return;
    }
    if (!flushes)
        report_single(shard, incoming, pauses);
    for (struct list *at = &session->clients, *next; at; at = next) {
        struct hcs_client *client = next_client(shard, incoming, at);
        next = NULL;
        if (!client)
            break;
        struct list *previous = client->by_session.prev;
        apply(shard, incoming, client);
        next = client->session ? &client->by_session : previous; // the client may have got the end and left
    }
    release_parcel(shard, incoming);
}

// --- Who may send which frame

static bool is_by_producer(const struct incoming_frame *incoming) {
    bool its = incoming->type == TYPE_INIT || incoming->type == TYPE_CHUNK ||
               incoming->type == TYPE_COMPLETE || incoming->type == TYPE_ERROR ||
               incoming->type == TYPE_CONTROL;
    return its && !incoming->http_frame && incoming->from == incoming->session->producer;
}

static bool is_by_client(const struct shard *shard, const struct incoming_frame *incoming) {
    return incoming->http_frame ? incoming->http_owner != NULL
                                : hcs_session_client(shard, incoming->session, incoming->from) != NULL;
}

static void hcs_dispatch_check(struct shard *shard, struct incoming_frame *incoming) {
    struct hcs_session *session = incoming->session;
    bool by_clients = incoming->type == TYPE_ACK || incoming->type == TYPE_CONTROL;
    if (!session)
        hcs_dispatch_refuse(shard, incoming, "there is no such session",
                            FEATURE_COUNTER(FEATURE_HCS, HCS_DROP_REFUSED));
    else if (is_by_producer(incoming) && !session->ended)
        by_producer(shard, incoming);
    else if (by_clients && is_by_client(shard, incoming) &&
             (!session->ended || incoming->type == TYPE_CONTROL))
        (incoming->type == TYPE_ACK ? route_ack : route_control)(shard, incoming);
    else if (by_clients && session->ended)
        drop(shard, incoming, FEATURE_COUNTER(FEATURE_HCS, HCS_DROP_ENDED)); // sent before the end was known
    else
        hcs_dispatch_refuse(shard, incoming, "this frame isn't for you to say in this session",
                            FEATURE_COUNTER(FEATURE_HCS, HCS_DROP_REFUSED));
}

static void hcs_dispatch_begin(struct shard *shard, struct incoming_frame *incoming) {
    char id[SESSION_ID_BYTES_MAX + 8];
    const struct piece *body = &incoming->parcel->pieces[0];
    assert(incoming->parcel->piece_count == 1);
    incoming->body = body->bytes;
    hcs_fields_read(&incoming->frame, incoming->body, (uint32_t)body->count);
    assert(incoming->frame.verdict == LOOKUP_GOOD); // the frame was checked where it came in
    size_t bytes = hcs_fields_text(&incoming->frame, incoming->body, STREAM_SESSION_ID, id, sizeof id);
    incoming->type = type_of(incoming);
    incoming->session = bytes == SIZE_MAX ? NULL : hcs_session_find(shard, id, bytes);
}

void hcs_dispatch_frame(struct shard *shard, struct parcel *parcel) {
    struct incoming_frame incoming = {.from = parcel->mail.connection, .parcel = parcel};
    hcs_dispatch_begin(shard, &incoming);
    hcs_dispatch_check(shard, &incoming);
    assert(!incoming.parcel);
}

void hcs_dispatch_http_frame(struct shard *shard, struct hcs_http_frame *http_frame) {
    char request_id[TEXT_BYTES_MAX];
    struct incoming_frame incoming = {
        .from = http_frame->connection, .http_frame = http_frame, .parcel = http_frame->parcel};
    http_frame->parcel = NULL;
    hcs_dispatch_begin(shard, &incoming);
    size_t bytes = read_text(&incoming, STREAM_REQUEST_ID, request_id);
    if (incoming.session && bytes)
        incoming.http_owner = hcs_http_owner_find(incoming.session, request_id, bytes, http_frame->user);
    if (incoming.http_owner &&
        hcs_access_check(shard, incoming.session, http_frame->user) != HCS_ACCESS_ALLOWED)
        incoming.http_owner = NULL;
    // After the end, the frame acts only for clients that still wait for the end because they have paused.
    bool ok = incoming.http_owner && (!incoming.session->ended || incoming.http_owner->streams > 0);
    if (!ok) {
        hcs_dispatch_refuse(shard, &incoming, "this is no stream that is open",
                            FEATURE_COUNTER(FEATURE_HCS, HCS_DROP_REFUSED));
        return;
    }
    hcs_dispatch_check(shard, &incoming);
    if (!incoming.finished)
        finish(shard, &incoming, NULL, false);
}
