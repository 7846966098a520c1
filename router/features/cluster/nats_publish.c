#include "router/features/cluster/nats_publish.h"

#include <assert.h>
#include <string.h>

#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/forwarding/remote_target.h"

enum { PART_BYTES_MAX = 64 << 10, HEAD_BYTES = 512 };

static void lose(struct link *link) {
    assert(link->peer);
    drop_one(link->shard, COUNT_DROP_NO_MEMORY, link->peer->connection_id, 0);
    peer_close(link->shard, link->peer, COUNT_CLOSED_NO_MEMORY);
}

// Makes a parcel of the text. Returns NULL without memory: then the link is closed.
static struct parcel *take_text(struct link *link, struct text *text) {
    struct parcel *parcel =
        text->failed ? NULL : parcel_from_text(&link->shard->parcels, text->bytes, text->length);
    if (parcel) {
        parcel->lane = LANE_NORMAL;
        return parcel;
    }
    text_deinit(text);
    lose(link);
    return NULL;
}

void nats_write(struct link *link, struct text *lines) {
    bool is_empty = !lines->failed && lines->length == 0;
    struct parcel *parcel = is_empty ? NULL : take_text(link, lines);
    assert(link->peer);
    if (!parcel)
        return;
    parcel->is_encoded = true;
    send_queue_required(link->shard, link->peer, parcel);
}

void nats_write_text(struct link *link, const char *lines) {
    struct text text;
    assert(*lines);
    text_init(&text);
    text_put(&text, lines);
    nats_write(link, &text);
}

void nats_write_ping(struct link *link) {
    if (link->pings == link->pongs)
        link->unanswered_ms = shard_now_ms(link->shard);
    link->pings++;
    link->pinged_ms = shard_now_ms(link->shard);
    nats_write_text(link, "PING\r\n");
}

size_t nats_publish_room(const struct link *link) {
    uint64_t max = atomic_load_explicit(&link->shard->hub->link_payload_bytes_max, memory_order_relaxed);
    uint64_t room = max > 2 * HEAD_BYTES ? max - HEAD_BYTES : HEAD_BYTES;
    assert(link->shard->index == 0);
    return room < PART_BYTES_MAX ? (size_t)room : PART_BYTES_MAX;
}

// Writes the subject. Returns its bytes; 0: no subject can have the name.
static size_t put_subject(const struct link *link, const struct hub_words *words,
                          char out[SUBJECT_BYTES_MAX]) {
    const char *cluster = link->shard->hub->start_settings.cluster.name;
    bool is_numbered = words->kind == SUBJECT_ANSWER || words->kind == SUBJECT_HELD;
    char token[SUBJECT_NAME_BYTES_MAX];
    assert(words->kind <= SUBJECT_KINDS_COUNT);
    if (words->kind == SUBJECT_KINDS_COUNT) {
        bool fits = words->name_bytes <= SUBJECT_BYTES_MAX;
        memcpy(out, words->name, fits ? words->name_bytes : 0);
        return fits ? words->name_bytes : 0;
    }
    if (words->kind != SUBJECT_NAME)
        return subject_write_hub(out, cluster, words->hub, words->kind, is_numbered ? words->number : 0);
    size_t bytes = subject_escape(token, words->name, words->name_bytes);
    return bytes ? subject_write(out, cluster, &link->realm, SUBJECT_NAME, token, bytes) : 0;
}

bool nats_publish(struct link *link, const struct hub_words *words, struct text *json) {
    char subject[SUBJECT_BYTES_MAX], reply[SUBJECT_BYTES_MAX];
    struct shard *shard = link->shard;
    struct hub_envelope envelope = {
        .subject = subject, .reply = reply, .is_json = !words->is_frame, .source.user = words->user};
    assert(!words->hub || words->kind > SUBJECT_NAME);
    envelope.is_bare = words->kind == SUBJECT_KINDS_COUNT;
    bool is_answered = words->number && words->kind != SUBJECT_ANSWER && words->kind != SUBJECT_HELD;
    uint64_t bytes;
    envelope.subject_bytes = put_subject(link, words, subject);
    if (is_answered)
        envelope.reply_bytes = answer_subject_put(&shard->remote_link.answers, words->number, reply);
    // After a hub has announced its end, another message would make members add the hub again.
    struct parcel *parcel = envelope.subject_bytes && !link->has_left ? take_text(link, json) : NULL;
    if (parcel && remote_target_put_head(shard, parcel, &envelope, &bytes) == ERROR_NONE) {
        send_queue_required(shard, link->peer, parcel);
    } else if (parcel) {
        send_release(shard, parcel);
        lose(link);
    } else {
        text_deinit(json);
    }
    return envelope.subject_bytes > 0;
}
