#include "router/features/hcs/hcs.h"

#include <assert.h>

#include "router/engine/shard/post.h"
#include "router/features/hcs/hcs_client.h"
#include "router/features/hcs/hcs_delivery.h"
#include "router/features/hcs/hcs_dispatch.h"
#include "router/features/hcs/hcs_frames.h"
#include "router/features/hcs/hcs_http_ingress.h"
#include "router/features/hcs/hcs_ingress.h"
#include "router/features/hcs/hcs_mail.h"
#include "router/features/hcs/hcs_open.h"
#include "router/features/hcs/hcs_session.h"

// --- Clients, at the session

static void take_leave(struct shard *shard, struct hcs_client *client) {
    if (client->session) {
        hcs_session_remove(shard, client->session, client, HCS_REFUSAL_NONE);
    }
    hcs_mail_post(shard, connection_shard(client->connection), &client->leave, MAIL_STREAM_LEFT);
}

static void take_report(struct shard *shard, struct hcs_client *client) {
    if (client->session)
        hcs_session_note_reading(shard, client->session, client, client->report.detail);
    hcs_mail_post(shard, connection_shard(client->connection), &client->report, MAIL_STREAM_HEARD);
}

// --- Mail

static struct parcel *hcs_parcel_of(struct mail *mail) {
    return list_entry(mail, struct parcel, mail);
}

#define CLIENT_OF(letter, member) list_entry(letter, struct hcs_client, member)

static void take_client_mail(struct shard *shard, struct mail *mail) {
    switch ((enum mail_kind)mail->kind) {
    case MAIL_STREAM_JOIN:
        hcs_open_join(shard, CLIENT_OF(mail, mail));
        break;
    case MAIL_STREAM_HOME:
        hcs_client_returned(shard, CLIENT_OF(mail, mail));
        break;
    case MAIL_STREAM_OPENED:
        hcs_client_opened(shard, CLIENT_OF(mail, opened));
        break;
    case MAIL_STREAM_LEAVE:
        take_leave(shard, CLIENT_OF(mail, leave));
        break;
    case MAIL_STREAM_LEFT:
        hcs_client_left(shard, CLIENT_OF(mail, leave));
        break;
    case MAIL_STREAM_REPORT:
        take_report(shard, CLIENT_OF(mail, report));
        break;
    case MAIL_STREAM_HEARD:
        hcs_client_reported(shard, CLIENT_OF(mail, report));
        break;
    case MAIL_STREAM_HTTP_FRAME:
        hcs_dispatch_http_frame(shard, list_entry(mail, struct hcs_http_frame, mail));
        break;
    case MAIL_STREAM_DONE:
        hcs_http_posted(shard, list_entry(mail, struct hcs_http_frame, mail));
        break;
    default:
        assert(false);
    }
}

void hcs_take_mail(struct shard *shard, struct mail *mail) {
    switch ((enum mail_kind)mail->kind) {
    case MAIL_STREAM_FRAME:
        hcs_dispatch_frame(shard, hcs_parcel_of(mail));
        break;
    case MAIL_STREAM_GIVE:
        hcs_client_take(shard, hcs_parcel_of(mail));
        break;
    case MAIL_STREAM_FLUSH:
        hcs_client_flush(shard, hcs_parcel_of(mail));
        break;
    case MAIL_STREAM_TELL:
        hcs_mail_arrived(shard, hcs_parcel_of(mail));
        break;
    case MAIL_STREAM_START:
        hcs_open_arrived(shard, hcs_parcel_of(mail));
        break;
    case MAIL_STREAM_TURNED:
        hcs_open_turned(shard, hcs_parcel_of(mail));
        break;
    default:
        take_client_mail(shard, mail);
    }
}

void hcs_read_own(struct shard *shard) {
    struct hcs_shard *streams = &shard->streams;
    for (struct mail *mail; (mail = streams->own);) {
        streams->own = mail->next;
        if (!streams->own)
            streams->own_last = &streams->own;
        hcs_take_mail(shard, mail);
    }
}

void hcs_turn(struct shard *shard) {
    if (!list_empty(&shard->streams.drained))
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

void hcs_expired(struct shard *shard, struct timer *timer) {
    struct hcs_session *session = list_entry(timer, struct hcs_session, timer);
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

void hcs_look(struct shard *shard) {
    hcs_client_look_at_over(shard);
}

// --- Leaving

enum { SURVEYED_MAX = 1024 }; // sessions, so that it stays one turn's work

void hcs_survey(const struct shard *shard, struct survey_sessions *found) {
    const struct list *live = &shard->streams.live;
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

void hcs_producer_left(struct shard *shard, struct home *home) {
    while (!list_empty(&home->streams))
        end_with(shard, list_entry(home->streams.next, struct hcs_session, by_producer),
                 HCS_FRAMES_STREAM_TIMEOUT, "the producer has left");
}

void hcs_mark(struct home *home) {
    for (struct list *node = home->streams.next; node != &home->streams; node = node->next)
        list_entry(node, struct hcs_session, by_producer)->marked = true;
}

uint32_t hcs_producer_rests(struct shard *shard, struct home *home, const struct spared *spared) {
    uint32_t count = 0;
    for (struct list *node = home->streams.next, *next; node != &home->streams; node = next) {
        struct hcs_session *session = list_entry(node, struct hcs_session, by_producer);
        next = node->next;
        bool is_later = spared->marked && !session->marked;
        if (is_later || spared_has(spared, hcs_open_id(shard->index, session->handle)))
            continue;
        end_with(shard, session, HCS_FRAMES_STREAM_TIMEOUT, "the producer has ended");
        count++;
    }
    return count;
}

bool hcs_relieve(struct shard *shard) {
    if (hcs_delivery_relieve(shard))
        return true;
    hcs_retention_relieve(shard);
    return false;
}

void hcs_end_pauses(struct shard *shard) {
    struct list *ended = &shard->streams.ended;
    for (struct list *node = ended->next; node != ended; node = node->next)
        hcs_session_end_pauses(shard, list_entry(node, struct hcs_session, link));
}

void hcs_end_all(struct shard *shard) {
    while (!list_empty(&shard->streams.live))
        end_with(shard, list_entry(shard->streams.live.next, struct hcs_session, link), HCS_FRAMES_INTERNAL,
                 "the hub ends");
}

void hcs_forget_all(struct shard *shard) {
    hcs_end_all(shard);
    while (!list_empty(&shard->streams.ended))
        hcs_session_forget(shard, list_entry(shard->streams.ended.next, struct hcs_session, link));
}

bool hcs_all_ended(const struct shard *shard) {
    return list_empty(&shard->streams.live);
}

bool hcs_all_notified(const struct shard *shard) {
    return hcs_all_ended(shard) && shard->streams.client_count == 0;
}

bool hcs_all_returned(const struct shard *shard) {
    return shard->streams.out == 0 && !shard->streams.own;
}
