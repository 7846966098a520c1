// Features: what the hub does besides moving messages. The engine knows a feature by its number alone. A feature is a
// folder of router/features with one registration of this kind (docs/internals.md tells how to add one).
//
// Each function may be NULL. When a hub is made, feature_set_create collects the functions of its features into short
// arrays. A hub without a feature pays nothing for it. A hook without any function costs one predictable branch.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/json/json.h"

struct address;
struct agent;
struct registrant;
struct hub_settings;
struct io_event;
struct mail;
struct message;
struct message_hold;
struct observation;
struct parcel;
struct peer;
struct option;
struct pending;
struct rules_message;
struct rules_verdict;
struct shard;
struct exempt_requests;
struct stats_row;
struct text;
struct timer;
struct transport;

// Kinds of mail and of timers: those of the engine are below FEATURE_KINDS_FROM, and each feature has its own range
// above.
enum {
    FEATURES_MAX = 14,
    FEATURE_KINDS_FROM = 32,
    FEATURE_KINDS_MAX = 16,
    FEATURE_COUNTERS_MAX = 16,
    FEATURE_GAUGES_MAX = 8,
    FEATURE_FAULT_BYTES = 4608 // a path, and why its file can't be used
};
#define FEATURE_KIND(number, kind) ((uint8_t)(FEATURE_KINDS_FROM + (number)*FEATURE_KINDS_MAX + (kind)))
// A feature's own tokens, with which the kernel reports events for the feature. They are above the engine's tokens
// (shard.h).
#define FEATURE_TOKENS_FROM         (UINT64_C(1) << 43)
#define FEATURE_TOKEN(number, kind) (FEATURE_TOKENS_FROM + (number)*FEATURE_KINDS_MAX + (kind))

// How a request has ended, on its source's shard.
struct request_end {
    const struct parcel *response; // NULL: the hub has ended the request
    bool is_error;                 // the response is an error
    bool is_abandoned;             // the source gets no answer
    unsigned error; // the hub's error (enum error); ERROR_NONE with a result, or if the source gets no answer
};

