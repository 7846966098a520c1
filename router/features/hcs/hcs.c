#include "router/features/hcs/hcs.h"

#include <assert.h>

#include "router/engine/shard/feature.h"
#include "router/engine/shard/option.h"
#include "router/engine/shard/post.h"
#include "router/features/feature_list.h"
#include "router/features/hcs/hcs_client.h"
#include "router/features/hcs/hcs_dispatch.h"
#include "router/features/hcs/hcs_frames.h"
#include "router/features/hcs/hcs_ingress.h"
#include "router/features/hcs/hcs_session.h"
#include "router/features/hcs/hcs_shard.h"

// --- Clients, at the session

static void take_leave(struct shard *shard, struct hcs_client *client) {
    if (client->session) {
        hcs_session_remove(shard, client->session, client, HCS_REFUSAL_NONE);
    }
    hcs_mail_post(shard, connection_shard(client->connection), &client->leave, HCS_MAIL_LEFT);
}

static void take_report(struct shard *shard, struct hcs_client *client) {
    if (client->session)
        hcs_session_note_reading(shard, client->session, client, client->report.detail);
    hcs_mail_post(shard, connection_shard(client->connection), &client->report, HCS_MAIL_HEARD);
}

// --- Mail

static struct parcel *hcs_parcel_of(struct mail *mail) {
    return list_entry(mail, struct parcel, mail);
}

#define CLIENT_OF(letter, member) list_entry(letter, struct hcs_client, member)

static void take_client_mail(struct shard *shard, struct mail *mail, enum hcs_mail_kind kind) {
    switch (kind) {
    case HCS_MAIL_JOIN:
        hcs_open_join(shard, CLIENT_OF(mail, mail));
        break;
    case HCS_MAIL_HOME:
        hcs_client_returned(shard, CLIENT_OF(mail, mail));
        break;
    case HCS_MAIL_OPENED:
        hcs_client_opened(shard, CLIENT_OF(mail, opened));
        break;
    case HCS_MAIL_LEAVE:
        take_leave(shard, CLIENT_OF(mail, leave));
        break;
    case HCS_MAIL_LEFT:
        hcs_client_left(shard, CLIENT_OF(mail, leave));
        break;
    case HCS_MAIL_REPORT:
        take_report(shard, CLIENT_OF(mail, report));
        break;
    case HCS_MAIL_HEARD:
        hcs_client_reported(shard, CLIENT_OF(mail, report));
        break;
    case HCS_MAIL_HTTP_FRAME:
        hcs_dispatch_http_frame(shard, list_entry(mail, struct hcs_http_frame, mail));
        break;
    case HCS_MAIL_DONE:
        hcs_http_posted(shard, list_entry(mail, struct hcs_http_frame, mail));
        break;
    default:
        assert(false);
    }
}

static void hcs_take_mail(struct shard *shard, struct mail *mail, unsigned kind) {
    switch (kind) {
    case HCS_MAIL_FRAME:
        hcs_dispatch_frame(shard, hcs_parcel_of(mail));
        break;
    case HCS_MAIL_GIVE:
        hcs_client_take(shard, hcs_parcel_of(mail));
        break;
    case HCS_MAIL_FLUSH:
        hcs_client_flush(shard, hcs_parcel_of(mail));
        break;
    case HCS_MAIL_TELL:
        hcs_mail_arrived(shard, hcs_parcel_of(mail));
        break;
    case HCS_MAIL_START:
        hcs_open_arrived(shard, hcs_parcel_of(mail));
        break;
    case HCS_MAIL_TURNED:
        hcs_open_turned(shard, hcs_parcel_of(mail));
        break;
    default:
        take_client_mail(shard, mail, kind);
    }
}

static void hcs_turn(struct shard *shard) {
    if (!list_empty(&hcs_of(shard)->drained))
        hcs_client_look_at_drained(shard);
}

// --- Time

static void end_with(struct shard *shard, struct hcs_session *session, enum hcs_frames_code code,
                     const char *message) {
    struct parcel *error =
        hcs_frames_error(shard, hcs_session_subject(session), code, message, true, NULL, 0);
    hcs_session_end(shard, session, error, TYPE_ERROR);
}

static void notify_producer_end(struct shard *shard, struct hcs_session *session) {
    struct parcel *error = hcs_frames_error(shard, hcs_session_subject(session), HCS_FRAMES_STREAM_TIMEOUT,
                                            "nobody listens any more", true, NULL, 0);
    if (error)
        hcs_mail_send(shard, session->producer, error, true);
}

