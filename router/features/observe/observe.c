// Registers the feature of taps, pending lists and the slow-request log, and the feature that watches messages for them
// and for spans.
#include <assert.h>

#include "router/engine/message/message_copy.h"
#include "router/engine/shard/feature_call.h"
#include "router/engine/shard/option.h"
#include "router/features/feature_list.h"
#include "router/features/observe/observation.h"
#include "router/features/observe/observe_types.h"
#include "router/features/observe/pending_list.h"
#include "router/features/observe/request_span.h"
#include "router/features/observe/slow_log.h"
#include "router/features/observe/tap.h"
#include "router/registry/method_table.h"

// --- Watching

static void note(struct shard *shard, struct observation *observation, const struct message *message) {
    assert(observation->outcome != OUTCOME_NONE);
    slow_log_note(shard, observation);
    if (tap_is_on(shard))
        tap_note(shard, observation, message);
    if (observation->is_sampled)
        request_span_end(shard, observation);
    observation_give(shard, observation);
}

static struct observation *begin(struct shard *shard, const struct message *message,
                                 struct trace_text callee) {
    struct observation *observation = observation_begin(shard, message, callee);
    if (!observation)
        tap_note_missed(shard);
    return observation;
}

// Begins the observation of a request that has a span. Counts the span as dropped without memory.
static struct observation *begin_sampled(struct shard *shard, const struct message *message,
                                         const struct agent *agent) {
    char name[TRACE_TEXT_BYTES_MAX];
    size_t name_bytes;
    enum trace_callee callee = request_span_callee(shard, message, agent, name, &name_bytes);
    struct observation *observation = begin(shard, message, (struct trace_text){name, name_bytes});
    if (!observation) {
        trace_count(shard, TRACE_COUNT_DROPPED_QUEUE, 1);
        return NULL;
    }
    observation->callee = callee;
    request_span_begin(shard, observation);
    return observation;
}

// Returns whether taps and spans may show a message. A message of the hub's own methods may bear a credential.
static bool is_shown(const struct message *message) {
    bool is_call = message->lookup.kind == BODY_REQUEST || message->lookup.kind == BODY_NOTIFICATION;
    if (!is_call || message->lookup.verdict != LOOKUP_GOOD)
        return false;
    if (message->method_long)
        return !json_string_begins(message->body, message->lookup.value[KEY_METHOD], METHOD_TABLE_HUB_PREFIX);
    return method_table_find(message->method, message->method_bytes) == METHODS_COUNT &&
           !method_table_is_of_hub(message->method, message->method_bytes);
}

static inline bool is_sampled(struct shard *shard, const struct message *message) {
    return trace_is_on(shard) && request_span_is_due(shard, message);
}

// Begins the observation of a request. Returns NULL if nobody looks at the request, or without memory.
static struct observation *begin_request(struct shard *shard, const struct message *message,
                                         const struct agent *agent, bool has_span) {
    if (has_span)
        return begin_sampled(shard, message, agent);
    if (!slow_log_is_on(shard) && (!tap_is_on(shard) || tap_has_enough(shard)))
        return NULL;
    return begin(shard, message, (struct trace_text){0});
}

// Returns the place of the observation of a request that is sent again, or that was held; NULL if there is none.
static struct observation **place_of(const struct message *message) {
    assert(!message->retry || !message->hold);
    if (message->retry)
        return message->retry->observation;
    return message->hold && message->hold->observation ? &message->hold->observation : NULL;
}

static struct observation *take_back(const struct message *message) {
    struct observation **place = place_of(message), *observation = place ? *place : NULL;
    if (observation)
        *place = NULL;
    return observation;
}

// Returns whether a request was observed, or passed over, when it was taken in: before it was held or sent elsewhere.
static bool is_judged(const struct message *message) {
    return message->retry || (message->hold && message->hold->is_judged);
}

