#include "router/features/cluster/nats_publish.h"

#include <assert.h>
#include <string.h>

#include "core/cluster/hub_header.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"

enum { PART_BYTES_MAX = 64 << 10, HEAD_BYTES = 512 };

static void write_lane(struct link *link, struct text *lines, enum parcel_lane lane) {
    struct shard *shard = link->shard;
    struct peer *peer = link->peer;
    assert(peer);
    if (!lines->failed && lines->length == 0)
        return;
    struct parcel *parcel = lines->failed ? NULL : parcel_own(&shard->parcels, lines->bytes, lines->length);
    if (!parcel) {
        text_deinit(lines);
        drop_one(shard, COUNT_DROP_NO_MEMORY, peer->name, 0);
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
        return;
    }
    parcel->dressed = true;
    parcel->lane = (uint8_t)lane;
    send_queue_owed(shard, peer, parcel);
}

void nats_write(struct link *link, struct text *lines) {
    assert(link->peer);
    write_lane(link, lines, LANE_NORMAL);
}

void nats_write_text(struct link *link, const char *lines) {
    struct text text;
    assert(*lines);
    text_init(&text);
    text_put(&text, lines);
    nats_write(link, &text);
}

void nats_write_ping(struct link *link) {
    assert(link->shard->index == 0);
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

void nats_publish(struct link *link, const struct hub_words *words) {
    char header[HUB_HEADER_BYTES_MAX], reply[SUBJECT_BYTES_MAX];
    struct hub_header_source source = {.user = words->user};
    const char *cluster = link->shard->hub->settings.cluster->name;
    struct text out;
    assert(words->subject_bytes > 0 && link->hub.bytes);
    if (link->has_left)
        return; // who hears it would take this hub for there again
    size_t header_bytes = hub_header_write(header, &link->hub, &source);
    text_init(&out);
    text_put(&out, "HPUB ");
    text_add(&out, words->subject, words->subject_bytes);
    text_put(&out, " ");
    if (words->answer) {
        text_add(&out, reply, subject_write_hub(reply, cluster, &link->hub, SUBJECT_ANSWER, words->answer));
        text_put(&out, " ");
    }
    text_number(&out, (int64_t)header_bytes);
    text_put(&out, " ");
    text_number(&out, (int64_t)(header_bytes + words->json_bytes));
    text_put(&out, "\r\n");
    text_add(&out, header, header_bytes);
    if (words->json_bytes)
        text_add(&out, words->json, words->json_bytes);
    text_put(&out, "\r\n");
    write_lane(link, &out, words->is_urgent ? LANE_URGENT : LANE_NORMAL);
}

void nats_publish_to(struct link *link, const struct hub_name *hub, enum subject_kind kind, uint64_t number,
                     struct text *json) {
    char subject[SUBJECT_BYTES_MAX];
    const char *cluster = link->shard->hub->settings.cluster->name;
    struct hub_words words = {.subject = subject};
    bool is_good = !json || !json->failed;
    assert(link->shard->index == 0);
    words.subject_bytes = hub ? subject_write_hub(subject, cluster, hub, kind, number)
                              : subject_write_hubs(subject, cluster, kind);
    words.json = json && is_good ? json->bytes : NULL;
    words.json_bytes = json && is_good ? json->length : 0;
    if (is_good)
        nats_publish(link, &words);
    else
        peer_close(link->shard, link->peer, COUNT_CLOSED_NO_MEMORY);
    if (json)
        text_deinit(json);
}
