// Features: what the hub has beside the way of a message. The engine knows a feature by its number alone. A feature is a
// folder of router/features with one registration of this kind (docs/internals.md tells how to add one).
//
// Each function may be NULL. A hub compiles the functions of those features that it has into short arrays when it is
// made (feature_set_create). A hub without a feature pays nothing for it, and a place without any function takes one
// predictable branch.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/json/json.h"

struct agent;
struct copy;
struct home;
struct hub_settings;
struct io_event;
struct mail;
struct message;
struct observation;
struct parcel;
struct peer;
struct option;
struct pending;
struct rules_message;
struct rules_verdict;
struct shard;
struct survivors;
struct stats_row;
struct text;
struct timer;
struct transport;

// Kinds of mail and of timers: those of the engine lie below, each feature has a range of its own above.
enum {
    FEATURES_MAX = 14,
    FEATURE_KINDS_FROM = 32,
    FEATURE_KINDS_MAX = 16,
    FEATURE_COUNTERS_MAX = 16,
    FEATURE_GAUGES_MAX = 8
};
#define FEATURE_KIND(number, kind) ((uint8_t)(FEATURE_KINDS_FROM + (number)*FEATURE_KINDS_MAX + (kind)))
// Tokens of a feature's own, with which the kernel reports what the feature has asked for: above those of the engine
// (shard.h).
#define FEATURE_TOKENS_FROM         (UINT64_C(1) << 43)
#define FEATURE_TOKEN(number, kind) (FEATURE_TOKENS_FROM + (number)*FEATURE_KINDS_MAX + (kind))

// How a request has ended, on its source's shard.
struct request_end {
    const struct parcel *response; // NULL: the hub has ended it
    bool is_error;                 // the response is one
    bool is_abandoned;             // nobody is told
    unsigned error; // enum errors, of the hub; ERROR_NONE with a result, or where nobody is told
};

