#include "router/features/hcs/hcs_session.h"

#include <assert.h>
#include <string.h>

#include "core/rights/account.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/feature.h"
#include "router/engine/shard/identity.h"
#include "router/features/feature_list.h"
#include "router/features/hcs/hcs_frames.h"
#include "router/features/hcs/hcs_shard.h"

// Pauses before a client gets more: the usual pause, and the pause if memory was short.
enum { STEP_MS = 1, RETRY_MS = 100 };

static void move_gauge(struct shard *shard, unsigned gauge, int64_t by) {
    stats_move_gauge(&shard->stats, gauge, by);
}

// --- Begin

struct hcs_session *hcs_session_find(const struct shard *shard, const char *id, size_t bytes) {
    return name_map_get(&hcs_of(shard)->by_id, id, bytes);
}

static bool file(struct shard *shard, struct hcs_session *session) {
    struct hcs_shard *streams = hcs_of(shard);
    if (!name_map_add(&streams->by_id, session->text, session->id_bytes, session))
        return false;
    if (name_map_add(&streams->by_handle, (const char *)&session->handle, sizeof session->handle, session))
        return true;
    name_map_remove(&streams->by_id, session->text, session->id_bytes);
    return false;
}

static void hcs_session_init(struct shard *shard, struct hcs_session *session,
                             const struct hcs_client *client, const struct agent *producer) {
    assert(client->id_bytes > 0);
    session->id_bytes = client->id_bytes;
    session->request_id_bytes = client->request_id_bytes;
    session->target_bytes = client->user ? client->target_bytes : 0;
    size_t bytes = (size_t)client->id_bytes + client->request_id_bytes + session->target_bytes;
    session->user = client->user;
    session->account = client->account;
    if (session->account)
        account_hold(session->account);
    session->agent_bytes = client->user ? (uint32_t)producer->id_bytes : 0;
    memcpy(session->text, client->text, bytes);
    memcpy(session->text + bytes, producer->id, session->agent_bytes);
    session->handle = ++hcs_of(shard)->handles;
    session->active_ms = session->empty_ms = shard_now_ms(shard);
    list_init(&session->clients);
    list_init(&session->http_owners);
    timer_init(&session->timer, FEATURE_KIND(FEATURE_HCS, HCS_TIMER_SESSION));
    history_init(&session->history, &shard->quota);
}

struct hcs_session *hcs_session_make(struct shard *shard, const struct hcs_client *client,
                                     const struct agent *producer) {
    size_t text_bytes =
        (size_t)client->id_bytes + client->request_id_bytes + client->target_bytes + producer->id_bytes;
    struct hcs_session *session = quota_take_zeroed(&shard->quota, 1, sizeof *session + text_bytes);
    if (!session)
        return NULL;
    hcs_session_init(shard, session, client, producer);
    if (!file(shard, session)) {
        account_drop(session->account);
        quota_give(&shard->quota, session);
        return NULL;
    }
    session->producer = producer->registrant->connection;
    list_append(&producer->registrant->streams, &session->by_producer);
    list_append(&hcs_of(shard)->live, &session->link);
    hub_pending_add(shard->hub, session->producer, 1);
    atomic_fetch_add_explicit(&hcs_hub_of(shard)->sessions, 1, memory_order_relaxed);
    stats_count(&shard->stats, FEATURE_COUNTER(FEATURE_HCS, HCS_COUNT_BEGUN));
    move_gauge(shard, FEATURE_GAUGE(FEATURE_HCS, HCS_GAUGE_SESSIONS), 1);
    hcs_flow_control_watch(shard, session);
    return session;
}

static void serve_later(struct shard *shard, struct hcs_session *session, uint64_t pause_ms) {
    uint64_t at_ms = shard_now_ms(shard) + pause_ms;
    if (session->retry_ms && session->retry_ms <= at_ms)
        return;
    session->retry_ms = at_ms;
    hcs_flow_control_watch(shard, session);
}

// Sends the client the frames behind its place, or holds them. After the session's end the client leaves with the last
// frame.
static void serve(struct shard *shard, struct hcs_session *session, struct hcs_client *client,
                  const struct hcs_live_chunk *live) {
    if (client->paused) {
        hcs_delivery_hold(shard, session, client, live);
        return;
    }
    struct hcs_tag end = {.ends = true, .type = session->ending ? session->ending_type : TYPE_OTHER};
    uint64_t previous = client->next;
    bool all = hcs_delivery_catch_up(shard, session, client, live);
    if (all && session->ending) {
        all = hcs_delivery_share(shard, client, session->ending, end);
        if (all)
            hcs_session_remove(shard, session, client, HCS_REFUSAL_NONE);
    }
    if (!all)
        serve_later(shard, session, client->next > previous ? STEP_MS : RETRY_MS);
}

