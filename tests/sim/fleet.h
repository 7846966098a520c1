// Several hubs in one run, each on a simulated kernel and by a clock of its own, and the NATS servers that join them
// (broker.h). Bytes between a hub and its server, and between servers, take time and come in pieces. These bytes can be
// held up, cut and lost.
//
// Each step moves one thing that can be moved; then time passes for all alike. The run fails as world.h says, and where
// a hub says to a server what no hub may say. That is a subject that isn't the cluster's, more than a server takes, or
// a line that a server calls a fault.
#pragma once

#include "tests/sim/broker.h"
#include "tests/sim/toy.h"
#include "tests/sim/world.h"

enum { SITES_MAX = 6, LINKS_MAX = 64, FLEET_STEPS_MAX = 6000000 };
#define CLUSTER_NAME "sim"

struct site;

struct fleet_options {
    uint64_t seed;
    uint32_t site_count;
    struct broker_options brokers;
    struct world_options world; // of each hub, but for its seed; its settings are copied for each
    const struct hub_settings *settings[SITES_MAX]; // of this one, instead of those; NULL: none
    void (*prepare)(struct site *site); // may change a hub's settings before it starts; NULL: nobody does
    uint64_t latency_ns;                // at most so long is a byte on its way between hub and server
    bool clocks_differ;
    bool connects_hang;  // a server that has gone doesn't refuse connections, it says nothing
    bool faults_allowed; // servers may find faults: they are asked to
};

// A hub, running or not.
struct site {
    struct world world;
    struct hub_settings settings;
    struct cluster_settings *cluster_settings;
    bool runs;
    bool apart;                      // nothing passes between it and any server
    bool deaf, mute;                 // nothing comes from any server; nothing reaches one
    uint64_t frozen_ns, unbeaten_ns; // until when, by fleet->now_ns, it stands still; its beats are lost
    uint32_t index, lives;
    uint64_t ahead_ns; // what its clock is ahead of the cluster's
};

// The server's end of a link over the toy cipher.
struct veil {
    struct toy_way in;
    uint8_t out;  // the sequence
    bool greeted; // its INFO has been said, in the clear
    bool shaken;
};

// A connection from a hub to a server.
struct link {
    struct cable *cable; // NULL: there is none
    struct broker_client *client;
    struct veil *veil; // NULL: it is plain
    uint32_t site, server;
    uint64_t up_ns, down_ns; // when what waits arrives; UINT64_MAX: nothing does
};

struct fleet {
    struct fleet_options options;
    struct random random;
    struct brokers *brokers;
    struct site sites[SITES_MAX];
    struct link links[LINKS_MAX];
    bool silent[BROKERS_MAX]; // the server hears and says nothing, and yet is there
    uint64_t now_ns;
    uint64_t messages;            // that hubs have published
    uint64_t published_bytes_max; // of one
};

void fleet_open(struct fleet *fleet, const struct fleet_options *options);
// Does one piece of work of a kernel, a shard or a server. Returns false when all wait for time or for peers.
bool fleet_step(struct fleet *fleet);
void fleet_settle(struct fleet *fleet);
// When somebody has something to do by the clock, by fleet->now_ns.
uint64_t fleet_next_ns(const struct fleet *fleet);
// Lets time pass up to there, and settles nothing.
void fleet_advance(struct fleet *fleet, uint64_t to_ns);
// Lets so much time pass, and all happen that does.
void fleet_pass(struct fleet *fleet, uint64_t ns);
// Parts the hub from its server in both directions, or joins them again. Bytes on their way wait.
void fleet_part(struct fleet *fleet, uint32_t site, bool apart);
// Half of that: the hub hears nothing and is heard, or is heard by nobody and hears.
void fleet_halve(struct fleet *fleet, uint32_t site, bool deaf, bool mute);
// The hub stands still for so long, as a process that is stopped: what comes waits, and then its clock has jumped.
void fleet_freeze(struct fleet *fleet, uint32_t site, uint64_t ns);
// For so long no beat of the hub reaches anybody; all else that it says does.
void fleet_lose_beats(struct fleet *fleet, uint32_t site, uint64_t ns);
// Kills a hub: its connections are reset, and its last bytes never arrive. The caller must have closed the guests'
// cables.
void fleet_kill(struct fleet *fleet, uint32_t site);
// Starts a hub, as a new process.
void fleet_start(struct fleet *fleet, uint32_t site);
void fleet_kill_server(struct fleet *fleet, uint32_t server);
// Connections of hubs to servers that have come to CONNECT.
uint32_t fleet_links(const struct fleet *fleet, uint32_t site);
// Ends all hubs in good order, and checks that nothing is left.
void fleet_close(struct fleet *fleet);