// X(function, parameters, arguments). Each feature's function is called, in the order of their numbers.
#define FEATURE_HOOKS(X)                                                                                                                                                        \
    /* The turn has begun: nothing has been read yet. */                                                                                                                        \
    X(turn_begins, (struct shard * shard), (shard))                                                                                                                             \
    /* Somebody has asked how the hub is: adds to shard->survey.page. */                                                                                                        \
    X(survey, (struct shard * shard), (shard))                                                                                                                                  \
    /* Somebody has asked for hub/stats: adds members to its result, each behind a comma. */                                                                                    \
    X(stats, (struct shard * shard, struct text * out), (shard, out))                                                                                                           \
    /* Shard 0: a configuration that was read again is in effect. */                                                                                                            \
    X(reloaded, (struct shard * shard), (shard))                                                                                                                                \
    /* The hub enters this phase (shard->phase): before connections are closed in HUB_CLOSING. */                                                                               \
    X(drain, (struct shard * shard), (shard))                                                                                                                                   \
    /* The time for what is pending is over: all of that ends with an error. */                                                                                                 \
    X(end_pending, (struct shard * shard), (shard))                                                                                                                             \
    /* A peer isn't open any more: what it has begun ends. Called once or more often. */                                                                                        \
    X(peer_ended, (struct shard * shard, struct peer * peer), (shard, peer))                                                                                                    \
    /* A peer is closed, and all that it asked has ended. Called once or more often. */                                                                                         \
    X(peer_left, (struct shard * shard, struct peer * peer), (shard, peer))                                                                                                     \
    /* A peer is about to be freed: gives back what peer_keep has set for the feature. */                                                                                       \
    X(peer_freed, (struct shard * shard, struct peer * peer), (shard, peer))                                                                                                    \
    /* The kernel has taken some of what waited for a peer for which features keep something. */                                                                                \
    X(peer_read, (struct shard * shard, struct peer * peer), (shard, peer))                                                                                                     \
    /* Rights have changed: the peers have been reviewed. */                                                                                                                    \
    X(rights_changed, (struct shard * shard), (shard))                                                                                                                          \
    /* A connection with agents is gone, as this shard learns now. */                                                                                                           \
    X(home_left, (struct shard * shard, struct home * home), (shard, home))                                                                                                     \
    /* The program behind a connection has ended, and the connection stays: marks what it has been asked until now; ends what never reached it, and adds how many that were. */ \
    X(home_marked, (struct shard * shard, struct home * home), (shard, home))                                                                                                   \
    X(home_rests,                                                                                                                                                               \
      (struct shard * shard, struct home * home, const struct survivors *survivors, uint32_t *ended),                                                                           \
      (shard, home, survivors, ended))                                                                                                                                          \
    /* A request is about to be made ready for this agent, or with NULL for other hubs: nothing of it was copied. Then request_began or message_refused follows. */             \
    X(before_request, (struct shard * shard, const struct message *message, const struct agent *agent),                                                                         \
      (shard, message, agent))                                                                                                                                                  \
    /* A request is in the table of pending ones, and its parcel goes to this agent; NULL: to other hubs. */                                                                    \
    X(request_began,                                                                                                                                                            \
      (struct shard * shard, const struct message *message, const struct agent *agent,                                                                                          \
       struct pending *pending, struct parcel *parcel),                                                                                                                         \
      (shard, message, agent, pending, parcel))                                                                                                                                 \
    /* A message is refused before it goes anywhere. `error` is enum error; ERROR_NONE: its source has left. */                                                                 \
    X(message_refused, (struct shard * shard, const struct message *message, unsigned error),                                                                                   \
      (shard, message, error))                                                                                                                                                  \
    /* The hub answers a request with a result of its own in the stead of this agent, which is notified. */                                                                     \
    X(request_answered, (struct shard * shard, const struct message *message, const struct agent *agent),                                                                       \
      (shard, message, agent))                                                                                                                                                  \
    /* The response to a request that is marked (pending_mark_rare) is about to go to its source: another parcel may take its place. */                                         \
    X(response_came, (struct shard * shard, const struct pending *pending, struct parcel **response),                                                                           \
      (shard, pending, response))                                                                                                                                               \
    /* A request ends, and is in the table still. A request that goes on elsewhere doesn't end. */                                                                              \
    X(request_ended, (struct shard * shard, struct pending * pending, const struct request_end *end),                                                                           \
      (shard, pending, end))                                                                                                                                                    \
    /* The parcel of a notification goes to this agent; NULL: to other hubs. */                                                                                                 \
    X(notification_forwarded,                                                                                                                                                   \
      (struct shard * shard, const struct message *message, const struct agent *agent,                                                                                          \
       struct parcel *parcel),                                                                                                                                                  \
      (shard, message, agent, parcel))                                                                                                                                          \
    /* An event is published that is for all who have subscribed; whoever observes it sets *observation. */                                                                     \
    X(event_began, (struct shard * shard, const struct message *message, struct observation **observation),                                                                     \
      (shard, message, observation))                                                                                                                                            \
    /* An event that is observed has been delivered so often; or, `dropped`, to nobody, for want of room. */                                                                    \
    X(event_ended,                                                                                                                                                              \
      (struct shard * shard, struct observation * observation, uint64_t delivered, bool dropped),                                                                               \
      (shard, observation, delivered, dropped))                                                                                                                                 \
    /* Events have been offered to this shard's subscribers (copy->subscribers, copy->delivered). */                                                                            \
    X(after_fanout, (struct shard * shard, const struct copy *copy), (shard, copy))                                                                                             \
    /* The kernel has taken all of an observed parcel for a peer; parcel->hub_id: a request. */                                                                                 \
    X(parcel_sent, (struct shard * shard, const struct peer *peer, const struct parcel *parcel),                                                                                \
      (shard, peer, parcel))                                                                                                                                                    \
    /* A message that has come from another hub, in an exchange, is held under this checkpoint until somebody approves it. */                                                   \
    X(message_held,                                                                                                                                                             \
      (struct shard * shard, const struct message *message, const char *checkpoint, size_t bytes),                                                                              \
      (shard, message, checkpoint, bytes))                                                                                                                                      \
    /* Entries of this shard's for the journal have come home (shard->settled). */                                                                                              \
    X(entries_settled, (struct shard * shard), (shard))                                                                                                                         \
    /* Somebody asks who is here (hub/agents): adds members to the entry of this agent, each behind a comma. */                                                                 \
    X(describe_agent, (const struct shard *shard, const struct agent *agent, struct text *out),                                                                                 \
      (shard, agent, out))                                                                                                                                                      \
    /* Messages aren't delivered: see drop_several (drop.h). `counter` is enum counter, or a feature's. */                                                                      \
    X(message_dropped, (struct shard * shard, unsigned counter, uint64_t connection, uint32_t count),                                                                           \
      (shard, counter, connection, count))