// Sends the client all frames for which there is memory.
static void serve_to_end(struct shard *shard, struct hcs_session *session, struct hcs_client *client) {
    uint64_t previous;
    do {
        previous = client->next;
        serve(shard, session, client, NULL);
    } while (client->session && client->next > previous);
}

static void serve_all(struct shard *shard, struct hcs_session *session, const struct hcs_live_chunk *live) {
    for (struct list *node = session->clients.next, *next; node != &session->clients; node = next) {
        next = node->next;
        serve(shard, session, list_entry(node, struct hcs_client, by_session), live);
    }
}

void hcs_session_retry(struct shard *shard, struct hcs_session *session) {
    session->retry_ms = 0;
    serve_all(shard, session, NULL);
}

// --- Clients

static void count_client(struct shard *shard, struct hcs_session *session, const struct hcs_client *client,
                         int change) {
    hcs_flow_count(&session->flow, client->over || client->paused, client->stuck, change);
    hcs_of(shard)->client_count += (uint32_t)change;
    move_gauge(shard, FEATURE_GAUGE(FEATURE_HCS, HCS_GAUGE_CLIENTS), change);
    move_gauge(shard, FEATURE_GAUGE(FEATURE_HCS, HCS_GAUGE_CLIENTS_OVER), client->over ? change : 0);
}

struct hcs_client *hcs_session_client(const struct shard *shard, const struct hcs_session *session,
                                      uint64_t connection) {
    uint64_t key[2] = {connection, session->handle};
    static_assert(sizeof key == sizeof((struct hcs_client *)NULL)->key, "they are looked up as bytes");
    return name_map_get(&hcs_of(shard)->by_client, (const char *)key, sizeof key);
}

// Removes the client from by_client, unless another client of the same connection has its key by now.
static void remove_from_index(struct shard *shard, struct hcs_client *client) {
    if (client->key.session)
        name_map_remove(&hcs_of(shard)->by_client, (const char *)&client->key, sizeof client->key);
    client->key.session = 0;
}

void hcs_session_lose(struct shard *shard, struct hcs_session *session, struct hcs_client *client) {
    assert(client->session == session);
    count_client(shard, session, client, -1);
    hcs_delivery_drop_held(shard, client, COUNT_DROP_TARGET_GONE);
    list_remove(&client->by_session);
    remove_from_index(shard, client);
    if (client->http_owner)
        client->http_owner->streams--;
    client->http_owner = NULL;
    client->session = NULL;
    if (session->flow.clients == 0)
        session->empty_ms = shard_now_ms(shard);
    hcs_flow_control_signal(shard, session);
    hcs_flow_control_watch(shard, session);
}

void hcs_session_remove(struct shard *shard, struct hcs_session *session, struct hcs_client *client,
                        enum hcs_refusal refusal) {
    hcs_session_lose(shard, session, client);
    client->mail.detail = (uint8_t)refusal;
    hcs_mail_post(shard, connection_shard(client->connection), &client->mail, HCS_MAIL_HOME);
}

static bool hcs_session_file_client(struct shard *shard, struct hcs_session *session,
                                    struct hcs_client *client) {
    client->key.session = session->handle;
    if (client->on_streamed) {
        client->http_owner = hcs_http_owner_take(shard, session, client);
        if (!client->http_owner)
            return false;
    }
    if (name_map_add(&hcs_of(shard)->by_client, (const char *)&client->key, sizeof client->key, client))
        return true;
    if (client->http_owner)
        client->http_owner->streams--;
    client->http_owner = NULL;
    return false;
}

// Sets the client's place: the first chunk that came, or the chunk after after_seq.
static void place(const struct hcs_session *session, struct hcs_client *client) {
    const struct history *history = &session->history;
    client->next = 0;
    if (!client->has_after)
        return;
    client->seq = client->after_seq;
    client->placed = true;
    client->next = history_after(history, client->after_seq);
    if (history_lacks(history, client->after_seq))
        client->next = history->first - 1; // a chunk that is gone, so that the client is told
}

