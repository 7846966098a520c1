// Simulated NATS servers (core, as nats-server 2.9 speaks it to its clients), by themselves or joined to a
// cluster. Each takes the bytes that a client sends and keeps those that it is to be sent. Messages to
// another server lie on a route until somebody lets them go on. A member of a queue group is chosen by
// chance.
//
// Success: a server's answer is there to be read at once. Failure: a client that breaks the protocol is told
// -ERR and is over, as there. A call that may not be made (broker_leave twice) ends the program.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/sim/random.h"

enum { BROKERS_MAX = 3, BROKER_PORT = 4222 };

struct broker_options {
    uint32_t count;       // servers; each has a route to each other one
    uint32_t payload_max; // of a message, head and body together; 0: 1 MiB
    uint32_t line_max;    // of a control line; 0: 4,096
    size_t waiting_max; // bytes that wait for a client before it counts as too slow and is closed; 0: 64 MiB
    const char *user, *password; // without them, or with a token, it is another one's; NULL: not asked for
    const char *token;
    bool tls; // the broker says that it speaks TLS alone; who carries the bytes stands for TLS
};

struct brokers;
struct broker_client;

// A message that a client has published. The texts end with the call.
struct broker_message {
    const char *subject, *reply; // reply: empty: none
    const uint8_t *bytes;
    size_t head, count; // head: of the bytes those of the header block, 0: there is none
};

// Aborts when memory is used up.
struct brokers *brokers_open(const struct broker_options *options, struct random *random);
// All clients must have left.
void brokers_close(struct brokers *brokers);
// Calls for each message that a client publishes, before anybody gets it. Where the tap returns false, nobody does: it
// is lost.
void brokers_tap(struct brokers *brokers,
                 bool (*tap)(void *context, const struct broker_client *from,
                             const struct broker_message *message),
                 void *context);
// Lets one thing pass on a route; false when nothing lies on any.
bool brokers_step(struct brokers *brokers);
// Cuts the routes between two servers, or joins them again. Messages that lay on them are lost, and neither knows any
// more who is at the other. Once joined again, the servers tell each other their subscriptions.
void brokers_cut(struct brokers *brokers, uint32_t one, uint32_t other, bool cut);
// Kills a server: its clients are over with nothing said, and it is a new server when it starts again.
void broker_kill(struct brokers *brokers, uint32_t server);
void broker_start(struct brokers *brokers, uint32_t server);
bool broker_runs(const struct brokers *brokers, uint32_t server);
bool broker_is_lame(const struct brokers *brokers, uint32_t server);
// Has a server tell its clients that it is about to end, and take no more.
void broker_lame(struct brokers *brokers, uint32_t server);
// Asks all its clients for a sign of life.
void broker_ping(struct brokers *brokers, uint32_t server);

// Somebody has connected. NULL: nobody listens there.
struct broker_client *broker_join(struct brokers *brokers, uint32_t server);
// Ends a client's connection, if it isn't over anyway; the client is freed.
void broker_leave(struct broker_client *client);
// Bytes have come from it. Nothing is heard of one that is over.
void broker_hear(struct broker_client *client, const void *bytes, size_t count);
// Takes up to `capacity` of the bytes that wait for it.
size_t broker_say(struct broker_client *client, void *out, size_t capacity);
size_t broker_waiting(const struct broker_client *client);
// Returns whether the server has ended the connection; what waits may still be read, but of one that was too slow, or
// killed with its server.
bool broker_over(const struct broker_client *client);
// Returns the last fault that the client was told (as "'Unknown Protocol Operation'"); empty: none.
const char *broker_fault(const struct broker_client *client);
uint32_t broker_server(const struct broker_client *client);
uint32_t broker_subscriptions(const struct broker_client *client);
// Returns whether it has said CONNECT and may.
bool broker_connected(const struct broker_client *client);
