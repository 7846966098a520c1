#include "router/engine/shard/hub.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/agents/topics.h"
#include "core/base/memory.h"
#include "core/rights/users.h"
#include "io/secure.h"
#include "router/engine/shard/feature.h"

static bool make_counters(struct hub *hub) {
    uint32_t count = hub->start_settings.shard_count;
    assert(count > 0 && count <= SHARDS_MAX);
    hub->taken_up = memory_take_zeroed(count, sizeof *hub->taken_up);
    hub->connections = memory_take_zeroed(count, sizeof *hub->connections);
    hub->subscriptions = memory_take_zeroed(count, sizeof *hub->subscriptions);
    hub->slowest = memory_take_zeroed(count, sizeof *hub->slowest);
    hub->unauthenticated_oldest = memory_take_zeroed(count, sizeof *hub->unauthenticated_oldest);
    hub->pending = memory_take_zeroed(count, sizeof *hub->pending);
    for (uint32_t shard = 0; hub->pending && shard < count; shard++) {
        hub->pending[shard] =
            memory_take_zeroed(hub->start_settings.limits.connections_max, sizeof **hub->pending);
        if (!hub->pending[shard])
            return false;
    }
    return hub->taken_up && hub->connections && hub->subscriptions && hub->slowest &&
           hub->unauthenticated_oldest && hub->pending;
}

static bool hub_make(struct hub *hub) {
    size_t count = hub->start_settings.shard_count;
    hub->shards = memory_take_zeroed(count, sizeof *hub->shards);
    hub->mailboxes = memory_take_aligned(alignof(struct mailbox), count * count * sizeof *hub->mailboxes);
    if (hub->start_settings.users)
        hub->demand = subscriber_count_create(&hub->start_settings.secrets.tables);
    if (!hub->shards || !hub->mailboxes || !make_counters(hub) || !hub->demand != !hub->start_settings.users)
        return false;
    for (size_t index = 0; index < count * count; index++)
        mailbox_init(&hub->mailboxes[index]);
    return true;
}

static bool make_states(struct hub *hub) {
    for (unsigned number = 0; number < FEATURES_MAX; number++) {
        const struct feature *feature = hub->features->by_number[number];
        if (!feature || !feature->hub_bytes)
            continue;
        hub->states[number] = memory_take_zeroed(1, feature->hub_bytes);
        if (!hub->states[number])
            return false;
    }
    return true;
}

static bool put_into_effect(struct hub *hub, const struct hub_settings *settings) {
    assert(settings->shard_count == hub->start_settings.shard_count); // tables have that size
    assert(settings->limits.connections_max == hub->start_settings.limits.connections_max);
    struct hub_edition *edition = memory_take(sizeof *edition);
    if (!edition)
        return false;
    edition->settings = *settings;
    edition->before = atomic_load_explicit(&hub->edition, memory_order_relaxed);
    edition->number = edition->before ? edition->before->number + 1 : 1;
    atomic_store(&hub->edition, edition); // before the caller reads which shards sleep
    atomic_store_explicit(&hub->budget.bytes_max, settings->limits.memory_bytes_max, memory_order_relaxed);
    return true;
}

static void edition_destroy(struct hub_edition *edition) {
    child_settings_drop_all(edition->settings.children);
    secure_source_drop(edition->settings.secure);
    users_drop(edition->settings.users);
    memory_give(edition);
}

static uint64_t taken_up_by_all(const struct hub *hub) {
    uint64_t least = UINT64_MAX;
    for (uint32_t shard = 0; shard < hub->start_settings.shard_count; shard++) {
        uint64_t number = atomic_load_explicit(&hub->taken_up[shard], memory_order_acquire);
        least = number < least ? number : least;
    }
    return least;
}

// Frees editions that no shard reads any more. Sections of running children, and users, have their own references.
static void forget_editions(struct hub *hub) {
    uint64_t read = taken_up_by_all(hub);
    struct hub_edition *later = atomic_load_explicit(&hub->edition, memory_order_relaxed);
    for (struct hub_edition *edition; (edition = later->before);) {
        if (edition->number >= read) {
            later = edition;
            continue;
        }
        assert(edition->number < later->number);
        later->before = edition->before;
        edition_destroy(edition);
    }
}