// Hooks: X(function, parameters, arguments). The engine calls the function of each feature, in the order of the
// features' numbers, on the thread of `shard`. A hook may use what the shard and its peers own. A hook must not block.
// A message and its body are valid during the call: a hook must keep no pointer to them.
#define FEATURE_HOOKS(X)                                                                                      \
    /* Called on shard 0 alone, before `start`, for each address that the hub is to serve. A port is the \
     * one that the kernel has chosen. */    \
    X(address_served, (struct shard * shard, const struct address *address), (shard, address))                \
    /* Called at the beginning of each turn, before the shard reads anything. May end requests and send \
     * parcels. */     \
    X(turn_begins, (struct shard * shard), (shard))                                                           \
    /* Called in the turn in which the hub is surveyed, for hub/stats, /metrics or the status page. \
     * Adds the shard's numbers to shard->survey.page. */         \
    X(survey, (struct shard * shard), (shard))                                                                \
    /* Called on the shard that answers hub/stats, for members of its result. Appends each member \
     * behind a comma. */           \
    X(stats, (struct shard * shard, struct text * out), (shard, out))                                         \
    /* Called on the shard that answers hub/initialize. Appends members of its capabilities, each \
     * behind a comma. */           \
    X(describe_hub, (const struct shard *shard, struct text *out), (shard, out))                              \
    /* Called on shard 0 alone, after SIGHUP. The former configuration is still in effect if the new \
     * one can't be used. */        \
    X(reloaded, (struct shard * shard), (shard))                                                              \
    /* Called on each shard when the phase HUB_DRAINING or HUB_CLOSING begins (shard->phase). In \
     * HUB_CLOSING, connections are closed after this call. */            \
    X(drain, (struct shard * shard), (shard))                                                                 \
    /* Called when the drain's time is over. Must end each request that the feature keeps pending, with \
     * an error. */     \
    X(end_pending, (struct shard * shard), (shard))                                                           \
    /* Called on a peer's shard when the peer isn't open any more. Ends what the feature has begun for \
     * the peer. May be called several times for one peer. */      \
    X(peer_ended, (struct shard * shard, struct peer * peer), (shard, peer))                                  \
    /* Called on a peer's shard when the peer is closed and all its requests have ended. May be called \
     * several times for one peer. */      \
    X(peer_left, (struct shard * shard, struct peer * peer), (shard, peer))                                   \
    /* Called before a peer's memory is freed. Must give back what peer_keep has set for the feature. */      \
    X(peer_freed, (struct shard * shard, struct peer * peer), (shard, peer))                                  \
    /* Called when the kernel has taken bytes that waited for a peer, if a feature keeps something for \
     * that peer (peer_keep). */      \
    X(peer_read, (struct shard * shard, struct peer * peer), (shard, peer))                                   \
    /* Called on each shard after the shard has reviewed its peers under changed rights. */                   \
    X(rights_changed, (struct shard * shard), (shard))                                                        \
    /* Called on each shard, when the shard learns that a connection with agents is gone. `registrant` is \
     * valid during the call. */   \
    X(registrant_left, (struct shard * shard, struct registrant * registrant), (shard, registrant))           \
    /* Called on each shard when the program behind a connection has ended, and the connection stays. \
     * Marks the requests that the program was asked until now. */       \
    X(registrant_marked, (struct shard * shard, struct registrant * registrant), (shard, registrant))         \
    /* Called on each shard after registrant_marked. Ends requests that never reached the program, and adds \
     * their number to *ended. */ \
    X(registrant_rests,                                                                                       \
      (struct shard * shard, struct registrant * registrant, const struct exempt_requests *exempt_requests,   \
       uint32_t *ended),                                                                                      \
      (shard, registrant, exempt_requests, ended))                                                            \
    /* Called before a request is made ready for this agent, or with NULL for other hubs: nothing is \
     * copied yet. A feature sets *is_watched if it needs a call for this request: then request_began \
     * or message_refused is called next. */        \
    X(before_request,                                                                                         \
      (struct shard * shard, const struct message *message, const struct agent *agent, bool *is_watched),     \
      (shard, message, agent, is_watched))                                                                    \
    /* Called when a request is in the table of pending requests, before its parcel is queued for this \
     * agent, or with NULL for other hubs. May mark the pending request and the parcel. Called where \
     * *is_watched was set in before_request. The engine may leave out other calls. */      \
    X(request_began,                                                                                          \
      (struct shard * shard, const struct message *message, const struct agent *agent,                        \
       struct pending *pending, struct parcel *parcel),                                                       \
      (shard, message, agent, pending, parcel))                                                               \
    /* Called when a message is refused before it is forwarded. `error` is enum error; ERROR_NONE says \
     * that the source has left. */      \
    X(message_refused, (struct shard * shard, const struct message *message, unsigned error),                 \
      (shard, message, error))                                                                                \
    /* Called when a message is held until a peer approves it. `agent` is the agent whose section requires \
     * that, or NULL. A feature that observes the request sets hold->observation. */  \
    X(hold_began,                                                                                             \
      (struct shard * shard, const struct message *message, const struct agent *agent,                        \
       struct message_hold *hold),                                                                            \
      (shard, message, agent, hold))                                                                          \
    /* Called when the hub answers a request itself, with a result, in place of this agent, which gets a \
     * notification; or with NULL in place of several agents. */    \
    X(request_answered, (struct shard * shard, const struct message *message, const struct agent *agent),     \
      (shard, message, agent))                                                                                \
    /* Called before the response to a marked request (pending_mark_rare) goes to its source. May \
     * replace *response by another parcel. */           \
    X(response_came, (struct shard * shard, const struct pending *pending, struct parcel **response),         \
      (shard, pending, response))                                                                             \
    /* Called when a request ends, while the table of pending requests still has the request. Isn't \
     * called where the request goes on elsewhere. The engine may leave out the call for a request that \
     * isn't marked (pending_mark_rare). */         \
    X(request_ended, (struct shard * shard, struct pending * pending, const struct request_end *end),         \
      (shard, pending, end))                                                                                  \
    /* Called before the parcel of a notification is queued for this agent, or with NULL for other \
     * hubs. */          \
    X(notification_forwarded,                                                                                 \
      (struct shard * shard, const struct message *message, const struct agent *agent,                        \
       struct parcel *parcel),                                                                                \
      (shard, message, agent, parcel))                                                                        \
    /* Called when an event for all subscribers is published. A feature that observes the event sets \
     * *observation. */        \
    X(event_began, (struct shard * shard, const struct message *message, struct observation **observation),   \
      (shard, message, observation))                                                                          \
    /* Called when an observed event has been delivered to so many subscribers. `dropped`: it was \
     * dropped for want of room, and delivered to nobody. */           \
    X(event_ended,                                                                                            \
      (struct shard * shard, struct observation * observation, uint64_t delivered, bool dropped),             \
      (shard, observation, delivered, dropped))                                                               \
    /* Called when the kernel has taken the whole of an observed parcel for a peer. parcel->hub_id \
     * isn't 0 for a request. */          \
    X(parcel_sent, (struct shard * shard, const struct peer *peer, const struct parcel *parcel),              \
      (shard, peer, parcel))                                                                                  \
    /* Called when a message of another hub, in an exchange, is held under this checkpoint until a peer \
     * approves it. */     \
    X(message_held,                                                                                           \
      (struct shard * shard, const struct message *message, const char *checkpoint, size_t bytes),            \
      (shard, message, checkpoint, bytes))                                                                    \
    /* Called when a request is handed to the journal, whose entry answers the request (features/audit). A \
     * feature that observes the request sets *observation. */  \
    X(log_began, (struct shard * shard, const struct message *message, struct observation **observation),     \
      (shard, message, observation))                                                                          \
    /* Called when the entry of an observed request has come back. `error`: the hub's error (enum error), \
     * or ERROR_NONE with a result. `is_abandoned`: the source has left. */   \
    X(log_ended,                                                                                              \
      (struct shard * shard, struct observation * observation, unsigned error, bool is_abandoned),            \
      (shard, observation, error, is_abandoned))                                                              \
    /* Called when entries for the journal have come back to this shard (shard->settled). */                  \
    X(entries_settled, (struct shard * shard), (shard))                                                       \
    /* Called for each agent in the answer to hub/agents. Appends members of the agent's entry, each \
     * behind a comma. */        \
    X(describe_agent, (const struct shard *shard, const struct agent *agent, struct text *out),               \
      (shard, agent, out))

