#include "router/engine/shard/survey_scan.h"

#include <assert.h>

#include "router/engine/shard/peer.h"

enum {
    // How long surveys go on after a question: a client that asks each 15 s gets a fresh survey.
    ASKED_MS = 30000,
    WAKE_MS = 5000,  // a question after a longer pause wakes all shards
    PAUSE_MS = 1000, // from the start of a survey to the start of the next
    STEP_MS = 10,
    // Slots that one step scans: about 50 us.
    SLOTS_A_STEP = 1024,
    CHAINS_A_STEP = 64,
};

static bool is_wanted(const struct shard *shard) {
    uint64_t asked_ms = atomic_load_explicit(&shard->hub->asked_ms, memory_order_relaxed);
    return asked_ms && shard_now_ms(shard) < asked_ms + ASKED_MS &&
           (shard->phase == HUB_SERVING || shard->phase == HUB_DRAINING);
}

bool survey_due(const struct shard *shard) {
    return !timer_armed(&shard->survey.timer) && is_wanted(shard);
}

void survey_request(struct shard *shard) {
    uint64_t now_ms = shard_now_ms(shard);
    // Before shard_wake_others reads which shards sleep
    uint64_t before_ms = atomic_exchange(&shard->hub->asked_ms, now_ms);
    assert(shard->magic == SHARD_MAGIC);
    if (before_ms == 0 || before_ms + WAKE_MS < now_ms)
        shard_wake_others(shard);
}

static void begin(struct shard *shard) {
    struct survey *survey = &shard->survey;
    assert(!timer_armed(&survey->timer));
    survey->began_ms = shard_now_ms(shard);
    survey->looking = true;
    survey->next_slot = survey->next_chain = 0;
    survey->bytes = survey->frames = 0;
    survey->page = (struct survey_page){0};
    wheel_arm(&shard->wheel, &survey->timer, survey->began_ms);
}

void survey_follow(struct shard *shard) {
    if (survey_due(shard))
        begin(shard);
}

// --- Steps of a scan

static void look_at_peer(struct survey *survey, const struct peer *peer) {
    size_t bytes = connection_waiting(&peer->connection);
    if (bytes == 0 || peer->state == PEER_CLOSING)
        return;
    uint32_t frames = peer->connection.outbox.count;
    survey->bytes += bytes;
    survey->frames += frames;
    survey_rank(&survey->page.deepest, (struct survey_row){peer->connection_id, bytes, frames});
}

// Ranks a connection by its oldest request. registrant->pending has the requests of this shard's peers in the order in
// which they were made.
static void look_at_registrant(struct shard *shard, const struct registrant *registrant) {
    if (list_empty(&registrant->pending))
        return;
    const struct pending *oldest = list_entry(registrant->pending.next, struct pending, by_target);
    assert(oldest->target == registrant->connection);
    uint64_t asked_ms = oldest->asked_ns / 1000000, now_ms = shard_now_ms(shard);
    survey_rank(&shard->survey.page.slowest,
                (struct survey_row){registrant->connection, now_ms > asked_ms ? now_ms - asked_ms : 0,
                                    hub_pending(shard->hub, registrant->connection)});
}

static bool look_at_some(struct shard *shard) {
    struct survey *survey = &shard->survey;
    uint32_t capacity = shard->peers.capacity;
    for (uint32_t left = SLOTS_A_STEP; left > 0 && survey->next_slot < capacity; left--) {
        const struct peer *peer = shard->peers.slots[survey->next_slot++];
        if (peer)
            look_at_peer(survey, peer);
    }
    for (uint32_t left = CHAINS_A_STEP; left > 0 && survey->next_chain < REGISTRANT_CHAINS; left--) {
        const struct list *chain = &shard->agents.registrants[survey->next_chain++];
        for (const struct list *node = chain->next; node != chain; node = node->next)
            look_at_registrant(shard, list_entry(node, struct registrant, link));
    }
    return survey->next_slot < capacity || survey->next_chain < REGISTRANT_CHAINS;
}

// Measures the processor time since the last measurement. After a long pause the result covers the whole pause.
static void look_at_processor(struct shard *shard) {
    struct survey *survey = &shard->survey;
    uint64_t now_ns = io_now(shard->io), used_ns = io_cpu_ns(shard->io);
    uint64_t before_ns = atomic_load_explicit(&shard->stats.cpu_ns, memory_order_relaxed);
    assert(now_ns >= survey->looked_ns && used_ns >= before_ns);
    if (now_ns > survey->looked_ns)
        atomic_store_explicit(&shard->stats.cpu_permille,
                              (used_ns - before_ns) * 1000 / (now_ns - survey->looked_ns),
                              memory_order_relaxed);
    atomic_store_explicit(&shard->stats.cpu_ns, used_ns, memory_order_relaxed);
    survey->looked_ns = now_ns;
}

bool survey_go_on(struct shard *shard) {
    struct survey *survey = &shard->survey;
    assert(!timer_armed(&survey->timer));
    if (!survey->looking) {
        survey_follow(shard);
        return false;
    }
    bool more = look_at_some(shard);
    if (more)
        wheel_arm(&shard->wheel, &survey->timer, shard_now_ms(shard) + STEP_MS);
    return !more;
}

void survey_finish(struct shard *shard) {
    struct survey *survey = &shard->survey;
    uint64_t now_ms = shard_now_ms(shard), next_ms = survey->began_ms + PAUSE_MS;
    assert(survey->looking);
    survey->looking = false;
    survey_publish(survey, now_ms);
    stats_gauge(&shard->stats, GAUGE_QUEUED_BYTES, survey->bytes);
    stats_gauge(&shard->stats, GAUGE_QUEUED_FRAMES, survey->frames);
    look_at_processor(shard);
    wheel_arm(&shard->wheel, &survey->timer, next_ms > now_ms ? next_ms : now_ms + STEP_MS);
}
