// The act of sessions of HCS: a producer, and clients over frames, lines and HTTP.
#include <stdio.h>
#include <string.h>

#include "tests/sim/acts_web.h"
#include "tests/sim/kernel.h"

enum { LARGE_BYTES = 20000 };

#define CHUNK(session, seq, lod)                                                                             \
    "{\"type\":\"chunk\",\"session_id\":\"" session "\",\"seq\":" #seq ",\"lod\":\"" lod "\",\n\"t\":\"%"    \
    "s\"}"
#define START(session) "{\"type\":\"start\",\"request_id\":\"r\",\"session_id\":\"" session "\"}"

// NULL: nobody listens.
static void ask(struct cable *web, const char *request) {
    if (web)
        cable_write(web, request, strlen(request));
}

static void post(struct cable *web, const char *body) {
    char head[160];
    snprintf(head, sizeof head,
             "POST /hcs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
             "Content-Length: %zu\r\n\r\n",
             strlen(body));
    ask(web, head);
    ask(web, body);
}

static void settle(struct scene *scene, struct cable *const *webs, unsigned count) {
    uint8_t bytes[4096];
    bool any = true;
    while (any) {
        any = false;
        scene_settle(scene);
        for (unsigned index = 0; index < count; index++)
            while (webs[index] && cable_read(webs[index], bytes, sizeof bytes))
                any = true;
    }
}

// Chunks of the producer, while one client reads nothing.
static void say_chunks(struct party *producer) {
    static char large[LARGE_BYTES];
    memset(large, 'x', sizeof large - 1);
    party_frame(producer, "", "{\"type\":\"init\",\"session_id\":\"s\",\"x\":1}");
    party_frame(producer, "", CHUNK("s", 1, "macro"), "small");
    party_frame(producer, "", CHUNK("s", 2, "micro"), large);
    party_frame(producer, "", CHUNK("s", 3, "atomic"), "small");
    party_frame(producer, "", CHUNK("s", 3, "atomic"), "it doesn't rise");
    party_frame(producer, "", CHUNK("s", 5, "micro"), "small");
    party_frame(producer, "", "{\"type\":\"control\",\"session_id\":\"s\",\"action\":\"relax\"}");
    party_frame(producer, "", CHUNK("nowhere", 5, "micro"), "");
}

static void say_of_clients(struct party *client, struct party *other, struct cable *poster) {
    party_frame(client, "", "{\"type\":\"ack\",\"session_id\":\"s\",\"seq\":1}");
    party_frame(client, "", "{\"type\":\"control\",\"session_id\":\"s\",\"action\":\"pause\"}");
    party_frame(other, "", "{\"type\":\"control\",\"session_id\":\"s\",\"action\":\"flush\"}");
    post(poster, "{\"type\":\"control\",\"session_id\":\"s\",\"request_id\":\"w\",\"action\":\"pause\"}");
    post(poster, "{\"type\":\"ack\",\"session_id\":\"s\",\"request_id\":\"nobody's\"}");
}

void acts_streams(struct scene *scene) {
    static const char again[] =
        "GET /hcs?request_id=w HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: s:1\r\n\r\n";
    struct party *producer = party_join(scene), *client = party_join(scene), *other = party_join_lines(scene);
    struct cable *webs[] = {world_dial_http(&scene->world), world_dial_http(&scene->world),
                            world_dial_http(&scene->world)};
    const unsigned count = sizeof webs / sizeof *webs;
    party_register(producer, "producer", ",\"capabilities\":{\"hcs\":true}");
    settle(scene, webs, count);
    ask(webs[0], "GET /hcs?request_id=w&session_id=s HTTP/1.1\r\nHost: localhost\r\n\r\n");
    party_frame(client, "", START("s"));
    party_frame(other, "", START("s"));
    party_frame(client, "", "{\"type\":\"start\",\"request_id\":\"made up\",\"user_id\":\"u\"}");
    settle(scene, webs, count);
    if (other)
        other->deaf = true;
    say_chunks(producer);
    say_of_clients(client, other, webs[1]);
    settle(scene, webs, count);
    party_frame(producer, "", CHUNK("s", 7, "micro"), "while some pause");
    ask(webs[2], again);
    party_frame(client, "", "{\"type\":\"control\",\"session_id\":\"s\",\"action\":\"resume\"}");
    settle(scene, webs, count);
    if (other)
        other->deaf = false;
    party_frame(other, "", "{\"type\":\"start\",\"request_id\":\"r\",\"session_id\":\"s\",\"after_seq\":2}");
    settle(scene, webs, count);
    party_frame(producer, "", "{\"type\":\"complete\",\"session_id\":\"s\"}");
    party_frame(client, "", START("s"));
    party_frame(client, "", START("t"));
    settle(scene, webs, count);
    for (unsigned index = 0; index < count; index++)
        if (webs[index])
            cable_close(webs[index]);
    party_leave(producer);
    scene_settle(scene);
}
