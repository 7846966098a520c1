#include "router/engine/turn/watchdog.h"

#include <assert.h>

static void arm(struct shard *shard) {
    assert(!timer_armed(&shard->watchdog_timer));
    wheel_arm(&shard->wheel, &shard->watchdog_timer,
              shard_now_ms(shard) + shard->hub->start_settings.watchdog_ms);
}

void watchdog_begin(struct shard *shard) {
    assert(shard->index == 0);
    if (shard->hub->start_settings.watchdog_ms > 0 && shard->hub->start_settings.notice)
        arm(shard);
}

// Returns whether each shard has taken a turn since the last look, and notes the turns for the next look.
static bool all_have_turned(struct shard *shard) {
    const struct hub *hub = shard->hub;
    bool all = true;
    for (uint32_t index = 0; index < hub->start_settings.shard_count; index++) {
        uint64_t turns = stats_read(&hub->shards[index]->stats, COUNT_TURNS);
        all &= turns != shard->turns_seen[index];
        shard->turns_seen[index] = turns;
    }
    return all;
}

void watchdog_look(struct shard *shard) {
    const struct hub_settings *settings = &shard->hub->start_settings;
    assert(shard->index == 0 && settings->notice);
    if (all_have_turned(shard))
        settings->notice(settings->read_context, HUB_IS_ALIVE);
    shard_wake_others(shard);
    arm(shard);
}
