#include "router/stream/stream.h"

#include <assert.h>

#include "router/engine/shard/post.h"
#include "router/stream/client.h"
#include "router/stream/entry.h"
#include "router/stream/keeping.h"
#include "router/stream/mood.h"
#include "router/stream/saying.h"
#include "router/stream/says.h"
#include "router/stream/session.h"
#include "router/stream/starting.h"
#include "router/stream/telling.h"
#include "router/stream/web.h"

// --- Of clients, at the session

static void client_leaves(struct shard *shard, struct stream_client *client) {
    if (client->session) {
        session_let_go(shard, client->session, client, REFUSAL_NONE);
    }
    telling_post(shard, connection_shard(client->connection), &client->leave, MAIL_STREAM_LEFT);
}

static void client_reports(struct shard *shard, struct stream_client *client) {
    if (client->session)
        session_note_reading(shard, client->session, client, client->report.detail);
    telling_post(shard, connection_shard(client->connection), &client->report, MAIL_STREAM_HEARD);
}

// --- Mail

static struct parcel *stream_parcel_of(struct mail *mail) {
    return list_entry(mail, struct parcel, mail);
}

#define CLIENT_OF(letter, member) list_entry(letter, struct stream_client, member)

static void take_client_mail(struct shard *shard, struct mail *mail) {
    switch ((enum mail_kind)mail->kind) {
    case MAIL_STREAM_JOIN:
        starting_join(shard, CLIENT_OF(mail, mail));
        break;
    case MAIL_STREAM_HOME:
        client_came_home(shard, CLIENT_OF(mail, mail));
        break;
    case MAIL_STREAM_OPENED:
        client_opened(shard, CLIENT_OF(mail, opened));
        break;
    case MAIL_STREAM_LEAVE:
        client_leaves(shard, CLIENT_OF(mail, leave));
        break;
    case MAIL_STREAM_LEFT:
        client_left(shard, CLIENT_OF(mail, leave));
        break;
    case MAIL_STREAM_REPORT:
        client_reports(shard, CLIENT_OF(mail, report));
        break;
    case MAIL_STREAM_HEARD:
        client_heard(shard, CLIENT_OF(mail, report));
        break;
    case MAIL_STREAM_ERRAND:
        saying_errand(shard, list_entry(mail, struct errand, mail));
        break;
    case MAIL_STREAM_DONE:
        streams_posted(shard, list_entry(mail, struct errand, mail));
        break;
    default:
        assert(false);
    }
}

void stream_mail(struct shard *shard, struct mail *mail) {
    switch ((enum mail_kind)mail->kind) {
    case MAIL_STREAM_FRAME:
        saying_frame(shard, stream_parcel_of(mail));
        break;
    case MAIL_STREAM_GIVE:
        client_take(shard, stream_parcel_of(mail));
        break;
    case MAIL_STREAM_FLUSH:
        client_flush(shard, stream_parcel_of(mail));
        break;
    case MAIL_STREAM_TELL:
        telling_arrived(shard, stream_parcel_of(mail));
        break;
    case MAIL_STREAM_START:
        starting_arrived(shard, stream_parcel_of(mail));
        break;
    case MAIL_STREAM_TURNED:
        starting_turned(shard, stream_parcel_of(mail));
        break;
    default:
        take_client_mail(shard, mail);
    }
}

void stream_read_own(struct shard *shard) {
    struct hcs_shard *streams = &shard->streams;
    for (struct mail *mail; (mail = streams->own);) {
        streams->own = mail->next;
        if (!streams->own)
            streams->own_last = &streams->own;
        stream_mail(shard, mail);
    }
}

void stream_follow(struct shard *shard) {
    if (!list_empty(&shard->streams.eased))
        client_look_at_eased(shard);
}

// --- Time

static void end_with(struct shard *shard, struct session *session, enum says_code code, const char *message) {
    struct parcel *error = says_error(shard, session_about(session), code, message, true, NULL, 0);
    session_end(shard, session, error, TYPE_ERROR);
}