bool hcs_session_enter(struct shard *shard, struct hcs_session *session, struct hcs_client *client) {
    struct hcs_client *previous = hcs_session_client(shard, session, client->connection);
    if (previous)
        remove_from_index(shard, previous);
    if (!hcs_session_file_client(shard, session, client)) {
        if (previous)
            hcs_session_remove(shard, session, previous, HCS_REFUSAL_LOST);
        return false;
    }
    client->session = session;
    list_append(&session->clients, &client->by_session);
    count_client(shard, session, client, 1);
    if (previous) // only now: `previous` may be the session's only client
        hcs_session_remove(shard, session, previous, HCS_REFUSAL_NONE);
    place(session, client);
    if (client->on_streamed)
        hcs_mail_post(shard, connection_shard(client->connection), &client->opened, HCS_MAIL_OPENED);
    if (session->init &&
        !hcs_delivery_share(shard, client, session->init, (struct hcs_tag){.type = TYPE_INIT})) {
        hcs_session_remove(shard, session, client, HCS_REFUSAL_LOST);
        return true;
    }
    hcs_flow_control_signal(shard, session);
    serve(shard, session, client, NULL);
    return true;
}

// Returns whether a client may pause. While the hub drains, ended sessions don't wait for paused clients.
static bool may_pause(const struct shard *shard, const struct hcs_session *session) {
    return !session->ended || shard->phase == HUB_SERVING;
}

void hcs_session_pause(struct shard *shard, struct hcs_session *session, struct hcs_client *client,
                       bool paused) {
    assert(client->session == session);
    if (client->paused == paused || (paused && !may_pause(shard, session)))
        return;
    count_client(shard, session, client, -1);
    client->paused = paused;
    count_client(shard, session, client, 1);
    hcs_flow_control_signal(shard, session);
    if (paused) {
        client->held_to = client->next;
        return;
    }
    hcs_delivery_held(shard, client);
    serve(shard, session, client, NULL);
}

void hcs_session_note_reading(struct shard *shard, struct hcs_session *session, struct hcs_client *client,
                              uint8_t reading) {
    count_client(shard, session, client, -1);
    client->over = reading & REPORT_OVER;
    client->stuck = reading & REPORT_STUCK;
    count_client(shard, session, client, 1);
    hcs_flow_control_signal(shard, session);
}

void hcs_session_flush(struct shard *shard, struct hcs_session *session, struct hcs_client *client) {
    hcs_delivery_drop_held(shard, client, FEATURE_COUNTER(FEATURE_HCS, HCS_DROP_FLUSHED));
    client->next = client->held_to = session->history.end;
    if (client->next && (!client->placed || client->seq < session->history.last_seq)) {
        client->seq = session->history.last_seq;
        client->placed = true;
    }
}

// --- Frames of the producer

void hcs_session_broadcast(struct shard *shard, struct hcs_session *session, struct parcel *parcel,
                           enum hcs_type type) {
    struct parcel *copy = type == TYPE_INIT ? hcs_retention_copy(shard, parcel) : NULL;
    for (struct list *node = session->clients.next; node != &session->clients; node = node->next) {
        struct hcs_client *client = list_entry(node, struct hcs_client, by_session);
        if (!hcs_delivery_share(shard, client, parcel, (struct hcs_tag){.type = type}))
            drop_one(shard, COUNT_DROP_NO_MEMORY, client->connection, parcel->bytes);
    }
    if (copy && session->init)
        send_release(shard, session->init);
    if (copy)
        session->init = copy;
    if (copy != parcel)
        send_release(shard, parcel);
}

void hcs_session_add(struct shard *shard, struct hcs_session *session, struct parcel *parcel, uint64_t seq,
                     enum stream_lod lod) {
    struct hcs_live_chunk live = {parcel, seq, lod};
    struct parcel *copy = hcs_retention_copy(shard, parcel);
    bool added = hcs_retention_add(shard, session, copy, seq);
    serve_all(shard, session, &live);
    if (!added && copy != parcel)
        send_release(shard, copy);
    if (!added || copy != parcel)
        send_release(shard, parcel);
    hcs_retention_bound(shard, session);
}

// --- End

void hcs_session_end_pauses(struct shard *shard, struct hcs_session *session) {
    assert(session->ended && !may_pause(shard, session));
    for (struct list *node = session->clients.next, *next; node != &session->clients; node = next) {
        next = node->next;
        hcs_session_pause(shard, session, list_entry(node, struct hcs_client, by_session), false);
    }
}

