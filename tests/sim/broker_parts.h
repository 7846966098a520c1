// The simulated NATS servers from inside: broker.c speaks with clients, broker_routes.c says who gets what.
#pragma once

#include "tests/sim/broker.h"

enum { SUBJECT_MAX = 4096, SID_MAX = 24, FAULT_MAX = 160, GROUPS_MAX = 64, CHOICE_MAX = 1024 };

// Text and bytes that grow at the end.
struct heap {
    uint8_t *bytes;
    size_t count, capacity;
};
void heap_add(struct heap *heap, const void *bytes, size_t count);
// Takes bytes off its beginning.
void heap_drop(struct heap *heap, size_t count);

struct subscription {
    struct subscription *next;
    struct broker_client *client;
    char *subject, *queue; // queue: empty: a plain one
    char sid[SID_MAX];
    uint64_t left; // messages until it ends; 0: any number
};

struct broker_client {
    struct broker_client *next;
    struct brokers *brokers;
    uint32_t server, number;
    struct heap in, out;
    bool over, connected;
    bool verbose, echoes, headers, no_responders;
    char fault[FAULT_MAX];
};

// A server's knowledge of subscribers at another one.
struct interest {
    struct interest *next;
    char *subject, *queue;
    uint32_t weight; // how many
};

// A thing on a route: a subscription that began or ended there, or a message.
struct passage {
    struct passage *next;
    int change; // of a subscription: 1 or -1; 0: a message
    char *subject, *queue;
    char *reply;
    uint8_t *bytes;
    size_t head, count;
    char *queues[GROUPS_MAX]; // groups of which a member there is to get it
    uint32_t queue_count;
    bool plain; // and all who listen by themselves
};

struct route {
    bool cut;
    struct passage *first, *last;
    struct interest *interests; // of whom it leads to, as its beginning knows them
};

struct brokers {
    struct broker_options options;
    struct random *random;
    bool (*tap)(void *context, const struct broker_client *from, const struct broker_message *message);
    void *tap_context;
    bool runs[BROKERS_MAX], lame[BROKERS_MAX];
    uint32_t life[BROKERS_MAX]; // how often it has been started
    uint32_t joined;
    struct broker_client *clients;
    struct subscription *subscriptions;            // the oldest first
    struct route routes[BROKERS_MAX][BROKERS_MAX]; // from, to
};

// Returns whether a subject is what a pattern means.
bool subject_matches(const char *pattern, const char *subject);
// Queues a message for a client, or closes one that is too slow.
void client_deliver(struct subscription *subscription, const struct broker_message *message);
// Queues text; what doesn't fit ends the client.
void client_say(struct broker_client *client, const void *bytes, size_t count);

// Ends the subscriptions of clients that are over.
void brokers_reap(struct brokers *brokers);

// Tells the other servers of one subscription more, or of one less, as `change` says.
void routes_tell(struct brokers *brokers, const struct subscription *subscription, int change);
void routes_begin(struct brokers *brokers, uint32_t from, uint32_t to);
void routes_forget(struct brokers *brokers, uint32_t from, uint32_t to);
// Gives a message to whoever is to get it; false when that is nobody.
bool routes_publish(struct broker_client *from, const struct broker_message *message);
void subscription_end(struct subscription *subscription);