bool hub_accepts_limits(const struct hub *hub, const struct limits *limits,
                        char expected[HUB_LIMITS_FAULT_BYTES]) {
    uint64_t least = limits_memory_bytes_least(hub->start_settings.shard_count);
    uint64_t kept = atomic_load_explicit(&hub->budget.quota_bytes, memory_order_relaxed);
    assert(least > 0);
    if (limits->memory_bytes_max < least)
        snprintf(expected, HUB_LIMITS_FAULT_BYTES, "expected %lluM at least for the %u shards of this hub",
                 (unsigned long long)(least >> 20), hub->start_settings.shard_count);
    else if (kept > limits->memory_bytes_max / 2)
        snprintf(expected, HUB_LIMITS_FAULT_BYTES,
                 "expected %lluK at least: peers have this hub keep half of that",
                 (unsigned long long)((2 * kept >> 10) + 1));
    else
        return true;
    return false;
}

// Keeps the realm before a reload, so that hubs of that realm are served for the grace period.
static void keep_previous(const struct hub *hub, struct hub_settings *fresh, uint64_t now_ms) {
    const struct hub_settings *before = hub_settings(hub);
    uint64_t grace_ms = hub_has_cluster(hub) ? hub->start_settings.cluster.realm_grace_ns / 1000000 : 0;
    fresh->previous = before->previous;
    fresh->previous_until_ms = before->previous_until_ms;
    if (realm_same(&fresh->realm, &before->realm))
        return;
    fresh->previous = grace_ms ? before->realm : (struct realm){.bytes = 0};
    fresh->previous_until_ms = now_ms + grace_ms;
    assert(!realm_same(&fresh->previous, &fresh->realm));
}

bool hub_reload(struct hub *hub, uint64_t now_ms) {
    struct hub_settings settings = hub->start_settings;
    if (!hub->start_settings.read_again)
        return true;
    settings.children = NULL;
    settings.secure = NULL;
    settings.users = NULL;
    char expected[HUB_LIMITS_FAULT_BYTES];
    bool good = hub->start_settings.read_again(hub->start_settings.read_context, &settings);
    settings.limits.connections_max = hub->start_settings.limits.connections_max; // tables have that size
    if (good)
        keep_previous(hub, &settings, now_ms);
    if (good && hub_accepts_limits(hub, &settings.limits, expected) && put_into_effect(hub, &settings)) {
        forget_editions(hub);
        if (hub->start_settings.in_effect)
            hub->start_settings.in_effect(hub->start_settings.read_context);
        return true;
    }
    if (good)
        child_settings_drop_all(settings.children);
    secure_source_drop(settings.secure);
    users_drop(settings.users);
    return false;
}

int hub_create(struct hub **out, const struct hub_settings *settings) {
    struct hub *hub = memory_take_zeroed(1, sizeof *hub);
    if (!hub)
        return -ENOMEM;
    hub->start_settings = *settings;
    if (!hub->start_settings.realm.bytes &&
        !realm_make(&hub->start_settings.realm, NULL, 0, settings->approval_level)) {
        memory_give(hub);
        return -ENOMEM;
    }
    atomic_init(&hub->phase, HUB_SERVING);
    hub->strangers = account_create(0);
    hub->features = feature_set_create(settings->features, settings, false);
    hub->features_watched = feature_set_create(settings->features, settings, true);
    if (!hub->features || !hub->features_watched || !hub->strangers ||
        !put_into_effect(hub, &hub->start_settings) || !hub_make(hub) || !make_states(hub)) {
        hub_destroy(hub);
        return -ENOMEM;
    }
    *out = hub;
    return 0;
}