void hcs_session_end(struct shard *shard, struct hcs_session *session, struct parcel *parcel,
                     enum hcs_type type) {
    assert(!session->ended);
    session->ended = true;
    session->ended_ms = shard_now_ms(shard);
    move_gauge(shard, FEATURE_GAUGE(FEATURE_HCS, HCS_GAUGE_SESSIONS), -1);
    move_gauge(shard, FEATURE_GAUGE(FEATURE_HCS, HCS_GAUGE_PAUSED),
               session->flow.told == HCS_FLOW_READS ? 0 : -1);
    stats_count(&shard->stats, FEATURE_COUNTER(FEATURE_HCS, HCS_COUNT_ENDED));
    hub_pending_add(shard->hub, session->producer, -1);
    if (session->account)
        account_end_pending(session->account);
    list_remove(&session->by_producer);
    list_remove(&session->link);
    list_append(&hcs_of(shard)->ended, &session->link);
    hcs_of(shard)->ended_count++;
    atomic_fetch_sub_explicit(&hcs_hub_of(shard)->sessions, 1, memory_order_relaxed);
    session->ending_type = type;
    session->ending = parcel ? hcs_retention_copy(shard, parcel) : NULL;
    serve_all(shard, session, NULL);
    if (!may_pause(shard, session))
        hcs_session_end_pauses(shard, session);
    while (!parcel && !list_empty(&session->clients))
        hcs_session_remove(shard, session, list_entry(session->clients.next, struct hcs_client, by_session),
                           HCS_REFUSAL_LOST);
    if (parcel && session->ending != parcel)
        send_release(shard, parcel);
    hcs_flow_control_watch(shard, session);
}

void hcs_session_forget(struct shard *shard, struct hcs_session *session) {
    assert(session->ended);
    while (!list_empty(&session->clients)) {
        struct hcs_client *client = list_entry(session->clients.next, struct hcs_client, by_session);
        if (client->paused)
            hcs_session_pause(shard, session, client, false);
        if (client->session)
            serve_to_end(shard, session, client);
        if (client->session) // there is no memory for the other frames, or no end frame
            hcs_session_remove(shard, session, client, HCS_REFUSAL_LOST);
    }
    hcs_retention_forget(shard, session);
    history_deinit(&session->history);
    hcs_http_owner_give_all(shard, session);
    wheel_disarm(&session->timer);
    if (session->init)
        send_release(shard, session->init);
    if (session->ending)
        send_release(shard, session->ending);
    name_map_remove(&hcs_of(shard)->by_id, session->text, session->id_bytes);
    name_map_remove(&hcs_of(shard)->by_handle, (const char *)&session->handle, sizeof session->handle);
    list_remove(&session->link);
    assert(hcs_of(shard)->ended_count > 0);
    hcs_of(shard)->ended_count--;
    account_drop(session->account);
    quota_give(&shard->quota, session);
}

// --- Retention

static void account(struct shard *shard, const struct parcel *parcel, int64_t change) {
    assert(change == 1 || change == -1);
    hcs_of(shard)->footprint += (uint64_t)(change * (int64_t)(parcel->bytes + sizeof *parcel));
    stats_move_gauge(&shard->stats, FEATURE_GAUGE(FEATURE_HCS, HCS_GAUGE_HISTORY),
                     change * (int64_t)parcel->bytes);
}

static void forget_chunks(struct shard *shard, struct hcs_session *session, size_t bytes_max) {
    for (struct parcel *parcel; (parcel = bytes_max ? history_trim(&session->history, bytes_max)
                                                    : history_take(&session->history));) {
        account(shard, parcel, -1);
        send_release(shard, parcel);
    }
}

// Returns the bound of all histories of this shard together, in bytes.
static uint64_t footprint_max(const struct shard *shard) {
    return shard_limits(shard)->memory_bytes_max / 8 / shard->hub->start_settings.shard_count;
}

void hcs_retention_relieve(struct shard *shard) {
    struct hcs_shard *streams = hcs_of(shard);
    for (struct list *node = streams->ended.next; node != &streams->ended; node = node->next) {
        struct hcs_session *session = list_entry(node, struct hcs_session, link);
        if (session->history.bytes == 0)
            continue;
        forget_chunks(shard, session, 0);
        return;
    }
    for (struct list *node = streams->live.next; node != &streams->live; node = node->next) {
        struct hcs_session *session = list_entry(node, struct hcs_session, link);
        if (session->history.bytes)
            forget_chunks(shard, session, session->history.bytes / 2);
    }
}

