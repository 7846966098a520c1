#include "router/features/hcs/hcs_client.h"

#include <assert.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/rights/users.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/features/hcs/hcs_frames.h"
#include "router/features/hcs/hcs_shard.h"
#include "router/rights/authz.h"

enum { LOOK_MS = 1000 };

// --- Begin and end

static struct hcs_viewer *viewer_of(struct shard *shard, struct peer *peer) {
    struct hcs_viewer *viewer = hcs_viewer_of(peer);
    if (viewer || !peer_take_cold(shard, peer))
        return viewer;
    viewer = quota_take_zeroed(&shard->quota, 1, sizeof *viewer);
    if (!viewer)
        return NULL;
    if (!shard->settings->users && !(viewer->account = account_create(0))) {
        quota_give(&shard->quota, viewer);
        return NULL;
    }
    viewer->peer = peer;
    list_init(&viewer->streams);
    list_init(&viewer->over);
    list_init(&viewer->drained);
    peer_keep(peer, FEATURE_HCS, viewer);
    return viewer;
}

static struct hcs_viewer *viewer_at(const struct peer *peer) {
    return peer ? hcs_viewer_of(peer) : NULL;
}

static uint8_t report_of(const struct hcs_viewer *viewer) {
    return (uint8_t)((list_empty(&viewer->over) ? 0 : REPORT_OVER) | (viewer->is_stuck ? REPORT_STUCK : 0));
}

static void put_texts(struct hcs_client *client, const struct hcs_start_fields *fields) {
    client->id_bytes = fields->id_bytes;
    client->request_id_bytes = fields->request_id_bytes;
    client->target_bytes = fields->target_bytes;
    memcpy(client->text, fields->id, fields->id_bytes);
    memcpy(client->text + fields->id_bytes, fields->request_id, fields->request_id_bytes);
    if (fields->target_bytes)
        memcpy(client->text + fields->id_bytes + fields->request_id_bytes, fields->target,
               fields->target_bytes);
}

static struct hcs_client *hcs_client_make(struct shard *shard, struct hcs_viewer *viewer,
                                          const struct hcs_start_fields *fields) {
    if (!quota_is_fair(&shard->quota, viewer->quota_bytes))
        return NULL;
    size_t text_bytes = (size_t)fields->id_bytes + fields->request_id_bytes + fields->target_bytes;
    struct hcs_client *client = quota_take_zeroed(&shard->quota, 1, sizeof *client + text_bytes);
    if (!client)
        return NULL;
    client->connection = client->key.connection = viewer->peer->connection_id;
    client->tag = ++hcs_of(shard)->tags;
    client->resumes = fields->resumes;
    client->is_barred = fields->is_barred;
    client->has_after = fields->has_after;
    client->has_seq = fields->has_after && fields->resumes; // the client resumes at this place
    client->last_seq = fields->after_seq;
    client->on_streamed = fields->on_streamed;
    client->is_generated = fields->is_generated;
    client->after_seq = fields->after_seq;
    client->required = fields->required;
    client->user = authz_user(shard, viewer->peer);
    client->account = client->user ? client->user->account : viewer->account;
    if (client->account)
        account_hold(client->account);
    put_texts(client, fields);
    list_init(&client->by_peer);
    list_init(&client->by_session);
    list_init(&client->holding);
    parcel_list_init(&client->held);
    return client;
}

bool hcs_client_send(struct shard *shard, struct peer *peer, const struct hcs_start_fields *fields,
                     struct parcel *start) {
    struct hcs_viewer *viewer = viewer_of(shard, peer);
    struct hcs_client *client = viewer ? hcs_client_make(shard, viewer, fields) : NULL;
    if (!client)
        return false;
    client->start = start;
    client->session_shard = hcs_shard_of_session(shard, fields->id, fields->id_bytes);
    client->known = report_of(viewer);
    client->over = client->known & REPORT_OVER;
    client->stuck = client->known & REPORT_STUCK;
    viewer->quota_bytes += memory_bytes(client);
    list_append(&viewer->streams, &client->by_peer);
    peer->awaited++;
    hcs_of(shard)->out++;
    hcs_mail_post(shard, client->session_shard, &client->mail, HCS_MAIL_JOIN);
    return true;
}