// X(function, parameters, arguments). Each feature's function is called, until the first returns true.
#define FEATURE_QUESTIONS(X)                                                                                                                                   \
    /* The shard is about to sleep: whether something has to be done at once. */                                                                               \
    X(has_news, (const struct shard *shard), (shard))                                                                                                          \
    /* Memory is short: whether the feature has given some back, so that nobody else needs to suffer yet. */                                                   \
    X(relieve, (struct shard * shard), (shard))                                                                                                                \
    /* Whether the phase shard->phase isn't over yet for the feature. */                                                                                       \
    X(holds_phase, (const struct shard *shard), (shard))                                                                                                       \
    /* Whether something is pending, for which the drain gives its time. */                                                                                    \
    X(has_pending, (const struct shard *shard), (shard))                                                                                                       \
    /* A call that may be made is about to be routed: whether the feature has refused it. The feature may make a notification of a request that it answers. */ \
    X(refuse_call, (struct shard * shard, struct message * message), (shard, message))                                                                         \
    /* A call that may be made is about to be routed by the rules: whether the feature has taken it. */                                                        \
    X(before_route,                                                                                                                                            \
      (struct shard * shard, const struct message *message, const struct rules_message *criteria),                                                             \
      (shard, message, criteria))                                                                                                                              \
    /* The rules have found nobody here, or a stand-in alone: whether the feature has taken it. What is for one agent alone isn't asked. */                    \
    X(no_target,                                                                                                                                               \
      (struct shard * shard, const struct message *message, const struct rules_message *criteria,                                                              \
       const struct rules_verdict *verdict),                                                                                                                   \
      (shard, message, criteria, verdict))                                                                                                                     \
    /* A call that may be made is about to go to this agent of this hub. */                                                                                    \
    X(before_forward, (struct shard * shard, const struct message *message, const struct agent *agent),                                                        \
      (shard, message, agent))                                                                                                                                 \
    /* A body that is a chunk of a stream (BODY_STREAM), and no member of an array: whether the feature has taken it. */                                       \
    X(take_stream, (struct shard * shard, const struct message *message), (shard, message))                                                                    \
    /* Whether the feature has a request of the peer's under this id, of the JSON `text`, which is under way and isn't pending. */                             \
    X(has_request, (struct shard * shard, const struct peer *peer, const uint8_t *text, struct span id),                                                       \
      (shard, peer, text, id))                                                                                                                                 \
    /* The same, and it came at `since_ms` or later: it is cancelled. */                                                                                       \
    X(cancel_request,                                                                                                                                          \
      (struct shard * shard, const struct peer *peer, const uint8_t *text, struct span id,                                                                     \
       uint64_t since_ms),                                                                                                                                     \
      (shard, peer, text, id, since_ms))                                                                                                                       \
    /* Whether a cancel is the end of a request that this agent was asked: the agent doesn't answer it then. */                                                \
    X(cancel_ends, (const struct shard *shard, const struct agent *agent), (shard, agent))                                                                     \
    /* The hub cancels a request at this agent: whether the feature has put the body, in words that the agent knows. */                                        \
    X(put_cancel, (const struct shard *shard, const struct agent *agent, uint64_t hub_id, struct text *out),                                                   \
      (shard, agent, hub_id, out))                                                                                                                             \
    /* Whether an agent of this hub with this name has tools: users may call some of them, and not others. */                                                  \
    X(has_tools, (const struct shard *shard, const char *name, size_t bytes), (shard, name, bytes))                                                            \
    /* A peer that is attached to this agent opens or ends a session: whether with the agent, and not with the hub. */                                         \
    X(opens_there, (const struct shard *shard, const struct message *message, const struct agent *agent),                                                      \
      (shard, message, agent))                                                                                                                                 \
    /* A notification goes to all agents that name it, and now to this one: whether the feature has delivered it. */                                           \
    X(notify_agent, (struct shard * shard, const struct message *message, const struct agent *agent),                                                          \
      (shard, message, agent))

// Steps of the turn, behind each of which the turn carries out what has ended.
#define FEATURE_STEPS(X)                                                                                     \
    X(turn)      /* behind mail and timers, and before events are published */                               \
    X(turn_ends) /* behind events, and before what is queued is sent */

// A method that the feature answers. A name under hub/ is the hub's whoever has it. Another name is an agent's, too, and
// the feature says of each message whether it is its own.
struct feature_method {
    const char *name; // NULL: the end of the rows
    // Answers a message whose method lies under hub/.
    void (*answer)(struct shard *shard, const struct message *message);
    // Answers a message with another method, if the feature answers it. Returns whether it was answered.
    bool (*take)(struct shard *shard, const struct message *message);
    // Where validation is strict: whether the message was refused before its fields are looked at. NULL: never.
    bool (*refuse)(struct shard *shard, const struct message *message);
    bool before_initialize; // it is answered where initialize is required and hasn't come
    bool result_grows;      // its result may be much larger than its request
    bool lasts;             // its effect lasts, so that it needs a connection that stays
};