void hcs_retention_bound(struct shard *shard, struct hcs_session *session) {
    forget_chunks(shard, session, hcs_option(shard, HCS_OPTION_HISTORY_BYTES_MAX));
    for (uint64_t previous = UINT64_MAX; hcs_of(shard)->footprint > footprint_max(shard);) {
        if (hcs_of(shard)->footprint == previous)
            return;
        previous = hcs_of(shard)->footprint;
        hcs_retention_relieve(shard);
    }
}

struct parcel *hcs_retention_copy(struct shard *shard, struct parcel *parcel) {
    struct parcel *copy = parcel->buffer && parcel->bytes <= HISTORY_COPY_BYTES_MAX
                              ? parcel_copy_of(&shard->parcels, parcel)
                              : NULL;
    return copy ? copy : parcel;
}

void hcs_retention_forget(struct shard *shard, struct hcs_session *session) {
    forget_chunks(shard, session, 0);
}

bool hcs_retention_add(struct shard *shard, struct hcs_session *session, struct parcel *parcel,
                       uint64_t seq) {
    if (!history_reserve(&session->history))
        forget_chunks(shard, session, 0);
    assert(parcel->hole_count == 0);
    bool added = history_add(&session->history, (struct chunk){parcel, seq, parcel->bytes});
    if (added)
        account(shard, parcel, 1);
    return added;
}

// --- Flow control

void hcs_flow_control_signalled(struct shard *shard, struct hcs_session *session, enum hcs_flow_state state) {
    struct hcs_flow *flow = &session->flow;
    assert(!session->ended);
    int by = (state != HCS_FLOW_READS) - (flow->told != HCS_FLOW_READS);
    stats_move_gauge(&shard->stats, FEATURE_GAUGE(FEATURE_HCS, HCS_GAUGE_PAUSED), by);
    flow->told = state;
    if (state == HCS_FLOW_READS)
        session->active_ms = shard_now_ms(shard);
    hcs_flow_control_watch(shard, session);
}

// Sends the producer a control frame. Returns false without memory: the next change of the state tries again.
static bool hcs_flow_control_send(struct shard *shard, struct hcs_session *session, const char *action,
                                  enum hcs_flow_state reason) {
    struct parcel *parcel = hcs_frames_control(shard, hcs_session_subject(session), action,
                                               reason == HCS_FLOW_GONE ? "user_busy" : "backpressure");
    if (!parcel)
        return false;
    hcs_mail_send(shard, session->producer, parcel, true);
    return true;
}

void hcs_flow_control_signal(struct shard *shard, struct hcs_session *session) {
    enum hcs_flow_state state = hcs_flow_state(&session->flow), reported = session->flow.told;
    if (session->ended || state == reported)
        return;
    if (state != HCS_FLOW_GONE && reported != HCS_FLOW_READS &&
        !hcs_flow_control_send(shard, session, "resume", reported))
        return;
    if (state != HCS_FLOW_READS && !hcs_flow_control_send(shard, session, "pause", state))
        return;
    hcs_flow_control_signalled(shard, session, state);
}

uint64_t hcs_flow_control_silence_ms(const struct shard *shard, const struct hcs_session *session) {
    bool counts = !session->ended && session->flow.told == HCS_FLOW_READS;
    return counts ? session->active_ms + hcs_option(shard, HCS_OPTION_SILENCE_NS) / 1000000 : UINT64_MAX;
}

uint64_t hcs_flow_control_linger_ms(const struct shard *shard, const struct hcs_session *session) {
    uint64_t linger_ms = hcs_option(shard, HCS_OPTION_LINGER_NS) / 1000000;
    if (session->ended)
        return session->ended_ms + linger_ms;
    return session->flow.clients == 0 ? session->empty_ms + linger_ms : UINT64_MAX;
}

void hcs_flow_control_watch(struct shard *shard, struct hcs_session *session) {
    uint64_t due_ms = hcs_flow_control_silence_ms(shard, session),
             linger_ms = hcs_flow_control_linger_ms(shard, session);
    if (linger_ms < due_ms)
        due_ms = linger_ms;
    if (session->retry_ms && session->retry_ms < due_ms)
        due_ms = session->retry_ms;
    if (due_ms == UINT64_MAX)
        wheel_disarm(&session->timer);
    else
        wheel_arm(&shard->wheel, &session->timer, due_ms);
}