// Questions: hooks that return true to end the calls. The engine stops at the first function that returns true. A
// feature that has taken a message must answer or forward the message, or count the message as dropped.
#define FEATURE_QUESTIONS(X)                                                                                 \
    /* Called before the shard sleeps. Returns whether the feature has work for another turn at once. \
     * Must change nothing. */      \
    X(has_work, (const struct shard *shard), (shard))                                                        \
    /* Called when memory is short. Returns whether the feature has given memory back, so that no peer \
     * has to give way yet. */     \
    X(relieve, (struct shard * shard), (shard))                                                              \
    /* Called while the hub ends. Returns whether the feature needs more time before the phase \
     * (shard->phase) may end. */             \
    X(holds_phase, (const struct shard *shard), (shard))                                                     \
    /* Called while the hub drains. Returns whether the feature waits for an answer, for which the \
     * drain gives its time. */         \
    X(has_pending, (const struct shard *shard), (shard))                                                     \
    /* Called before a permitted call is routed. Returns true when the feature has answered the call \
     * with an error, or dropped it. May turn a request that the feature answers into a notification. */       \
    X(refuse_call, (struct shard * shard, struct message * message), (shard, message))                       \
    /* Called before the rules choose a target for a permitted call. Returns whether the feature has \
     * taken the message. */       \
    X(before_route,                                                                                          \
      (struct shard * shard, const struct message *message, const struct rules_message *criteria),           \
      (shard, message, criteria))                                                                            \
    /* Called when the rules have found no target in this hub, or a stand-in alone. Returns whether the \
     * feature has taken the message. Isn't called for a message that names one agent. */    \
    X(no_target,                                                                                             \
      (struct shard * shard, const struct message *message, const struct rules_message *criteria,            \
       const struct rules_verdict *verdict),                                                                 \
      (shard, message, criteria, verdict))                                                                   \
    /* Called before a permitted call goes to this agent of this hub. Returns whether the feature has \
     * taken the message. */      \
    X(before_forward, (struct shard * shard, const struct message *message, const struct agent *agent),      \
      (shard, message, agent))                                                                               \
    /* Called with a chunk of a stream (BODY_STREAM) that is no member of a batch. Returns whether the \
     * feature has taken the message. */     \
    X(take_stream, (struct shard * shard, const struct message *message), (shard, message))                  \
    /* Returns whether the feature keeps a request of this peer under this id, which is JSON in `text`. \
     * The table of pending requests hasn't it. */    \
    X(has_request, (struct shard * shard, const struct peer *peer, const uint8_t *text, struct span id),     \
      (shard, peer, text, id))                                                                               \
    /* Called to cancel such a request, if it came at `since_ms` or later. Returns whether the feature \
     * has cancelled one. */     \
    X(cancel_request,                                                                                        \
      (struct shard * shard, const struct peer *peer, const uint8_t *text, struct span id,                   \
       uint64_t since_ms),                                                                                   \
      (shard, peer, text, id, since_ms))                                                                     \
    /* Returns whether a cancel ends a request that this agent was asked, so that the agent sends no \
     * answer. */       \
    X(cancel_ends, (const struct shard *shard, const struct agent *agent), (shard, agent))                   \
    /* Called when the hub cancels a request at this agent. Returns whether the feature has appended \
     * the cancel's body to `out`, in the agent's protocol. */       \
    X(put_cancel, (const struct shard *shard, const struct agent *agent, uint64_t hub_id, struct text *out), \
      (shard, agent, hub_id, out))                                                                           \
    /* Returns whether an agent of this hub with this name has tools. Users' rights then name the tools \
     * that may be called. */    \
    X(has_tools, (const struct shard *shard, const char *name, size_t bytes), (shard, name, bytes))          \
    /* Called when a peer that is attached to this agent opens or ends a session. Returns whether that \
     * session is with the agent, and not with the hub. */     \
    X(opens_there, (const struct shard *shard, const struct message *message, const struct agent *agent),    \
      (shard, message, agent))                                                                               \
    /* Called when a notification for all agents of a name goes to this agent. Returns whether the \
     * feature has delivered the notification. */         \
    X(notify_agent, (struct shard * shard, const struct message *message, const struct agent *agent),        \
      (shard, message, agent))