static struct observation *take_entering(struct shard *shard) {
    struct observation *observation = observe_of(shard)->entering;
    observe_of(shard)->entering = NULL;
    return observation;
}

// Takes a request in. Returns whether the request is observed.
static __attribute__((noinline)) bool enter(struct shard *shard, const struct message *message,
                                            const struct agent *agent, bool has_span) {
    bool is_fresh = !is_judged(message);
    struct observation *observation = take_back(message);
    if (is_fresh && (agent || is_shown(message))) {
        observation = begin_request(shard, message, agent, has_span);
        observe_of(shard)->live += observation != NULL;
    }
    observe_of(shard)->entering = observation;
    if (!observation)
        return false;
    observation_name_target(shard, observation, message, agent);
    if (observation->is_sampled && !is_fresh)
        request_span_choose(shard, observation, message, agent);
    if (observation->is_sampled && trace_replaces_parent(shard))
        request_span_put(observation, message);
    return true;
}

// Decides about a request that may be observed. A governance/approval for a message that another hub holds goes to that
// hub, and is never observed: the method is the hub's own (is_shown).
static __attribute__((noinline)) void decide(struct shard *shard, const struct message *message,
                                             const struct agent *agent, bool *is_watched) {
    bool is_fresh = !is_judged(message);
    bool has_span = is_fresh && (agent || is_shown(message)) && is_sampled(shard, message);
    if (has_span || !is_fresh || tap_is_on(shard) || slow_log_is_on(shard))
        *is_watched |= enter(shard, message, agent, has_span);
}

// Decides whether a request is observed. Most requests have no span and are passed over here if nobody taps: few
// instructions, and no call.
static void observe_before_request(struct shard *shard, const struct message *message,
                                   const struct agent *agent, bool *is_watched) {
    assert(!observe_of(shard)->entering);
    bool is_passed = agent && !message->retry && !message->hold && !tap_is_on(shard) &&
                     !slow_log_is_on(shard) && trace_is_on(shard) &&
                     !request_span_may_have_context(message) && trace_passes(shard);
    if (!is_passed)
        decide(shard, message, agent, is_watched);
}

// Tells taps of a request that was taken in, with its body as the source sent it. `message` NULL: without the body.
static void tell_begun(struct shard *shard, struct observation *observation, const struct message *message) {
    bool is_request = observation->kind == OBSERVED_REQUEST;
    assert(observation->outcome == OUTCOME_NONE || !is_request);
    if (observation->is_told || !is_request || !tap_is_on(shard))
        return;
    observation->is_told = true;
    if (message)
        request_span_hide(observation, message);
    tap_note_begun(shard, observation, message);
    if (message)
        request_span_show(observation, message);
}

// Begins the observation of a request that is held. The request may go later to another agent than `agent`. Events and
// notifications are observed when they end.
static void observe_hold_began(struct shard *shard, const struct message *message, const struct agent *agent,
                               struct message_hold *hold) {
    assert(!hold->observation && !hold->is_judged && !observe_of(shard)->entering);
    bool is_event = message_method_is(message, "event") && !message_has_target(message);
    bool is_seen = message->retry || agent || is_shown(message);
    if (!message_is_request(message) || is_event || !is_seen)
        return;
    hold->is_judged = true;
    if (message->retry) {
        hold->observation = take_back(message);
        return;
    }
    hold->observation = begin_request(shard, message, agent, is_sampled(shard, message));
    if (!hold->observation)
        return;
    observe_of(shard)->live++;
    observation_name_target(shard, hold->observation, message, agent);
    tell_begun(shard, hold->observation, message);
}

static void observe_request_began(struct shard *shard, const struct message *message,
                                  const struct agent *agent, struct pending *pending, struct parcel *parcel) {
    assert(pending->used && !pending->observation);
    if (!observe_of(shard)->entering)
        return;
    struct observation *observation = take_entering(shard);
    observation_forward(shard, observation, agent, pending);
    pending_mark_rare(pending);
    pending->observation = observation;
    parcel->observed = true;
    if (observation->is_sampled)
        request_span_put_back(observation, message, parcel);
    tell_begun(shard, observation, message);
}