static void free_when_at_rest(struct shard *shard, struct hcs_client *client) {
    if (!client->is_home || client->leaving || client->reporting)
        return;
    assert(!client->session && !client->start && !client->held.first && list_empty(&client->by_peer));
    assert(hcs_of(shard)->out > 0);
    hcs_of(shard)->out--;
    account_drop(client->account);
    quota_give(&shard->quota, client);
}

// Removes the client from its peer, when the peer has left or the client has come back.
static void part(struct peer *peer, struct hcs_client *client) {
    struct hcs_viewer *viewer = viewer_at(peer);
    assert(viewer && viewer->quota_bytes >= memory_bytes(client) && peer->awaited > 0);
    list_remove(&client->by_peer);
    viewer->quota_bytes -= memory_bytes(client);
    peer->awaited--;
}

void hcs_client_leave_all(struct shard *shard, struct peer *peer) {
    struct hcs_viewer *viewer = viewer_at(peer);
    if (!viewer)
        return;
    list_remove(&viewer->over);
    list_remove(&viewer->drained);
    while (!list_empty(&viewer->streams)) {
        struct hcs_client *client = list_entry(viewer->streams.next, struct hcs_client, by_peer);
        part(peer, client);
        client->has_left = client->leaving = true;
        hcs_mail_post(shard, client->session_shard, &client->leave, HCS_MAIL_LEAVE);
    }
}

void hcs_client_left(struct shard *shard, struct hcs_client *client) {
    assert(client->leaving);
    client->leaving = false;
    free_when_at_rest(shard, client);
}

// --- Frames for clients

static struct hcs_frame_subject about(const struct hcs_client *client) {
    return (struct hcs_frame_subject){hcs_client_id(client), hcs_client_request_id(client), client->id_bytes,
                                      client->request_id_bytes};
}

static struct peer *peer_at(const struct shard *shard, const struct hcs_client *client) {
    assert(connection_shard(client->connection) == shard->index);
    return client->has_left ? NULL : peer_find(shard, client->connection);
}

static void deliver_parcel(struct shard *shard, struct peer *peer, struct hcs_client *client,
                           struct streamed *streamed) {
    streamed->id = hcs_client_id(client);
    streamed->id_bytes = client->id_bytes;
    streamed->has_seq = client->has_seq;
    streamed->seq = client->last_seq;
    client->on_streamed(shard, peer, streamed);
}

static void deliver(struct shard *shard, struct peer *peer, struct hcs_client *client, struct parcel *parcel,
                    struct hcs_tag tag) {
    stats_count(&shard->stats, FEATURE_COUNTER(FEATURE_HCS, HCS_COUNT_DELIVERED));
    parcel = hcs_mail_fit(shard, peer, parcel);
    if (parcel && tag.type == TYPE_CHUNK) {
        parcel->of_stream = true;
        parcel->stream = client->tag;
        client->has_queued = true;
    }
    if (parcel && !client->on_streamed)
        send_queue_required(shard, peer, parcel);
    if (!parcel || !client->on_streamed)
        return;
    struct streamed streamed = {
        .kind = STREAMED_FRAME, .type = hcs_type_text(tag.type), .ends = tag.ends, .parcel = parcel};
    deliver_parcel(shard, peer, client, &streamed);
}

// Sends a client the report of shed chunks. Without memory a later call sends the report.
static void report_shed(struct shard *shard, struct peer *peer, struct hcs_client *client) {
    if (!shed_any(&client->shed))
        return;
    struct parcel *parcel = hcs_frames_shed(shard, about(client), &client->shed);
    if (!parcel)
        return;
    client->shed = (struct shed){0};
    deliver(shard, peer, client, parcel, (struct hcs_tag){.type = TYPE_CONTROL});
}

