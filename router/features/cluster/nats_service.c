#include <assert.h>
#include <string.h>

#include "core/wire/nats.h"
#include "router/engine/send/reply.h"
#include "router/engine/send/send.h"
#include "router/features/cluster/nats_handshake.h"
#include "router/features/cluster/nats_publish.h"

enum { ENDPOINT_BYTES = 512, ANSWER_BYTES_MAX = 1 << 20 }; // ENDPOINT_BYTES: of an endpoint besides its name

enum verb { VERB_PING, VERB_INFO, VERB_STATS, VERBS_COUNT };
static const struct {
    const char *subject, *type;
} verbs[VERBS_COUNT] = {[VERB_PING] = {"$SRV.PING", "ping"},
                        [VERB_INFO] = {"$SRV.INFO", "info"},
                        [VERB_STATS] = {"$SRV.STATS", "stats"}};

// Puts an endpoint. An agent has its own name. Other names have their kind before them: "method-build".
static void put_endpoint(struct text *out, const struct nats_subscription *present, enum verb verb) {
    enum { NS_A_MS = 1000000 };
    static const char *const kinds[] = {[SUBJECT_AGENT] = "",
                                        [SUBJECT_CAPABILITY] = "can-",
                                        [SUBJECT_TOOL] = "tool-",
                                        [SUBJECT_METHOD] = "method-",
                                        [SUBJECT_COMMAND] = "command-"};
    assert(present->kind <= SUBJECT_COMMAND);
    text_put(out, "{\"name\":\"");
    text_put(out, kinds[present->kind]);
    text_add(out, present->subject + present->token_at, present->bytes - present->token_at);
    text_put(out, "\"");
    reply_data_string(out, "subject", present->subject, present->bytes);
    reply_data_string(out, "queue_group", "g", 1);
    if (verb == VERB_STATS) {
        reply_data_number(out, "num_requests", (int64_t)present->requests);
        reply_data_number(out, "num_errors", (int64_t)present->errors);
        reply_data_string(out, "last_error", "", 0);
        reply_data_number(out, "processing_time", (int64_t)(present->took_ms * NS_A_MS));
        reply_data_number(out, "average_processing_time",
                          present->requests ? (int64_t)(present->took_ms * NS_A_MS / present->requests) : 0);
    }
    text_put(out, "}");
}

// Puts as many endpoints as fit in one message of the server.
static void put_endpoints(struct text *out, const struct link *link, enum verb verb) {
    uint64_t max = atomic_load_explicit(&link->shard->hub->link_payload_bytes_max, memory_order_relaxed);
    max = max < ANSWER_BYTES_MAX ? max : ANSWER_BYTES_MAX;
    const char *between = "";
    text_put(out, ",\"endpoints\":[");
    LIST_EACH (const struct nats_subscription, present, &link->subscriptions.all, link) {
        if (present->kind > SUBJECT_COMMAND) // nobody answers requests of this kind
            continue;
        if (out->length + 2 * present->bytes + ENDPOINT_BYTES > max)
            break;
        text_put(out, between);
        put_endpoint(out, present, verb);
        between = ",";
    }
    text_put(out, "]");
}

static void put_answer(struct text *out, const struct link *link, enum verb verb) {
    static const char about[] = "a hub of agents; each endpoint is one of them, or what some of them offer";
    const struct shard *shard = link->shard;
    const char *cluster = shard->hub->start_settings.cluster.name;
    char started[TIMESTAMP_BYTES];
    text_put(out, "{\"type\":\"io.nats.micro.v1.");
    text_put(out, verbs[verb].type);
    text_put(out, "_response\",\"name\":\"" SERVICE_NAME "\",\"version\":\"" PATCHBAY_VERSION "\"");
    reply_data_string(out, "id", link->hub.text, link->hub.bytes);
    text_put(out, ",\"metadata\":{\"cluster\":");
    text_string(out, cluster, strlen(cluster));
    text_put(out, "}");
    if (verb == VERB_INFO)
        reply_data_string(out, "description", about, sizeof about - 1);
    timestamp_write(started, io_wall_ms(shard->io) - (shard_now_ms(shard) - link->up_ms));
    if (verb == VERB_STATS)
        reply_data_string(out, "started", started, sizeof started);
    if (verb != VERB_PING)
        put_endpoints(out, link, verb);
    text_put(out, "}");
}

bool nats_service_take(struct link *link, const uint8_t *bytes, const struct nats_message *said) {
    const uint8_t *subject = bytes + said->subject.at;
    struct hub_words words = {.kind = SUBJECT_KINDS_COUNT,
                              .name = (const char *)bytes + said->reply.at,
                              .name_bytes = said->reply.bytes};
    struct text body;
    for (unsigned verb = 0; verb < VERBS_COUNT; verb++) {
        size_t length = strlen(verbs[verb].subject);
        bool is_it = said->subject.bytes >= length && memcmp(subject, verbs[verb].subject, length) == 0 &&
                     (said->subject.bytes == length || subject[length] == '.');
        if (!is_it)
            continue;
        // No answer is needed without a reply subject, or sent when the link's queue is full.
        if (link->state != LINK_UP || !said->reply.bytes || !queue_limit_has_room(link->shard, link->peer))
            return true;
        text_init(&body);
        put_answer(&body, link, (enum verb)verb);
        nats_publish(link, &words, &body);
        return true;
    }
    return false;
}