static void observe_request_ended(struct shard *shard, struct pending *pending,
                                  const struct request_end *end) {
    struct observation *observation = pending->has_rare ? pending->observation : NULL;
    if (!observation)
        return;
    assert(observe_of(shard)->live > 0);
    observe_of(shard)->live--;
    pending->observation = NULL;
    observation_end(shard, observation, pending, end);
    note(shard, observation, NULL);
}

// Returns whether a notification tells an agent of a request that the hub answers. Taps show that request, so they
// don't show the notification.
static bool is_of_request(const struct message *message) {
    assert(!message_is_request(message));
    return lookup_has(&message->lookup, KEY_ID);
}

// Begins the observation of a refused message that nobody looked at until now.
static struct observation *begin_refused(struct shard *shard, const struct message *message) {
    if (is_judged(message) || !is_shown(message))
        return NULL;
    struct observation *observation = NULL;
    if (message_is_request(message))
        observation = begin_request(shard, message, NULL, is_sampled(shard, message));
    else if (tap_is_on(shard) && !is_of_request(message))
        observation = begin(shard, message, (struct trace_text){0});
    if (!observation)
        return NULL;
    observation_name_target(shard, observation, message, NULL);
    return observation;
}

// Ends the observation of a refused message. A message of a peer without a credential may bear the credential anywhere
// in its body, so the body is not shown.
static void observe_refused(struct shard *shard, const struct message *message, unsigned error) {
    const struct message *shown = error == ERROR_NOT_INITIALIZED ? NULL : message;
    struct observation *observation = take_entering(shard);
    if (observation && observation->is_sampled)
        request_span_put_back(observation, message, NULL);
    if (!observation)
        observation = take_back(message);
    if (observation) {
        assert(observe_of(shard)->live > 0);
        observe_of(shard)->live--;
    } else {
        observation = begin_refused(shard, message);
    }
    if (!observation)
        return;
    tell_begun(shard, observation, shown);
    observation_refuse(shard, observation, (enum error)error);
    if (message->unrouted && message->unrouted->code)
        observation->code = message->unrouted->code;
    note(shard, observation, shown);
}

// Ends the observation of a request that the hub answered in place of this agent; NULL: in place of several agents. The
// request was not forwarded.
static void observe_answered(struct shard *shard, const struct message *message, const struct agent *agent) {
    assert(message_is_request(message));
    if (!agent && !is_shown(message)) { // such a message is never observed
        assert(!place_of(message) || !*place_of(message));
        return;
    }
    struct observation *observation = take_back(message);
    if (observation) {
        assert(observe_of(shard)->live > 0);
        observe_of(shard)->live--;
    } else if (!is_judged(message)) {
        observation = begin_request(shard, message, agent, is_sampled(shard, message));
    }
    if (!observation)
        return;
    observation_name_target(shard, observation, message, agent);
    tell_begun(shard, observation, message);
    observation_answer(shard, observation);
    note(shard, observation, NULL);
}

// Begins the observation of a request that the hub answers once the request's entry is in the journal. Agents may get a
// notification of that entry, with the hub's span as its parent; the observation names none of them.
static void observe_log_began(struct shard *shard, const struct message *message,
                              struct observation **observation) {
    assert(!*observation && !is_judged(message) && message_is_request(message));
    *observation = begin_request(shard, message, NULL, is_sampled(shard, message));
    if (!*observation)
        return;
    observe_of(shard)->live++;
    tell_begun(shard, *observation, message);
    if ((*observation)->is_sampled && trace_replaces_parent(shard))
        request_span_put_for_good(*observation, message);
}

