// Features: what the hub has beside the way of a message. The engine knows a feature by its number alone. A feature is a
// folder of router/features with one registration of this kind (docs/internals.md tells how to add one).
//
// Each function may be NULL. A hub compiles the functions of those features that it has into short arrays when it is
// made (feature_set_create). A hub without a feature pays nothing for it, and a place without any function takes one
// predictable branch.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct agent;
struct copy;
struct hub_settings;
struct io_event;
struct mail;
struct message;
struct parcel;
struct peer;
struct pending;
struct shard;
struct timer;

// Kinds of mail and of timers: those of the engine lie below, each feature has a range of its own above.
enum { FEATURES_MAX = 14, FEATURE_KINDS_FROM = 32, FEATURE_KINDS_MAX = 16 };
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

// X(function, parameters, arguments). Of all features each is called, in the order of their numbers.
#define FEATURE_HOOKS(X)                                                                                     \
    /* The turn has begun: nothing has been read yet. */                                                     \
    X(turn_begins, (struct shard * shard), (shard))                                                          \
    /* Somebody has asked how the hub is: adds to shard->survey.page. */                                     \
    X(survey, (struct shard * shard), (shard))                                                               \
    /* Shard 0: a configuration that was read again is in effect. */                                         \
    X(reloaded, (struct shard * shard), (shard))                                                             \
    /* The hub enters this phase (shard->phase): before connections are closed in HUB_CLOSING. */            \
    X(drain, (struct shard * shard), (shard))                                                                \
    /* The time for what is pending is over: all of that ends with an error. */                              \
    X(end_pending, (struct shard * shard), (shard))                                                          \
    /* A peer isn't open any more: what it has begun ends. Called once or more often. */                     \
    X(peer_ended, (struct shard * shard, struct peer * peer), (shard, peer))                                 \
    /* A peer is closed, and all that it asked has ended. Called once or more often. */                      \
    X(peer_left, (struct shard * shard, struct peer * peer), (shard, peer))                                  \
    /* A request is in the table of pending ones, and goes to this agent; NULL: to other hubs. */            \
    X(request_began,                                                                                         \
      (struct shard * shard, const struct message *message, const struct agent *agent,                       \
       const struct pending *pending),                                                                       \
      (shard, message, agent, pending))                                                                      \
    /* A request ends, and is in the table still. A request that goes on elsewhere doesn't end. */           \
    X(request_ended, (struct shard * shard, const struct pending *pending, const struct request_end *end),   \
      (shard, pending, end))                                                                                 \
    /* A notification goes to this agent; NULL: to other hubs. */                                            \
    X(notification_forwarded,                                                                                \
      (struct shard * shard, const struct message *message, const struct agent *agent),                      \
      (shard, message, agent))                                                                               \
    /* Events have been offered to this shard's subscribers (copy->subscribers, copy->delivered). */         \
    X(after_fanout, (struct shard * shard, const struct copy *copy), (shard, copy))                          \
    /* The kernel has taken all of a parcel for a peer; parcel->hub_id: a request. */                        \
    X(parcel_sent, (struct shard * shard, const struct peer *peer, const struct parcel *parcel),             \
      (shard, peer, parcel))                                                                                 \
    /* Messages aren't delivered: see drop_several (drop.h). `counter` is enum counter. */                   \
    X(message_dropped, (struct shard * shard, unsigned counter, uint64_t connection, uint32_t count),        \
      (shard, counter, connection, count))

// The same, until the first says true.
#define FEATURE_QUESTIONS(X)                                                                                 \
    /* The shard is about to sleep: whether something has to be done at once. */                             \
    X(has_news, (const struct shard *shard), (shard))                                                        \
    /* Memory is short: whether the feature has given some back, so that nobody else needs to suffer yet. */ \
    X(relieve, (struct shard * shard), (shard))                                                              \
    /* Whether the phase shard->phase isn't over yet for the feature. */                                     \
    X(holds_phase, (const struct shard *shard), (shard))                                                     \
    /* Whether something is pending, for which the drain gives its time. */                                  \
    X(has_pending, (const struct shard *shard), (shard))

// Steps of the turn, behind each of which the turn carries out what has ended.
#define FEATURE_STEPS(X)                                                                                     \
    X(turn)      /* behind mail and timers, and before events are published */                               \
    X(turn_ends) /* behind events, and before what is queued is sent */

struct feature {
    const char *name;
    // Whether a hub with these settings has the feature. The settings are those of the start. NULL: each hub has it.
    bool (*is_on)(const struct hub_settings *settings);
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
    const struct feature *by_number[FEATURES_MAX]; // NULL: the hub hasn't it
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
// is NULL without memory.
struct feature_set *feature_set_create(const struct feature *const *features,
                                       const struct hub_settings *settings);
void feature_set_destroy(struct feature_set *set);