static void hcs_expired(struct shard *shard, struct hcs_session *session) {
    uint64_t now_ms = shard_now_ms(shard);
    if (session->retry_ms && session->retry_ms <= now_ms)
        hcs_session_retry(shard, session);
    if (session->ended && hcs_flow_control_linger_ms(shard, session) <= now_ms) {
        hcs_session_forget(shard, session);
    } else if (hcs_flow_control_silence_ms(shard, session) <= now_ms) {
        end_with(shard, session, HCS_FRAMES_STREAM_TIMEOUT, "the producer has said nothing for too long");
    } else if (!session->ended && hcs_flow_control_linger_ms(shard, session) <= now_ms) {
        notify_producer_end(shard, session);
        end_with(shard, session, HCS_FRAMES_STREAM_TIMEOUT, "nobody has listened for too long");
    } else {
        hcs_flow_control_watch(shard, session);
    }
}

static void hcs_timer(struct shard *shard, struct timer *timer, unsigned kind) {
    assert(kind == HCS_TIMER_LOOK || kind == HCS_TIMER_SESSION);
    if (kind == HCS_TIMER_LOOK)
        hcs_client_look_at_over(shard);
    else
        hcs_expired(shard, list_entry(timer, struct hcs_session, timer));
}

// --- Leaving

enum { SURVEYED_MAX = 1024 }; // sessions that one survey looks at, so that it fits one turn

static void hcs_survey(struct shard *shard) {
    struct survey_sessions *found = &shard->survey.page.sessions;
    const struct list *live = &hcs_of(shard)->live;
    unsigned remaining = SURVEYED_MAX;
    assert(found->count == 0);
    for (const struct list *node = live->prev; node != live && remaining > 0;
         node = node->prev, remaining--) {
        const struct hcs_session *session = list_entry(node, struct hcs_session, link);
        const struct hcs_flow *flow = &session->flow;
        survey_rank_session(found, &(struct survey_session){.producer = session->producer,
                                                            .flow_state = flow->told,
                                                            .clients = flow->clients,
                                                            .over = flow->over,
                                                            .stuck = flow->stuck,
                                                            .seq = session->history.last_seq,
                                                            .history_bytes = session->history.bytes});
    }
}

void hcs_leave(struct shard *shard, struct peer *peer) {
    hcs_client_leave_all(shard, peer);
}

static void hcs_producer_left(struct shard *shard, struct registrant *registrant) {
    while (!list_empty(&registrant->streams))
        end_with(shard, list_entry(registrant->streams.next, struct hcs_session, by_producer),
                 HCS_FRAMES_STREAM_TIMEOUT, "the producer has left");
}

static void hcs_mark(struct shard *shard, struct registrant *registrant) {
    (void)shard;
    for (struct list *node = registrant->streams.next; node != &registrant->streams; node = node->next)
        list_entry(node, struct hcs_session, by_producer)->marked = true;
}

static void hcs_producer_restarts(struct shard *shard, struct registrant *registrant,
                                  const struct exempt_requests *exempt_requests, uint32_t *ended) {
    for (struct list *node = registrant->streams.next, *next; node != &registrant->streams; node = next) {
        struct hcs_session *session = list_entry(node, struct hcs_session, by_producer);
        next = node->next;
        bool is_later = exempt_requests->marked && !session->marked;
        if (is_later || exempt_requests_has(exempt_requests, hcs_open_id(shard->index, session->handle)))
            continue;
        end_with(shard, session, HCS_FRAMES_STREAM_TIMEOUT, "the producer has ended");
        ++*ended;
    }
}

static bool hcs_relieve(struct shard *shard) {
    if (hcs_delivery_relieve(shard))
        return true;
    hcs_retention_relieve(shard);
    return false;
}

static void hcs_end_pauses(struct shard *shard) {
    struct list *ended = &hcs_of(shard)->ended;
    for (struct list *node = ended->next; node != ended; node = node->next)
        hcs_session_end_pauses(shard, list_entry(node, struct hcs_session, link));
}

static void hcs_end_all(struct shard *shard) {
    while (!list_empty(&hcs_of(shard)->live))
        end_with(shard, list_entry(hcs_of(shard)->live.next, struct hcs_session, link), HCS_FRAMES_INTERNAL,
                 "the hub ends");
}