static void observe_log_ended(struct shard *shard, struct observation *observation, unsigned error,
                              bool is_abandoned) {
    assert(observe_of(shard)->live > 0);
    observe_of(shard)->live--;
    if (error != ERROR_NONE || is_abandoned)
        observation_refuse(shard, observation, is_abandoned ? ERROR_NONE : (enum error)error);
    else
        observation_answer(shard, observation);
    note(shard, observation, NULL);
}

static void observe_notification(struct shard *shard, const struct message *message,
                                 const struct agent *agent, struct parcel *parcel) {
    (void)parcel;
    assert(!message_is_request(message));
    struct observation *observation =
        tap_is_on(shard) && !is_of_request(message) ? begin(shard, message, (struct trace_text){0}) : NULL;
    if (!observation)
        return;
    observation_forward(shard, observation, agent, NULL);
    observation->ended_ns = observation->came_ns;
    note(shard, observation, message);
}

// Begins the observation of an event, which ends when all shards have told their deliveries. The message is gone by
// then, so the observation keeps the body.
static void observe_event_began(struct shard *shard, const struct message *message,
                                struct observation **out) {
    assert(!*out);
    if (!tap_is_on(shard))
        return;
    struct observation *observation = begin(shard, message, (struct trace_text){0});
    *out = observation;
    if (!observation)
        return;
    uint64_t wanted = tap_body_bytes(shard, observation);
    if (wanted)
        observation_keep_body(
            shard, observation, message,
            json_cut_at_character((const char *)message->body, message->frame->body.bytes, wanted));
    observe_of(shard)->live++;
}

// Ends the observation of an event. A dropped event with an id is refused as a request, and has its entry from there.
static void observe_event_ended(struct shard *shard, struct observation *observation, uint64_t delivered,
                                bool dropped) {
    assert(observe_of(shard)->live > 0);
    observe_of(shard)->live--;
    observation->outcome = dropped ? OUTCOME_DROPPED : OUTCOME_DELIVERED;
    observation->delivered = delivered;
    observation->ended_ns = io_clock(shard->io);
    if (dropped && observation->id_bytes)
        observation_give(shard, observation);
    else
        note(shard, observation, NULL);
}

// --- What was sent, perhaps on another shard

struct sent_note {
    struct mail mail; // came_us is the time at which the request was sent
    uint64_t hub_id;
};

static void note_sent(struct shard *shard, uint64_t hub_id, uint32_t sent_us) {
    assert(hub_id_shard(hub_id) == shard->index);
    struct pending *pending = pending_find(&shard->pending, hub_id);
    if (pending && pending->observation)
        observation_sent(shard, pending->observation, sent_us);
}

// Notes on the source's shard when an observed request was sent. Without memory the time stays unknown.
static void observe_sent(struct shard *shard, const struct peer *peer, const struct parcel *parcel) {
    uint32_t home = hub_id_shard(parcel->hub_id);
    assert(parcel->observed);
    if (!parcel->hub_id)
        return;
    if (home == shard->index) {
        note_sent(shard, parcel->hub_id, shard->sending_us);
        return;
    }
    struct sent_note *sent = quota_take(&shard->quota, sizeof *sent);
    if (!sent)
        return;
    *sent = (struct sent_note){.hub_id = parcel->hub_id};
    sent->mail.kind = FEATURE_KIND(FEATURE_OBSERVE, OBSERVE_MAIL_SENT);
    sent->mail.connection = peer->connection_id;
    sent->mail.came_us = shard->sending_us;
    mailbox_post(hub_mailbox(shard->hub, shard->index, home), &sent->mail);
}

static void take_sent(struct shard *shard, struct mail *mail) {
    struct sent_note *sent = list_entry(mail, struct sent_note, mail);
    note_sent(shard, sent->hub_id, mail->came_us);
    quota_give(&shard->quota, sent);
}

// --- Turns

