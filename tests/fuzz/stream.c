// Fuzzes sessions of HCS in a whole hub. The input is a play. A producer and four clients, over frames, lines
// and HTTP, say frames of a few sessions, pause, flush, don't read, leave and come back. Time passes
// meanwhile, and calls and allocations fail. Bytes over frames and lines are whole and JSON, requests end
// once, and in the end the hub has given everything back.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "router/features/hcs/hcs_shard.h"
#include "tests/fuzz/play.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CLIENTS = 4, WEBS = 3, MILLISECOND = 1000000, CONNECTIONS = 64, LARGE_BYTES = 6000 };

struct play {
    struct scene scene;
    struct party *producer, *clients[CLIENTS];
    struct cable *webs[WEBS];
    unsigned seq; // of the last chunk
    struct script script;
};

static const char *const sessions[] = {"s", "t", "u", "v"};

static uint8_t next(struct play *play) {
    return script_next(&play->script);
}

// Joins a party that may be told of faults.
static struct party *join(struct play *play, bool lines) {
    struct party *party = (lines ? party_join_lines : party_join)(&play->scene);
    if (party)
        party->rude = true;
    return party;
}

static const char *session_of(uint8_t what) {
    return sessions[what & 3];
}

// --- The producer

static void chunk(struct play *play, uint8_t what) {
    static const char *const lods[] = {"macro", "micro", "atomic", "none"};
    static char large[LARGE_BYTES];
    memset(large, 'x', sizeof large - 1);
    play->seq += what & 0x80 ? 0 : 1;
    party_frame(play->producer, "",
                "{\"type\":\"chunk\",\"session_id\":\"%s\",\"seq\":%u,\"lod\":\"%s\",%s\"t\":\"%s\"}",
                session_of(what), play->seq, lods[what >> 2 & 3], what & 0x10 ? "\r\n" : "",
                what & 0x20 ? large : "");
}

static void produce(struct play *play, uint8_t what) {
    static const char *const frames[] = {
        "{\"type\":\"init\",\"session_id\":\"%s\"}",
        "{\"type\":\"complete\",\"session_id\":\"%s\"}",
        "{\"type\":\"error\",\"session_id\":\"%s\",\"code\":\"X\"}",
        "{\"type\":\"error\",\"session_id\":\"%s\",\"refused\":\"ack\"}",
        "{\"type\":\"control\",\"session_id\":\"%s\",\"action\":\"tighten\"}",
        "{\"type\":\"chunk\",\"session_id\":\"%s\",\"seq\":9007199254740991}",
        "{\"type\":\"ack\",\"session_id\":\"%s\"}",
        "{\"type\":\"other\",\"session_id\":\"%s\",\"session_id\":\"s\"}",
    };
    party_frame(play->producer, "", frames[what >> 2 & 7], session_of(what));
}

// --- Clients

static void say_as_client(struct play *play, uint8_t who, uint8_t what) {
    static const char *const frames[] = {
        "{\"type\":\"start\",\"request_id\":\"r\",\"session_id\":\"%s\"}",
        "{\"type\":\"start\",\"request_id\":\"r\",\"session_id\":\"%s\",\"after_seq\":%u}",
        "{\"type\":\"control\",\"session_id\":\"%s\",\"action\":\"pause\"}",
        "{\"type\":\"control\",\"session_id\":\"%s\",\"action\":\"resume\"}",
        "{\"type\":\"control\",\"session_id\":\"%s\",\"action\":\"flush\"}",
        "{\"type\":\"ack\",\"session_id\":\"%s\",\"seq\":%u}",
        "{\"type\":\"complete\",\"session_id\":\"%s\"}",
        "{\"type\":\"start\",\"request_id\":\"%s\"}",
    };
    const char *session = session_of(what);
    unsigned seq = what >> 5;
    char body[160];
    snprintf(body, sizeof body, frames[what >> 2 & 7], session, seq); // NOLINT: all take these two
    party_frame(play->clients[who % CLIENTS], who & 4 ? "Governance-Level: manual\r\n" : "", "%s", body);
}

static void client_moves(struct play *play, uint8_t who, uint8_t what) {
    struct party **client = &play->clients[who % CLIENTS];
    if (!*client || !(*client)->cable) {
        if (play->scene.world.kernel->cable_count < CONNECTIONS && play->scene.count < PARTIES_MAX)
            *client = join(play, what & 1);
    } else if (what & 2) {
        (*client)->deaf = !(*client)->deaf;
    } else if (what & 4) {
        cable_shut((*client)->cable);
    } else {
        party_leave(*client);
    }
}

// --- Over HTTP

