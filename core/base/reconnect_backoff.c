#include "core/base/reconnect_backoff.h"

#include <assert.h>

void reconnect_backoff_reset(struct reconnect_backoff *backoff) {
    assert(backoff);
    backoff->pause_ms = RECONNECT_PAUSE_MS_MIN;
}

uint32_t reconnect_backoff_next(struct reconnect_backoff *backoff, const struct siphash_key *key) {
    uint32_t pause_ms = backoff->pause_ms;
    assert(pause_ms >= RECONNECT_PAUSE_MS_MIN && pause_ms <= RECONNECT_PAUSE_MS_MAX);
    backoff->pause_ms = 2 * pause_ms < RECONNECT_PAUSE_MS_MAX ? 2 * pause_ms : RECONNECT_PAUSE_MS_MAX;
    backoff->draws++;
    return pause_ms - (uint32_t)(siphash_table(key, &backoff->draws, sizeof backoff->draws) % (pause_ms / 4));
}