static void hcs_forget_all(struct shard *shard) {
    hcs_end_all(shard);
    while (!list_empty(&hcs_of(shard)->ended))
        hcs_session_forget(shard, list_entry(hcs_of(shard)->ended.next, struct hcs_session, link));
}

static void hcs_drain(struct shard *shard) {
    assert(shard->phase != HUB_SERVING);
    if (shard->phase == HUB_DRAINING)
        hcs_end_pauses(shard);
    else if (shard->phase == HUB_CLOSING)
        hcs_forget_all(shard);
}

// Returns whether sessions of this shard haven't ended.
static bool hcs_has_pending(const struct shard *shard) {
    return !list_empty(&hcs_of(shard)->live);
}

// Waits until all clients have got their ends, and all clients and HTTP frames have come back.
static bool hcs_holds_phase(const struct shard *shard) {
    assert(shard->phase != HUB_SERVING);
    if (shard->phase == HUB_DRAINING)
        return hcs_has_pending(shard) || hcs_of(shard)->client_count > 0;
    return shard->phase == HUB_STOPPED && hcs_of(shard)->out > 0;
}

// --- The registration

// Takes a frame of a peer. Sessions don't extend to other hubs, so their messages aren't taken.
static bool hcs_take_stream(struct shard *shard, const struct message *message) {
    assert(message->lookup.kind == BODY_STREAM && !message->exchange);
    if (message->origin)
        return false;
    hcs_ingress_route(shard, message);
    return true;
}

// Marks a peer that reads, which may not be over any more.
static void hcs_peer_read(struct shard *shard, struct peer *peer) {
    struct hcs_viewer *viewer = hcs_viewer_of(peer);
    if (viewer && !list_empty(&viewer->over) && list_empty(&viewer->drained))
        list_append(&hcs_of(shard)->drained, &viewer->drained);
}

static const struct option hcs_options[] = {
    {"max-sessions", OPTION_COUNT, OPTIONS_STREAMS, OPTION_RELOADS,
     OPTION_OWN(FEATURE_HCS, HCS_OPTION_SESSIONS_MAX), 1, 1u << 20, NULL, "N", "65536", NULL,
     "HCS sessions at most"},
    {"session-history", OPTION_SIZE, OPTIONS_STREAMS, OPTION_RELOADS,
     OPTION_OWN(FEATURE_HCS, HCS_OPTION_HISTORY_BYTES_MAX), 1, UINT64_C(1) << 40, NULL, "SIZE", "1M", NULL,
     "size of the chunks that an HCS session keeps for clients that join later"},
    {"session-silence", OPTION_TIME, OPTIONS_STREAMS, OPTION_RELOADS,
     OPTION_OWN(FEATURE_HCS, HCS_OPTION_SILENCE_NS), OPTION_MS, 24 * OPTION_HOUR, NULL, "TIME", "30s", NULL,
     "time that a producer may send nothing in an HCS session"},
    {"session-linger", OPTION_TIME, OPTIONS_STREAMS, OPTION_RELOADS,
     OPTION_OWN(FEATURE_HCS, HCS_OPTION_LINGER_NS), OPTION_MS, 24 * OPTION_HOUR, NULL, "TIME", "60s", NULL,
     "time that an HCS session is kept without clients, or after its end"},
    {.name = NULL},
};