// Begins or ends the watching of this shard's messages. A shard is watched while a span, a tap or the log may want
// them, and until each observed request has ended.
static void follow(struct shard *shard) {
    bool watches =
        trace_is_on(shard) || tap_is_on(shard) || slow_log_is_on(shard) || observe_of(shard)->live > 0;
    if (watches == observe_of(shard)->is_watched)
        return;
    observe_of(shard)->is_watched = watches;
    feature_set_observed(shard, watches);
}

static void observe_turn(struct shard *shard) {
    follow(shard);
    pending_list_go_on(shard);
}

static bool observe_open(struct shard *shard) {
    list_init(&observe_of(shard)->queries);
    list_init(&observe_of(shard)->taps);
    list_init(&observe_of(shard)->own_taps);
    follow(shard);
    return true;
}

static void observe_mail(struct shard *shard, struct mail *mail, unsigned kind) {
    switch ((enum observe_mail)kind) {
    case OBSERVE_MAIL_PENDING:
        pending_list_arrived(shard, mail);
        break;
    case OBSERVE_MAIL_TAP:
        tap_arrived(shard, mail);
        follow(shard); // before the next message of this turn
        break;
    case OBSERVE_MAIL_ENTRIES:
        tap_entries_arrived(shard, mail);
        break;
    case OBSERVE_MAIL_SENT:
        take_sent(shard, mail);
        break;
    }
}

static void observe_timer(struct shard *shard, struct timer *timer, unsigned kind) {
    assert(kind == OBSERVE_TIMER_TAP);
    (void)kind;
    tap_expired(shard, timer);
}

static bool observe_has_work(const struct shard *shard) {
    return !list_empty(&observe_of(shard)->queries);
}

static void observe_peer_ended(struct shard *shard, struct peer *peer) {
    tap_leave(shard, peer);
}

static void observe_drain(struct shard *shard) {
    assert(shard->phase != HUB_SERVING);
    if (shard->phase == HUB_CLOSING)
        tap_end_all(shard);
}

static bool observe_holds_phase(const struct shard *shard) {
    return shard->phase == HUB_STOPPED && tap_holds(shard);
}

static const struct feature_method observe_methods[] = {
    {.name = "hub/pending", .answer = pending_list_ask, .result_grows = true},
    {.name = "hub/tap", .answer = tap_ask, .lasts = true},
    {.name = "hub/untap", .answer = tap_ask_end, .lasts = true},
    {.name = NULL},
};

static const struct option observe_options[] = {
    {"slow-request", OPTION_TIME, OPTIONS_LIMITS, OPTION_RELOADS,
     OPTION_OWN(FEATURE_OBSERVE, OBSERVE_OPTION_SLOW_NS), 0, 24 * OPTION_HOUR, NULL, "TIME", "off", NULL,
     "log each request that takes this long or longer; off: none"},
    {.name = NULL},
};

const struct feature observe_feature = {
    .name = "observe",
    .options = observe_options,
    .methods = observe_methods,
    .shard_bytes = sizeof(struct observe_shard),
    .hub_bytes = sizeof(struct observe_hub),
    .open = observe_open,
    .mail = observe_mail,
    .timer = observe_timer,
    .turn = observe_turn,
    .turn_ends = tap_flush,
    .has_work = observe_has_work,
    .peer_ended = observe_peer_ended,
    .drain = observe_drain,
    .holds_phase = observe_holds_phase,
};

const struct feature observe_watch_feature = {
    .name = "observe_watch",
    .is_watcher = true,
    .before_request = observe_before_request,
    .hold_began = observe_hold_began,
    .request_began = observe_request_began,
    .request_ended = observe_request_ended,
    .request_answered = observe_answered,
    .log_began = observe_log_began,
    .log_ended = observe_log_ended,
    .message_refused = observe_refused,
    .notification_forwarded = observe_notification,
    .event_began = observe_event_began,
    .event_ended = observe_event_ended,
    .parcel_sent = observe_sent,
};