// --- Owners of streams over HTTP

struct hcs_http_owner *hcs_http_owner_find(const struct hcs_session *session, const char *request_id,
                                           size_t bytes, const struct user *user) {
    for (struct list *node = session->http_owners.next; node != &session->http_owners; node = node->next) {
        struct hcs_http_owner *http_owner = list_entry(node, struct hcs_http_owner, link);
        bool own = !user || identity_same(http_owner->user, user);
        if (own && http_owner->bytes == bytes && memcmp(http_owner->request_id, request_id, bytes) == 0)
            return http_owner;
    }
    return NULL;
}

static void hcs_http_owner_give(struct shard *shard, struct hcs_session *session,
                                struct hcs_http_owner *http_owner) {
    assert(session->http_owner_count > 0 && http_owner->streams == 0);
    list_remove(&http_owner->link);
    session->http_owner_count--;
    quota_give(&shard->quota, http_owner);
}

// Frees the oldest owner that has no stream open.
static void forget_one(struct shard *shard, struct hcs_session *session) {
    for (struct list *node = session->http_owners.next; node != &session->http_owners; node = node->next) {
        struct hcs_http_owner *http_owner = list_entry(node, struct hcs_http_owner, link);
        if (http_owner->streams == 0) {
            hcs_http_owner_give(shard, session, http_owner);
            return;
        }
    }
}

struct hcs_http_owner *hcs_http_owner_take(struct shard *shard, struct hcs_session *session,
                                           const struct hcs_client *client) {
    const char *request_id = hcs_client_request_id(client);
    size_t bytes = client->request_id_bytes;
    struct hcs_http_owner *http_owner = hcs_http_owner_find(session, request_id, bytes, client->user);
    if (!http_owner) {
        if (session->http_owner_count >= SESSION_VOICES_MAX)
            forget_one(shard, session);
        http_owner = quota_take_zeroed(&shard->quota, 1, sizeof *http_owner + bytes);
        if (!http_owner)
            return NULL;
        http_owner->user = client->user;
        http_owner->bytes = (uint32_t)bytes;
        memcpy(http_owner->request_id, request_id, bytes);
        list_append(&session->http_owners, &http_owner->link);
        session->http_owner_count++;
    }
    http_owner->streams++;
    return http_owner;
}

void hcs_http_owner_give_all(struct shard *shard, struct hcs_session *session) {
    while (!list_empty(&session->http_owners))
        hcs_http_owner_give(shard, session,
                            list_entry(session->http_owners.next, struct hcs_http_owner, link));
}

// --- Delivery

// Chunks of the history that are sent at once: a start has a few bytes, and may have the hub send much.
enum { CATCH_UP_CHUNKS = 128 };

void hcs_delivery_parcel(struct shard *shard, struct hcs_client *client, struct parcel *parcel,
                         struct hcs_tag tag) {
    assert(parcel->shares == 0 && !parcel->is_encoded);
    parcel->to = client;
    parcel->hub_id = hcs_tag_pack(tag);
    hcs_mail_post(shard, connection_shard(client->connection), &parcel->mail, HCS_MAIL_GIVE);
}

bool hcs_delivery_share(struct shard *shard, struct hcs_client *client, struct parcel *original,
                        struct hcs_tag tag) {
    struct parcel *share = parcel_share(&shard->parcels, original);
    if (share)
        hcs_delivery_parcel(shard, client, share, tag);
    return share != NULL;
}

// Moves a place that isn't in the history any more to the first chunk that is. The client is told. Returns false
// without memory.
static bool skip_gone(struct shard *shard, struct hcs_session *session, struct hcs_client *client,
                      const struct hcs_live_chunk *live) {
    const struct history *history = &session->history;
    const struct chunk *first = history_at(history, history->first);
    uint64_t to = first ? history->first : history->end - (live != NULL);
    uint64_t seq = first ? first->seq : live ? live->seq : history->last_seq + 1;
    assert(to > client->next);
    // The client asked for none of the missing chunks
    if (client->placed && !history_lacks(history, client->seq)) {
        client->next = to;
        return true;
    }
    struct hcs_frame_subject subject = {hcs_client_id(client), hcs_client_request_id(client),
                                        client->id_bytes, client->request_id_bytes};
    struct parcel *parcel = hcs_frames_gone(shard, subject, client->placed ? &client->seq : NULL, seq);
    if (!parcel)
        return false;
    drop_several(shard, FEATURE_COUNTER(FEATURE_HCS, HCS_DROP_GONE), client->connection, 0,
                 (uint32_t)(to - client->next));
    hcs_delivery_parcel(shard, client, parcel, (struct hcs_tag){.type = TYPE_CONTROL});
    client->next = to;
    return true;
}