void hub_destroy(struct hub *hub) {
    assert(atomic_load(&hub->journal_bytes) == 0 && atomic_load(&hub->budget.quota_bytes) == 0);
    for (uint32_t shard = 0; hub->pending && shard < hub->start_settings.shard_count; shard++)
        memory_give((void *)hub->pending[shard]);
    for (struct hub_edition *edition = atomic_load(&hub->edition), *before; edition; edition = before) {
        before = edition->before;
        edition_destroy(edition);
    }
    for (unsigned number = 0; number < FEATURES_MAX; number++)
        memory_give(hub->states[number]);
    account_drop(hub->strangers);
    feature_set_destroy(hub->features);
    feature_set_destroy(hub->features_watched);
    memory_give((void *)hub->pending);
    memory_give((void *)hub->taken_up);
    memory_give((void *)hub->connections);
    memory_give((void *)hub->subscriptions);
    memory_give(hub->demand);
    memory_give((void *)hub->slowest);
    memory_give((void *)hub->unauthenticated_oldest);
    memory_give(hub->mailboxes);
    memory_give(hub->shards);
    memory_give(hub);
}

void hub_session(const struct hub *hub, uint64_t connection, char *out) {
    assert(connection); // the name 0 means no connection
    uint8_t hash[SIPHASH_BYTES];
    siphash_name(&hub->start_settings.secrets.sessions, &connection, sizeof connection, hash);
    for (unsigned digit = 0; digit < HUB_SESSION_BYTES; digit++)
        out[digit] = "0123456789abcdef"[hash[digit / 2] >> (digit % 2 ? 0 : 4) & 15];
}

uint32_t hub_pending(const void *context, uint64_t connection) {
    const struct hub *hub = context;
    assert(hub_knows(hub, connection));
    return atomic_load_explicit(&hub->pending[connection_shard(connection)][connection_slot(connection)],
                                memory_order_relaxed);
}

void hub_pending_add(struct hub *hub, uint64_t connection, int32_t change) {
    assert(hub_knows(hub, connection));
    assert(change == 1 || (change == -1 && hub_pending(hub, connection) > 0));
    _Atomic uint32_t *pending = &hub->pending[connection_shard(connection)][connection_slot(connection)];
    if (hub->start_settings.shard_count > 1) {
        atomic_fetch_add_explicit(pending, (uint32_t)change, memory_order_relaxed);
        return;
    }
    // Only this thread writes the count: a locked instruction would be some percent of the cost of a small request.
    uint32_t value = atomic_load_explicit(pending, memory_order_relaxed);
    atomic_store_explicit(pending, value + (uint32_t)change, memory_order_relaxed);
}

static uint32_t connections_of(const struct hub *hub, uint32_t shard) {
    assert(shard < hub->start_settings.shard_count);
    return atomic_load_explicit(&hub->connections[shard], memory_order_relaxed);
}

uint32_t hub_emptiest_shard(const struct hub *hub) {
    uint32_t emptiest = 0;
    for (uint32_t shard = 1; shard < hub->start_settings.shard_count; shard++)
        if (connections_of(hub, shard) < connections_of(hub, emptiest))
            emptiest = shard;
    return emptiest;
}

uint32_t hub_connection_count(const struct hub *hub) {
    uint32_t count = 0;
    for (uint32_t shard = 0; shard < hub->start_settings.shard_count; shard++)
        count += connections_of(hub, shard);
    return count;
}

void hub_node(const struct hub *hub, char out[NODE_BYTES]) {
    static_assert((int)NODE_BYTES == (int)HUB_SESSION_BYTES,
                  "a node is named as a connection is, of which no shard has the number");
    hub_session(hub, UINT64_MAX, out);
}

void hub_lose_events(struct hub *hub) {
    atomic_fetch_add_explicit(&hub->events_unknown, 1, memory_order_release);
}

// --- Allowed names

bool allowlist_add(struct allowlist *allowed, const char *name) {
    size_t bytes = strlen(name);
    assert(allowed->count <= ALLOWLIST_MAX);
    if (bytes == 0 || bytes > ALLOWLIST_BYTES_MAX || allowed->count == ALLOWLIST_MAX)
        return false;
    memcpy(allowed->names[allowed->count++], name, bytes + 1);
    return true;
}

const char *allowlist_find(const struct allowlist *allowed, const void *name, size_t bytes) {
    assert(name || bytes == 0);
    for (uint32_t index = 0; index < allowed->count; index++)
        if (strlen(allowed->names[index]) == bytes && strncasecmp(allowed->names[index], name, bytes) == 0)
            return allowed->names[index];
    return NULL;
}