static void drop_chunk(struct shard *shard, struct hcs_client *client, struct parcel *parcel,
                       unsigned counter) {
    drop_one(shard, counter, client->connection, parcel->bytes);
    send_release(shard, parcel);
}

// Sheds a chunk if the peer's queue is too full. Returns whether the chunk was shed: then it is freed.
static bool shed_chunk(struct shard *shard, struct peer *peer, struct hcs_client *client,
                       struct parcel *parcel, struct hcs_tag tag) {
    size_t waiting = connection_waiting(&peer->connection);
    if (!shed_drops(tag.lod, waiting, shard_limits(shard)->queue_bytes_max))
        return false;
    shed_note(&client->shed, tag.lod, tag.seq);
    drop_chunk(shard, client, parcel,
               tag.lod == LOD_ATOMIC ? FEATURE_COUNTER(FEATURE_HCS, HCS_DROP_ATOMIC)
                                     : FEATURE_COUNTER(FEATURE_HCS, HCS_DROP_MICRO));
    return true;
}

// --- How fast peers read

static void report(struct shard *shard, struct hcs_client *client, uint8_t reading) {
    if (client->reporting || client->is_home || client->known == reading)
        return;
    client->known = reading;
    client->reporting = true;
    client->report.detail = reading;
    hcs_mail_post(shard, client->session_shard, &client->report, HCS_MAIL_REPORT);
}

static void report_all(struct shard *shard, struct hcs_viewer *viewer) {
    for (struct list *node = viewer->streams.next; node != &viewer->streams; node = node->next)
        report(shard, list_entry(node, struct hcs_client, by_peer), report_of(viewer));
}

void hcs_client_reported(struct shard *shard, struct hcs_client *client) {
    assert(client->reporting);
    client->reporting = false;
    struct peer *peer = peer_at(shard, client);
    if (peer && !client->is_home)
        report(shard, client, report_of(viewer_at(peer)));
    free_when_at_rest(shard, client);
}

static void look_later(struct shard *shard) {
    if (!timer_armed(&hcs_of(shard)->look_timer))
        wheel_arm(&shard->wheel, &hcs_of(shard)->look_timer, shard_now_ms(shard) + LOOK_MS);
}

static void begin_over(struct shard *shard, struct hcs_viewer *viewer) {
    list_append(&hcs_of(shard)->over, &viewer->over);
    viewer->taken = io_ack_mark(shard->io, viewer->peer->connection.socket);
    viewer->taken_ms = shard_tick(shard);
    viewer->is_stuck = false;
    look_later(shard);
}

static void end_over(struct shard *shard, struct hcs_viewer *viewer) {
    list_remove(&viewer->over);
    viewer->is_stuck = false;
    for (struct list *node = viewer->streams.next; node != &viewer->streams; node = node->next)
        report_shed(shard, viewer->peer, list_entry(node, struct hcs_client, by_peer));
}

static void update_over(struct shard *shard, struct hcs_viewer *viewer) {
    bool was_over = !list_empty(&viewer->over);
    size_t waiting = connection_waiting(&viewer->peer->connection);
    bool over = shed_is_over(was_over, waiting, shard_limits(shard)->queue_bytes_max);
    if (over == was_over)
        return;
    if (over)
        begin_over(shard, viewer);
    else
        end_over(shard, viewer);
    report_all(shard, viewer);
}

void hcs_client_look_at_drained(struct shard *shard) {
    for (struct list *node; (node = list_take(&hcs_of(shard)->drained));)
        update_over(shard, list_entry(node, struct hcs_viewer, drained));
}