static void web_says(struct play *play, uint8_t who, uint8_t what) {
    static const char *const requests[] = {
        "GET /hcs?request_id=w&session_id=%s HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /hcs?request_id=w&session_id=%s&after_seq=%u HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /hcs HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: %s:%u\r\n\r\n",
        "GET /hcs?request_id=w&x=%s HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: s:-\r\n\r\n",
    };
    static const char *const actions[] = {"pause", "resume", "flush", "tighten"};
    char text[320], body[160];
    int count = snprintf(text, sizeof text, requests[what >> 2 & 3], session_of(what), what >> 5);
    if (what & 0x10) {
        snprintf(body, sizeof body,
                 "{\"type\":\"control\",\"session_id\":\"%s\",\"request_id\":\"w\",\"action\":\"%s\"}",
                 session_of(what), actions[what >> 2 & 3]);
        count = snprintf(text, sizeof text,
                         "POST /hcs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                         "Content-Length: %zu\r\n\r\n%s",
                         strlen(body), body);
    }
    if (play->webs[who % WEBS])
        cable_write(play->webs[who % WEBS], text, (size_t)count);
}

static void web_moves(struct play *play, uint8_t who, uint8_t what) {
    struct cable **web = &play->webs[who % WEBS];
    if (!*web) {
        if (play->scene.world.kernel->cable_count < CONNECTIONS)
            *web = world_dial_http(&play->scene.world);
        return;
    }
    if (what & 1)
        cable_reset(*web);
    cable_close(*web);
    *web = NULL;
}

static void webs_hear(struct play *play) {
    uint8_t bytes[4096];
    for (unsigned index = 0; index < WEBS; index++)
        while (play->webs[index] && cable_read(play->webs[index], bytes, sizeof bytes))
            continue;
}

// --- The play

static void settle(struct play *play) {
    scene_settle(&play->scene);
    webs_hear(play);
    scene_settle(&play->scene);
}

static void producer_moves(struct play *play, uint8_t what) {
    if (play->producer && play->producer->cable && (what & 3) == 0) {
        party_leave(play->producer);
    } else if (play->producer && play->producer->cable) {
        play->producer->deaf = !play->producer->deaf;
    } else if (play->scene.world.kernel->cable_count < CONNECTIONS && play->scene.count < PARTIES_MAX) {
        play->producer = join(play, what & 4);
        party_register(play->producer, "p", ",\"capabilities\":{\"hcs\":true}");
    }
}

static void fail_somewhere(struct play *play, uint8_t what) {
    static const int32_t errors[] = {-EINTR, -ENOBUFS, -ECONNRESET, -ENOMEM};
    if (what & 0x80)
        memory_fail(what & 31, 1 + (what >> 5 & 3));
    else
        kernel_refuse(play->scene.world.kernel, what & 15, 1, errors[what >> 4 & 3]);
}

static void act(struct play *play) {
    uint8_t what = next(play), who = what >> 4;
    switch (what & 15) {
    case 0:
    case 1:
        chunk(play, next(play));
        break;
    case 2:
        produce(play, next(play));
        break;
    case 3:
    case 4:
    case 5:
        say_as_client(play, who, next(play));
        break;
    case 6:
        client_moves(play, who, next(play));
        break;
    case 7:
    case 8:
        web_says(play, who, next(play));
        break;
    case 9:
        web_moves(play, who, next(play));
        break;
    case 10:
        producer_moves(play, next(play));
        break;
    case 11:
        fail_somewhere(play, next(play));
        break;
    case 12:
        scene_pass(&play->scene, (uint64_t)(next(play) & 63) * 50 * MILLISECOND);
        break;
    case 13:
        for (unsigned steps = who; steps > 0; steps--)
            world_step(&play->scene.world);
        break;
    default:
        settle(play);
        break;
    }
}

static void open_play(struct play *play) {
    struct world_options options;
    uint8_t first = next(play), second = next(play);
    world_defaults(&options, second, 1 + (first & 1));
    options.limits.connections_max = CONNECTIONS;
    options.faults.lent_max = 2;
    options.faults.cut = first & 4 ? 300 : 0;
    options.faults.window_bytes = first & 8 ? 300 : 0;
    if (first & 16)
        options.limits.queue_bytes_max = 3000;
    if (first & 32)
        options.own[FEATURE_HCS][HCS_OPTION_HISTORY_BYTES_MAX] = 300;
    if (first & 64)
        options.own[FEATURE_HCS][HCS_OPTION_SESSIONS_MAX] = 2;
    if (first & 128)
        options.own[FEATURE_HCS][HCS_OPTION_LINGER_NS] = options.own[FEATURE_HCS][HCS_OPTION_SILENCE_NS] =
            100 * MILLISECOND;
    scene_open(&play->scene, &options);
    producer_moves(play, 0);
    for (unsigned index = 0; index < CLIENTS; index++)
        client_moves(play, (uint8_t)index, (uint8_t)(second >> index & 1));
    for (unsigned index = 0; index < WEBS; index++)
        web_moves(play, (uint8_t)index, 0);
    settle(play);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct play play;
    play = (struct play){.script = {data, data + size}};
    open_play(&play);
    for (unsigned acts = 0; play.script.at < play.script.end && acts < 300; acts++)
        act(&play);
    play_ends(&play.scene, play.webs, WEBS);
    return 0;
}
