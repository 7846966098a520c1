#include "router/stream/mood.h"

#include <assert.h>

#include "router/stream/says.h"
#include "router/stream/telling.h"

void mood_told(struct shard *shard, struct session *session, enum hcs_flow_state mood) {
    struct hcs_flow *flow = &session->flow;
    assert(!session->ended);
    int by = (mood != HCS_FLOW_READS) - (flow->told != HCS_FLOW_READS);
    stats_move_gauge(&shard->stats, GAUGE_SESSIONS_PAUSED, by);
    flow->told = mood;
    if (mood == HCS_FLOW_READS)
        session->heard_ms = shard_now_ms(shard);
    mood_watch(shard, session);
}

// Without memory it is told when something changes again.
static bool mood_say(struct shard *shard, struct session *session, const char *action,
                     enum hcs_flow_state reason) {
    struct parcel *parcel = says_control(shard, session_about(session), action,
                                         reason == HCS_FLOW_GONE ? "user_busy" : "backpressure");
    if (!parcel)
        return false;
    telling_say(shard, session->producer, parcel, true);
    return true;
}

void mood_tell(struct shard *shard, struct session *session) {
    enum hcs_flow_state mood = hcs_flow_state(&session->flow), told = session->flow.told;
    if (session->ended || mood == told)
        return;
    if (mood != HCS_FLOW_GONE && told != HCS_FLOW_READS && !mood_say(shard, session, "resume", told))
        return;
    if (mood != HCS_FLOW_READS && !mood_say(shard, session, "pause", mood))
        return;
    mood_told(shard, session, mood);
}

uint64_t mood_silence_ms(const struct shard *shard, const struct session *session) {
    bool counts = !session->ended && session->flow.told == HCS_FLOW_READS;
    return counts ? session->heard_ms + shard_limits(shard)->session_silence_ns / 1000000 : UINT64_MAX;
}

uint64_t mood_linger_ms(const struct shard *shard, const struct session *session) {
    uint64_t linger_ms = shard_limits(shard)->session_linger_ns / 1000000;
    if (session->ended)
        return session->ended_ms + linger_ms;
    return session->flow.clients == 0 ? session->empty_ms + linger_ms : UINT64_MAX;
}

void mood_watch(struct shard *shard, struct session *session) {
    uint64_t due_ms = mood_silence_ms(shard, session), linger_ms = mood_linger_ms(shard, session);
    if (linger_ms < due_ms)
        due_ms = linger_ms;
    if (session->retry_ms && session->retry_ms < due_ms)
        due_ms = session->retry_ms;
    if (due_ms == UINT64_MAX)
        wheel_disarm(&session->timer);
    else
        wheel_arm(&shard->wheel, &session->timer, due_ms);
}