static void tell_producer_of_end(struct shard *shard, struct session *session) {
    struct parcel *error = says_error(shard, session_about(session), SAYS_STREAM_TIMEOUT,
                                      "nobody listens any more", true, NULL, 0);
    if (error)
        telling_say(shard, session->producer, error, true);
}

void stream_expired(struct shard *shard, struct timer *timer) {
    struct session *session = list_entry(timer, struct session, timer);
    uint64_t now_ms = shard_now_ms(shard);
    if (session->retry_ms && session->retry_ms <= now_ms)
        session_retry(shard, session);
    if (session->ended && mood_linger_ms(shard, session) <= now_ms) {
        session_forget(shard, session);
    } else if (mood_silence_ms(shard, session) <= now_ms) {
        end_with(shard, session, SAYS_STREAM_TIMEOUT, "the producer has said nothing for too long");
    } else if (!session->ended && mood_linger_ms(shard, session) <= now_ms) {
        tell_producer_of_end(shard, session);
        end_with(shard, session, SAYS_STREAM_TIMEOUT, "nobody has listened for too long");
    } else {
        mood_watch(shard, session);
    }
}

void stream_look(struct shard *shard) {
    client_look_at_over(shard);
}

// --- Leaving

enum { SURVEYED_MAX = 1024 }; // sessions, so that it stays one turn's work

void stream_survey(const struct shard *shard, struct survey_sessions *found) {
    const struct list *live = &shard->streams.live;
    unsigned left = SURVEYED_MAX;
    assert(found->count == 0);
    for (const struct list *node = live->prev; node != live && left > 0; node = node->prev, left--) {
        const struct session *session = list_entry(node, struct session, link);
        const struct hcs_flow *flow = &session->flow;
        survey_rank_session(found, &(struct survey_session){.producer = session->producer,
                                                            .mood = flow->told,
                                                            .clients = flow->clients,
                                                            .over = flow->over,
                                                            .stuck = flow->stuck,
                                                            .seq = session->history.last_seq,
                                                            .history_bytes = session->history.bytes});
    }
}

void stream_leave(struct shard *shard, struct peer *peer) {
    client_leave_all(shard, peer);
}

void stream_producer_left(struct shard *shard, struct home *home) {
    while (!list_empty(&home->streams))
        end_with(shard, list_entry(home->streams.next, struct session, by_producer), SAYS_STREAM_TIMEOUT,
                 "the producer has left");
}

void stream_mark(struct home *home) {
    for (struct list *node = home->streams.next; node != &home->streams; node = node->next)
        list_entry(node, struct session, by_producer)->marked = true;
}

uint32_t stream_producer_rests(struct shard *shard, struct home *home, const struct spared *spared) {
    uint32_t count = 0;
    for (struct list *node = home->streams.next, *next; node != &home->streams; node = next) {
        struct session *session = list_entry(node, struct session, by_producer);
        next = node->next;
        bool is_later = spared->marked && !session->marked;
        if (is_later || spared_has(spared, starting_id(shard->index, session->handle)))
            continue;
        end_with(shard, session, SAYS_STREAM_TIMEOUT, "the producer has ended");
        count++;
    }
    return count;
}

void stream_relieve(struct shard *shard) {
    keeping_relieve(shard);
}

void stream_end_pauses(struct shard *shard) {
    struct list *ended = &shard->streams.ended;
    for (struct list *node = ended->next; node != ended; node = node->next)
        session_end_pauses(shard, list_entry(node, struct session, link));
}

void stream_end_all(struct shard *shard) {
    while (!list_empty(&shard->streams.live))
        end_with(shard, list_entry(shard->streams.live.next, struct session, link), SAYS_INTERNAL,
                 "the hub ends");
}

void stream_forget_all(struct shard *shard) {
    stream_end_all(shard);
    while (!list_empty(&shard->streams.ended))
        session_forget(shard, list_entry(shard->streams.ended.next, struct session, link));
}

bool stream_all_ended(const struct shard *shard) {
    return list_empty(&shard->streams.live);
}

bool stream_all_told(const struct shard *shard) {
    return stream_all_ended(shard) && shard->streams.client_count == 0;
}

bool stream_all_home(const struct shard *shard) {
    return shard->streams.out == 0 && !shard->streams.own;
}
