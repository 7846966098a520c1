#include "router/forwarding/bundle_head_cache.h"

#include <assert.h>
#include <string.h>

#include "core/cluster/bundle.h"
#include "router/engine/shard/cluster_server.h"
#include "router/engine/shard/identity.h"
#include "router/forwarding/outbound_identity.h"

// --- What they have in common

// The last eight bytes, as names differ mostly there.
static uint64_t end_of(const char *name, size_t bytes) {
    uint64_t end = bytes;
    size_t count = bytes < sizeof end ? bytes : sizeof end;
    memcpy(&end, name + bytes - count, count);
    return end;
}

// Where what one user asks of that name is kept.
static struct bundle_head **place_of(struct shard *shard, const struct remote_target *to, const char *user,
                                     size_t user_bytes) {
    static_assert(HEADINGS_MAX == 1 << (64 - 58), "places are told by a hash's highest bits");
    uint64_t hash = end_of(to->token, to->bytes) * UINT64_C(0x9e3779b97f4a7c15);
    if (user_bytes)
        hash += end_of(user, user_bytes) * UINT64_C(0xc2b2ae3d27d4eb4f);
    return &shard->across.headings[hash >> 58];
}

static const char *token_of(const struct bundle_head *heading) {
    assert(heading->token_bytes <= heading->subject_bytes);
    return heading->text + heading->subject_bytes - heading->token_bytes;
}

static const char *user_of(const struct bundle_head *heading) {
    return heading->text + heading->subject_bytes + heading->inbox_bytes + heading->line_bytes;
}

static bool is_it(const struct bundle_head *heading, uint64_t link, const struct remote_target *to,
                  const char *user, size_t user_bytes) {
    return heading && heading->link == link && heading->token_bytes == to->bytes &&
           heading->user_bytes == user_bytes && memcmp(token_of(heading), to->token, to->bytes) == 0 &&
           (user_bytes == 0 || memcmp(user_of(heading), user, user_bytes) == 0);
}

// The inbox has its dot, and behind it comes the number of what goes out.
static struct bundle_head *make(struct shard *shard, uint64_t link, const struct remote_target *to,
                                const char *user, size_t user_bytes) {
    static const char pair[] = " bundle=1";
    char subject[SUBJECT_BYTES_MAX], inbox[SUBJECT_BYTES_MAX], line[HUB_HEADER_BYTES_MAX + sizeof pair];
    struct hub_header_source source = {.user = user};
    size_t subject_bytes =
        subject_write(subject, shard->hub->settings.cluster->name, to->kind, to->token, to->bytes);
    size_t inbox_bytes = remote_target_inbox(shard, link, 0, inbox) - 1;
    size_t line_bytes =
        hub_header_write(line, shard->across.name, 0, GOVERNANCE_AUTONOMOUS, 0, 0, 0, &source);
    line_bytes = hub_header_add(line, line_bytes, pair, sizeof pair - 1);
    struct bundle_head *heading = bundle_head_take(
        shard->parcels.budget, (uint32_t)(subject_bytes + inbox_bytes + line_bytes + 2 + user_bytes));
    if (!heading)
        return NULL;
    char *at = heading->text;
    at = (char *)memcpy(at, subject, subject_bytes) + subject_bytes;
    at = (char *)memcpy(at, inbox, inbox_bytes) + inbox_bytes;
    at = (char *)memcpy(at, line, line_bytes) + line_bytes;
    at = (char *)memcpy(at, "\r\n", 2) + 2;
    if (user_bytes)
        memcpy(at, user, user_bytes);
    heading->link = link;
    heading->subject_bytes = (uint32_t)subject_bytes;
    heading->token_bytes = (uint32_t)to->bytes;
    heading->inbox_bytes = (uint32_t)inbox_bytes;
    heading->line_bytes = (uint32_t)line_bytes + 2;
    heading->user_bytes = (uint32_t)user_bytes;
    assert(is_it(heading, link, to, user, user_bytes));
    return heading;
}

// NULL without memory.
static struct bundle_head *find(struct shard *shard, uint64_t link, const struct remote_target *to,
                                const char *user) {
    size_t user_bytes = user ? strlen(user) : 0;
    struct bundle_head **place = place_of(shard, to, user, user_bytes);
    assert(to->bytes > 0);
    if (is_it(*place, link, to, user, user_bytes))
        return *place;
    bundle_head_drop(shard->parcels.budget, *place);
    return *place = make(shard, link, to, user, user_bytes);
}

// --- What each has

// All that is known of the other hubs is that each takes bundles: whose agent it is isn't known here. An approver, which comes first, is
// asked with what its source's user may not reach there (remote_target.c), also where it can't be back.
static bool may_go(const struct shard *shard, const struct message *message, const struct parcel *parcel,
                   const struct remote_target *to) {
    const struct hub *hub = shard->hub;
    bool is_plain =
        to->kind == SUBJECT_AGENT && !to->first && !to->returns && !to->probes && !to->hub && !to->sought;
    return is_plain && !message->approved && message_lane(message) == LANE_NORMAL &&
           parcel->bytes <= COPY_BYTES_MAX && parcel_is_bare(parcel) &&
           atomic_load_explicit(&hub->link_neighbours, memory_order_acquire) && // before the next one
           !atomic_load_explicit(&hub->link_unbundled, memory_order_relaxed);
}

// Whether one that goes out alone is let pass by the server, or else it is told how large it is (remote_target.c).
static bool fits(const struct shard *shard, const struct bundle_head *heading, const struct parcel *parcel) {
    size_t bytes = heading->line_bytes + BUNDLE_HEAD_BYTES + parcel->bytes;
    return bytes <= atomic_load_explicit(&shard->hub->link_payload_bytes_max, memory_order_relaxed);
}

// Its body says in whose name it is said, as that is written without escapes.
static bool says_itself(const struct message *message, const struct hub_header_source *source) {
    return source->agent_bytes == 0 ||
           message->lookup.value[KEY_SOURCE_AGENT].bytes == source->agent_bytes + 2;
}

bool bundle_head_cache_address(struct shard *shard, const struct message *message, struct parcel *parcel,
                               const struct remote_target *to, uint64_t hub_id, uint32_t time_ms) {
    struct hub_header_source source;
    const struct agent *agent = remote_target_link(shard);
    assert(agent && hub_id);
    if (!may_go(shard, message, parcel, to))
        return false;
    outbound_identity_write(shard, message, &source);
    struct bundle_head *heading = find(shard, agent->home->connection, to, source.user);
    if (!heading || !fits(shard, heading, parcel) || !says_itself(message, &source))
        return false;
    struct bundled bundled = {.number = hub_id,
                              .time_ms = time_ms,
                              .level = message->frame->unit->directives.governance,
                              .is_vouched = source.agent_bytes > 0};
    uint32_t bytes = (uint32_t)parcel->bytes;
    bundle_write_head(parcel_head_behind(parcel, heading, BUNDLE_HEAD_BYTES), &bundled, bytes);
    parcel->bearing = (struct bearing){.kind = (uint8_t)to->kind,
                                       .level = (uint8_t)bundled.level,
                                       .token_at = (uint16_t)(heading->subject_bytes - to->bytes),
                                       .token_bytes = (uint16_t)to->bytes};
    return true;
}