// Steps of the turn. After each step the turn completes what has ended.
#define FEATURE_STEPS(X)                                                                                     \
    X(turn)      /* behind mail and timers, and before events are published */                               \
    X(turn_ends) /* behind events, and before what is queued is sent */

// A method that a feature answers. A name under hub/ always belongs to the hub. An agent may have the other names, too,
// so the feature decides for each message whether to answer.
struct feature_method {
    const char *name; // NULL: the end of the rows
    // Answers a message whose method lies under hub/.
    void (*answer)(struct shard *shard, const struct message *message);
    // Answers a message with another method, if the feature answers it. Returns whether it was answered.
    bool (*take)(struct shard *shard, const struct message *message);
    // With strict validation: refuses a message before its fields are checked. Returns whether the message was refused.
    // NULL: never.
    bool (*refuse)(struct shard *shard, const struct message *message);
    bool before_initialize; // is answered before initialize, even if initialize is required
    bool result_grows;      // the result may be much larger than its request
    bool lasts;             // the effect lasts, so the method needs a connection that stays open
};

struct feature {
    const char *name;
    // Marks a feature that watches: its functions are called only while the shard is watched (feature_set_observed), so
    // that messages cost nothing otherwise.
    bool is_watcher;
    // Methods, which each hub of the program has, also if the feature is off.
    const struct feature_method *methods;
    // Transports that a listener's URI may name, ended by NULL; or NULL for none.
    const struct transport *const *transports;
    // Rows of options (option.h), ended by a row without a name. The fields are in struct hub_settings. In lists these
    // options follow the program's own options of the group.
    const struct option *options;
    // Reads the text of an OPTION_PARSED option into the settings, by the option's name. Returns NULL, or static text
    // that says what is expected. That text must not have the value, which may hold a credential. For an option with
    // OPTION_REPEATS and without OPTION_ADDS, `text` is NULL before the first value of another source: the function
    // must forget all values of that option.
    const char *(*read_option)(struct hub_settings *settings, const char *name, const char *text);
    // Completes the settings, when all options have been read and there is no hub yet. `insecure` is --insecure.
    // Returns NULL, or the name of an option that can't be used, and writes the reason to `fault`.
    const char *(*check_settings)(struct hub_settings *settings, bool insecure,
                                  char fault[FEATURE_FAULT_BYTES]);
    // Reads the files that the complete settings name: at start, before the sandbox hides files, and for --check.
    // Returns NULL, or the name of an option whose file can't be used, and writes the reason to `fault`.
    const char *(*prepare_settings)(struct hub_settings *settings, char fault[FEATURE_FAULT_BYTES]);
    // Frees what the functions above have made for the settings. May be called several times.
    void (*drop_settings)(struct hub_settings *settings);
    // Returns whether the feature must look names up. The program then makes settings->resolvers[number].
    bool (*needs_resolver)(const struct hub_settings *settings);
    // Rows of counters, up to FEATURE_COUNTERS_MAX, and of gauges, up to FEATURE_GAUGES_MAX (stats.h), each ended by a
    // row without a name. A counter's number comes from its row's index (FEATURE_COUNTER, FEATURE_GAUGE). Each hub of
    // the program shows them, also if the feature is off.
    const struct stats_row *counters, *gauges;
    // The order among features whose counters follow the same row of the engine (stats_row.after): 1 is the first.
    // Features with 0 come last, in the order of their numbers.
    unsigned stats_order;
    // Returns the member of a pool that a peer's messages go to: `chosen`, the choice of the rules, or another member.
    struct agent *(*choose)(struct shard *shard, struct peer *peer, struct agent *chosen);
    // Returns whether a hub with these settings has the feature. The settings are those of the start. NULL: each hub
    // has the feature.
    bool (*is_on)(const struct hub_settings *settings);
    // Size of the feature's state in each shard (shard->states), in bytes. The engine zeroes the state before `open`
    // and frees it after `close`. 0: the feature has no state, or sets shard->states to memory of memory_take, which
    // the engine frees, too.
    size_t shard_bytes;
    // Size of the feature's state in the hub (hub->states), in bytes, which all shards share. The engine zeroes it
    // before any shard opens.
    size_t hub_bytes;
    // Opens the feature on a shard. Returns false without memory, and has made nothing then.
    bool (*open)(struct shard *shard);
    // Starts the feature on shard 0, when all shards are open and nobody can connect yet. Returns NULL, or static text
    // that names what there is no memory for.
    const char *(*start)(struct shard *shard);
    // Frees all that the feature has on a shard, after the shard's last turn.
    void (*close)(struct shard *shard);
    // Handle mail of the feature's own kinds (FEATURE_KIND) and take the mail; handle the feature's timers; handle
    // kernel events with the feature's tokens (FEATURE_TOKEN).
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

// The functions of a hub's features; each array ends with NULL. Constant while the hub runs.
struct feature_set {
    const struct feature *by_number[FEATURES_MAX]; // NULL: the hub hasn't the feature
    // Methods of all features of the program, also of those that are off
    const struct feature_method *methods[FEATURES_MAX];
    const struct feature_method *claims[FEATURES_MAX]; // rows of `methods` whose names aren't under hub/
    size_t claims_bytes[FEATURES_MAX];
    uint64_t claims_lengths; // bit i: a name in `claims` has i bytes, or i + 64, and so on
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

// Collects the functions of the features that a hub with these settings has. `features` is an array by number, or NULL
// for none. `watched`: includes features that watch. Returns NULL without memory.
struct feature_set *feature_set_create(const struct feature *const *features,
                                       const struct hub_settings *settings, bool watched);
void feature_set_destroy(struct feature_set *set);

// Returns the row of a feature's method by its name under hub/, or NULL if there is none.
const struct feature_method *feature_set_method(const struct feature_set *set, const char *name,
                                                size_t bytes);
// Returns the row of a feature's method by a name that isn't under hub/, or NULL if there is none.
static inline const struct feature_method *feature_set_claim(const struct feature_set *set, const char *name,
                                                             size_t bytes) {
    for (unsigned at = 0; set->claims_lengths >> bytes % 64 & 1 && set->claims[at]; at++)
        if (set->claims_bytes[at] == bytes && memcmp(set->claims[at]->name, name, bytes) == 0)
            return set->claims[at];
    return NULL;
}