static const struct stats_row hcs_counters[HCS_COUNTERS + 1] = {
    [HCS_DROP_REFUSED] = {"dropped_hcs_frames_refused", "dropped_total", "kind=\"hcs\",reason=\"refused\"",
                          NULL, STATS_AFTER(COUNT_DROP_PROGRESS_OVER_PAYLOAD)},
    [HCS_DROP_ENDED] = {"dropped_hcs_frames_session_ended", "dropped_total",
                        "kind=\"hcs\",reason=\"session_ended\"", NULL,
                        STATS_AFTER(COUNT_DROP_PROGRESS_OVER_PAYLOAD)},
    [HCS_DROP_SEQ] = {"dropped_hcs_frames_seq", "dropped_total", "kind=\"hcs\",reason=\"seq\"", NULL,
                      STATS_AFTER(COUNT_DROP_PROGRESS_OVER_PAYLOAD)},
    [HCS_DROP_ATOMIC] = {"dropped_hcs_chunks_shed_atomic", "dropped_total",
                         "kind=\"hcs\",reason=\"shed_atomic\"", NULL,
                         STATS_AFTER(COUNT_DROP_PROGRESS_OVER_PAYLOAD)},
    [HCS_DROP_MICRO] = {"dropped_hcs_chunks_shed_micro", "dropped_total",
                        "kind=\"hcs\",reason=\"shed_micro\"", NULL,
                        STATS_AFTER(COUNT_DROP_PROGRESS_OVER_PAYLOAD)},
    [HCS_DROP_FLUSHED] = {"dropped_hcs_chunks_flushed", "dropped_total", "kind=\"hcs\",reason=\"flushed\"",
                          NULL, STATS_AFTER(COUNT_DROP_PROGRESS_OVER_PAYLOAD)},
    [HCS_DROP_GONE] = {"dropped_hcs_chunks_out_of_history", "dropped_total",
                       "kind=\"hcs\",reason=\"out_of_history\"", NULL,
                       STATS_AFTER(COUNT_DROP_PROGRESS_OVER_PAYLOAD)},
    [HCS_COUNT_FRAMES] = {"hcs_frames_received", "hcs_frames_received_total", NULL,
                          "Frames of HCS from peers.", STATS_AFTER(COUNT_RELOADS_FAILED)},
    [HCS_COUNT_DELIVERED] = {"hcs_frames_delivered", "hcs_frames_delivered_total", NULL,
                             "Frames of HCS queued for clients, one each.",
                             STATS_AFTER(COUNT_RELOADS_FAILED)},
    [HCS_COUNT_ERRORS] = {"hcs_errors_by_hub", "hcs_errors_by_hub_total", NULL,
                          "Error frames of HCS that the hub itself made.", STATS_AFTER(COUNT_RELOADS_FAILED)},
    [HCS_COUNT_BEGUN] = {"hcs_sessions_begun", "hcs_sessions_begun_total", NULL,
                         "Sessions of HCS that began.", STATS_AFTER(COUNT_RELOADS_FAILED)},
    [HCS_COUNT_ENDED] = {"hcs_sessions_ended", "hcs_sessions_ended_total", NULL,
                         "Sessions of HCS that ended.", STATS_AFTER(COUNT_RELOADS_FAILED)},
};

static const struct stats_row hcs_gauges[HCS_GAUGES + 1] = {
    [HCS_GAUGE_SESSIONS] = {"hcs_sessions", "hcs_sessions", NULL, "Sessions of HCS that live.",
                            STATS_AFTER(GAUGE_BUFFERS)},
    [HCS_GAUGE_PAUSED] = {"hcs_sessions_paused", "hcs_sessions_paused", NULL,
                          "Of them, those whose producer was told to pause.", STATS_AFTER(GAUGE_BUFFERS)},
    [HCS_GAUGE_CLIENTS] = {"hcs_clients", "hcs_clients", NULL, "Clients of sessions of HCS.",
                           STATS_AFTER(GAUGE_BUFFERS)},
    [HCS_GAUGE_CLIENTS_OVER] = {"hcs_clients_over", "hcs_clients_over", NULL,
                                "Of them, those that read too slowly.", STATS_AFTER(GAUGE_BUFFERS)},
    [HCS_GAUGE_HISTORY] = {"hcs_history_bytes", "hcs_history_bytes", NULL,
                           "Bytes that sessions of HCS keep for those who come later.",
                           STATS_AFTER(GAUGE_BUFFERS)},
};

const struct feature hcs_feature = {
    .name = "hcs",
    .counters = hcs_counters,
    .gauges = hcs_gauges,
    .stats_order = 2,
    .options = hcs_options,
    .shard_bytes = sizeof(struct hcs_shard),
    .hub_bytes = sizeof(struct hcs_hub),
    .open = hcs_shard_open,
    .close = hcs_shard_close,
    .mail = hcs_take_mail,
    .timer = hcs_timer,
    .turn_ends = hcs_turn,
    .survey = hcs_survey,
    .relieve = hcs_relieve,
    .peer_ended = hcs_leave,
    .peer_freed = hcs_shard_peer_freed,
    .peer_read = hcs_peer_read,
    .registrant_left = hcs_producer_left,
    .registrant_marked = hcs_mark,
    .registrant_rests = hcs_producer_restarts,
    .rights_changed = hcs_access_review,
    .take_stream = hcs_take_stream,
    .drain = hcs_drain,
    .has_pending = hcs_has_pending,
    .end_pending = hcs_end_all,
    .holds_phase = hcs_holds_phase,
};