struct feature {
    const char *name;
    // The functions of a feature that watches are called only while the shard is watched (feature_watch): what each
    // message passes costs nothing otherwise.
    // Its request_began and request_ended are called for those requests alone for which its before_request has set
    // shard->request_is_watched, and that it has marked (pending_mark_rare); others may be called for, too.
    bool is_watcher;
    // The methods are there in each hub of the program, also where the feature is off.
    const struct feature_method *methods;
    // Transports that a listener's URI may name, and behind the last one NULL; or NULL: there are none.
    const struct transport *const *transports;
    // Rows of options (option.h), and behind the last one a row without a name. Their fields lie in the hub's settings.
    // Each stands behind the program's own options of its group.
    const struct option *options;
    // Rows of counters, up to FEATURE_COUNTERS_MAX, and of gauges, up to FEATURE_GAUGES_MAX (stats.h), and behind the last
    // one a row without a name. A counter's place there gives its number (FEATURE_COUNTER, FEATURE_GAUGE). Like methods
    // they are shown by each hub of the program.
    const struct stats_row *counters, *gauges;
    // Where rows of several features stand behind one row of the engine's: which stand first. 0: by number, behind
    // those that say so.
    unsigned shown;
    // The member of a pool that a peer's messages go to, instead of the one that the rules have chosen; or that one.
    struct agent *(*choose)(struct shard *shard, struct peer *peer, struct agent *chosen);
    // Whether a hub with these settings has the feature. The settings are those of the start. NULL: each hub has it.
    bool (*is_on)(const struct hub_settings *settings);
    // The bytes of its state, one a shard, which is zeroed before `open` and given back behind `close`: shard->states. 0:
    // it has none, or sets shard->states to memory of memory_take, which is given back likewise.
    size_t shard_bytes;
    // The bytes of its state in the hub, which all shards share: likewise, zeroed before any shard opens: hub->states.
    size_t hub_bytes;
    // The shard is open: makes what the feature needs there. False: there is no memory, and nothing was made.
    bool (*open)(struct shard *shard);
    // On shard 0, once all shards are open, and before anybody connects. NULL, or static text: what there is no memory
    // for.
    const char *(*start)(struct shard *shard);
    // The shard has had its last turn: gives all back.
    void (*close)(struct shard *shard);
    // Mail of one of the feature's own kinds (FEATURE_KIND), which is taken over; a timer of its own that went off; an
    // event of the kernel with a token of its own (FEATURE_TOKEN).
    void (*mail)(struct shard *shard, struct mail *mail, unsigned kind);
    void (*timer)(struct shard *shard, struct timer *timer, unsigned kind);
    void (*event)(struct shard *shard, const struct io_event *event, unsigned kind);
#define X(function, parameters, arguments) void(*function) parameters;
    FEATURE_HOOKS(X)
#undef X
#define X(function, parameters, arguments) bool(*function) parameters;
    FEATURE_QUESTIONS(X)
#undef X
#define X(function) void (*function)(struct shard * shard);
    FEATURE_STEPS(X)
#undef X
};

// The features of a hub, compiled; each array ends with NULL. Constant while the hub runs.
struct feature_set {
    const struct feature *by_number[FEATURES_MAX];      // NULL: the hub hasn't it
    const struct feature_method *methods[FEATURES_MAX]; // of all that there may be; those with rows
    const struct feature_method *claims[FEATURES_MAX];  // of these, the rows whose names aren't under hub/
    size_t claims_bytes[FEATURES_MAX];
    uint64_t claims_lengths; // bit i: one has i bytes, or i + 64, and so on
    struct agent *(*choose[FEATURES_MAX + 1])(struct shard *shard, struct peer *peer, struct agent *chosen);
#define X(function, parameters, arguments) void(*function[FEATURES_MAX + 1]) parameters;
    FEATURE_HOOKS(X)
#undef X
#define X(function, parameters, arguments) bool(*function[FEATURES_MAX + 1]) parameters;
    FEATURE_QUESTIONS(X)
#undef X
#define X(function) void (*function[FEATURES_MAX + 1])(struct shard * shard);
    FEATURE_STEPS(X)
#undef X
};

// Compiles those of `features`, an array by number, that a hub with these settings has. NULL: there are none. The result
// is NULL without memory. `watched`: with those that watch.
struct feature_set *feature_set_create(const struct feature *const *features,
                                       const struct hub_settings *settings, bool watched);
void feature_set_destroy(struct feature_set *set);

// The row of a method of a feature's by its name under hub/; NULL: there is none.
const struct feature_method *feature_set_method(const struct feature_set *set, const char *name,
                                                size_t bytes);
// Returns the row of a feature's method by another name; NULL: there is none.
static inline const struct feature_method *feature_set_claim(const struct feature_set *set, const char *name,
                                                             size_t bytes) {
    for (unsigned at = 0; set->claims_lengths >> bytes % 64 & 1 && set->claims[at]; at++)
        if (set->claims_bytes[at] == bytes && memcmp(set->claims[at]->name, name, bytes) == 0)
            return set->claims[at];
    return NULL;
}
