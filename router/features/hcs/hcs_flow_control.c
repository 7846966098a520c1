#include "router/features/hcs/hcs_flow_control.h"

#include <assert.h>

#include "router/features/hcs/hcs_frames.h"
#include "router/features/hcs/hcs_mail.h"

void hcs_flow_control_told(struct shard *shard, struct hcs_session *session, enum hcs_flow_state mood) {
    struct hcs_flow *flow = &session->flow;
    assert(!session->ended);
    int by = (mood != HCS_FLOW_READS) - (flow->told != HCS_FLOW_READS);
    stats_move_gauge(&shard->stats, GAUGE_SESSIONS_PAUSED, by);
    flow->told = mood;
    if (mood == HCS_FLOW_READS)
        session->heard_ms = shard_now_ms(shard);
    hcs_flow_control_watch(shard, session);
}

// Without memory it is told when something changes again.
static bool hcs_flow_control_say(struct shard *shard, struct hcs_session *session, const char *action,
                                 enum hcs_flow_state reason) {
    struct parcel *parcel = hcs_frames_control(shard, hcs_session_about(session), action,
                                               reason == HCS_FLOW_GONE ? "user_busy" : "backpressure");
    if (!parcel)
        return false;
    hcs_mail_say(shard, session->producer, parcel, true);
    return true;
}

void hcs_flow_control_tell(struct shard *shard, struct hcs_session *session) {
    enum hcs_flow_state mood = hcs_flow_state(&session->flow), told = session->flow.told;
    if (session->ended || mood == told)
        return;
    if (mood != HCS_FLOW_GONE && told != HCS_FLOW_READS &&
        !hcs_flow_control_say(shard, session, "resume", told))
        return;
    if (mood != HCS_FLOW_READS && !hcs_flow_control_say(shard, session, "pause", mood))
        return;
    hcs_flow_control_told(shard, session, mood);
}

uint64_t hcs_flow_control_silence_ms(const struct shard *shard, const struct hcs_session *session) {
    bool counts = !session->ended && session->flow.told == HCS_FLOW_READS;
    return counts ? session->heard_ms + shard_limits(shard)->session_silence_ns / 1000000 : UINT64_MAX;
}

uint64_t hcs_flow_control_linger_ms(const struct shard *shard, const struct hcs_session *session) {
    uint64_t linger_ms = shard_limits(shard)->session_linger_ns / 1000000;
    if (session->ended)
        return session->ended_ms + linger_ms;
    return session->flow.clients == 0 ? session->empty_ms + linger_ms : UINT64_MAX;
}

void hcs_flow_control_watch(struct shard *shard, struct hcs_session *session) {
    uint64_t due_ms = hcs_flow_control_silence_ms(shard, session),
             linger_ms = hcs_flow_control_linger_ms(shard, session);
    if (linger_ms < due_ms)
        due_ms = linger_ms;
    if (session->retry_ms && session->retry_ms < due_ms)
        due_ms = session->retry_ms;
    if (due_ms == UINT64_MAX)
        wheel_disarm(&session->timer);
    else
        wheel_arm(&shard->wheel, &session->timer, due_ms);
}