static void look_at(struct shard *shard, struct hcs_viewer *viewer) {
    uint32_t taken = io_ack_mark(shard->io, viewer->peer->connection.socket);
    bool was_over = viewer->is_stuck;
    if (taken != viewer->taken)
        viewer->taken_ms = shard_tick(shard);
    viewer->taken = taken;
    viewer->is_stuck = shard_since(shard, viewer->taken_ms) >= STUCK_READER_MS;
    if (viewer->is_stuck != was_over)
        report_all(shard, viewer);
}

void hcs_client_look_at_over(struct shard *shard) {
    struct list *over = &hcs_of(shard)->over;
    for (struct list *node = over->next; node != over; node = node->next)
        look_at(shard, list_entry(node, struct hcs_viewer, over));
    if (!list_empty(over))
        look_later(shard);
}

// --- Mail

void hcs_client_take(struct shard *shard, struct parcel *parcel) {
    struct hcs_client *client = parcel->to;
    struct hcs_tag tag = hcs_tag_unpack(parcel->hub_id);
    struct peer *peer = peer_at(shard, client);
    parcel->hub_id = 0;
    if (!peer) {
        drop_chunk(shard, client, parcel, COUNT_DROP_TARGET_GONE);
        return;
    }
    if (tag.type == TYPE_CHUNK && shed_chunk(shard, peer, client, parcel, tag))
        return;
    if (tag.type == TYPE_CHUNK) {
        client->has_seq = true;
        client->last_seq = tag.seq;
    }
    if (tag.ends)
        report_shed(shard, peer, client);
    deliver(shard, peer, client, parcel, tag);
    update_over(shard, viewer_at(peer));
}

void hcs_client_flush(struct shard *shard, struct parcel *parcel) {
    struct hcs_client *client = parcel->to;
    struct peer *peer = peer_at(shard, client);
    struct parcel_list dropped;
    send_release(shard, parcel);
    if (!peer || !client->has_queued) // no chunk waits, so the queue needn't be searched
        return;
    client->has_queued = false;
    parcel_list_init(&dropped);
    outbox_filter(&peer->connection.outbox, client->tag, &dropped);
    for (struct parcel *chunk; (chunk = parcel_list_take(&dropped));)
        drop_chunk(shard, client, chunk, FEATURE_COUNTER(FEATURE_HCS, HCS_DROP_FLUSHED));
    update_over(shard, viewer_at(peer));
}

void hcs_client_opened(struct shard *shard, struct hcs_client *client) {
    struct peer *peer = peer_at(shard, client);
    struct streamed streamed = {.kind = STREAMED_OPEN};
    assert(client->on_streamed);
    if (peer)
        deliver_parcel(shard, peer, client, &streamed);
}

// Returns how a stream over HTTP ends after this refusal.
static enum streamed_kind end_of_stream(enum hcs_refusal refusal) {
    switch (refusal) {
    case HCS_REFUSAL_FORGOTTEN:
        return STREAMED_UNKNOWN;
    case HCS_REFUSAL_BARRED:
        return STREAMED_BARRED;
    default:
        return STREAMED_OVER;
    }
}

// Tells a peer that it is no client of the session any more, or hasn't become one.
static void tell_returned(struct shard *shard, struct peer *peer, struct hcs_client *client) {
    enum hcs_refusal refusal = client->mail.detail;
    struct streamed streamed = {.kind = end_of_stream(refusal)};
    report_shed(shard, peer, client);
    part(peer, client);
    if (refusal == HCS_REFUSAL_LOST)
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
    else if (client->on_streamed)
        deliver_parcel(shard, peer, client, &streamed);
    peer_settle(shard, peer);
}

void hcs_client_returned(struct shard *shard, struct hcs_client *client) {
    // peer_find doesn't find a peer that is closing, but the peer's memory stays until it has left.
    struct peer *peer = client->has_left ? NULL : shard->peers.slots[connection_slot(client->connection)];
    assert(!client->is_home);
    client->is_home = true;
    if (peer && peer->state == PEER_CLOSING)
        part(peer, client);
    else if (peer)
        tell_returned(shard, peer, client);
    free_when_at_rest(shard, client);
}