// Returns whether the client has named a place behind this chunk.
static bool is_behind(const struct hcs_client *client, uint64_t seq) {
    return client->placed && seq <= client->seq;
}

bool hcs_delivery_catch_up(struct shard *shard, struct hcs_session *session, struct hcs_client *client,
                           const struct hcs_live_chunk *live) {
    const struct history *history = &session->history;
    for (unsigned remaining = CATCH_UP_CHUNKS; client->next < history->end; remaining--) {
        if (remaining == 0)
            return false;
        const struct chunk *chunk = history_at(history, client->next);
        bool is_live = live && client->next == history->end - 1;
        if (!chunk && !is_live) {
            if (!skip_gone(shard, session, client, live))
                return false;
            continue;
        }
        struct hcs_tag tag = {.type = TYPE_CHUNK,
                              .lod = is_live ? live->lod : LOD_KEPT,
                              .seq = is_live ? live->seq : chunk->seq};
        if (!is_behind(client, tag.seq)) {
            if (!hcs_delivery_share(shard, client, is_live ? live->parcel : chunk->parcel, tag))
                return false;
            client->seq = tag.seq;
            client->placed = true;
        }
        client->next++;
    }
    return true;
}

// --- Delivery to clients that pause

void hcs_delivery_hold(struct shard *shard, const struct hcs_session *session, struct hcs_client *client,
                       const struct hcs_live_chunk *live) {
    assert(client->paused);
    if (!live || client->held_to != session->history.end - 1 ||
        client->held_bytes >= shard_limits(shard)->queue_bytes_max)
        return;
    if (is_behind(client, live->seq)) {
        client->held_to++;
        return;
    }
    struct parcel *share = parcel_share(&shard->parcels, live->parcel);
    if (!share)
        return;
    share->hub_id = hcs_tag_pack((struct hcs_tag){.type = TYPE_CHUNK, .seq = live->seq});
    if (!client->held.first)
        list_append(&hcs_of(shard)->holding, &client->holding);
    parcel_list_append(&client->held, share);
    client->held_bytes += share->bytes + sizeof *share;
    client->held_to++;
}

void hcs_delivery_held(struct shard *shard, struct hcs_client *client) {
    assert(client->held_to >= client->next);
    for (struct parcel *share; (share = parcel_list_take(&client->held));) {
        struct hcs_tag tag = hcs_tag_unpack(share->hub_id);
        hcs_delivery_parcel(shard, client, share, tag);
        client->seq = tag.seq;
        client->placed = true;
    }
    client->next = client->held_to;
    client->held_bytes = 0;
    list_remove(&client->holding);
}

void hcs_delivery_drop_held(struct shard *shard, struct hcs_client *client, unsigned counter) {
    for (struct parcel *share; (share = parcel_list_take(&client->held));) {
        share->hub_id = 0;
        drop_one(shard, counter, client->connection, share->bytes);
        send_release(shard, share);
    }
    client->held_bytes = 0;
    list_remove(&client->holding);
}

// Frees the held chunks, and keeps the client's place. When the client goes on, it is told which chunks the history
// doesn't have.
static void release_held(struct shard *shard, struct hcs_client *client) {
    assert(client->paused && client->held.first);
    for (struct parcel *share; (share = parcel_list_take(&client->held));) {
        share->hub_id = 0;
        send_release(shard, share);
    }
    client->held_bytes = 0;
    client->held_to = client->next;
    list_remove(&client->holding);
}

bool hcs_delivery_relieve(struct shard *shard) {
    size_t part = shard_limits(shard)->memory_bytes_max / 16, bytes = 0;
    for (struct list *node; bytes < part && (node = list_take(&hcs_of(shard)->holding));) {
        struct hcs_client *client = list_entry(node, struct hcs_client, holding);
        assert(client->held_bytes > 0);
        bytes += client->held_bytes;
        release_held(shard, client);
    }
    return bytes > 0;
}
