// Fuzzes what hubs say to each other. A hub on the simulated kernel is joined through a simulated server. A client of
// that server says what the input says, as another hub or as nobody, under each subject on which hubs listen; time
// passes. A peer of the hub asks an agent that the client stands for, and subscribes to events. Whatever was said, the
// hub goes on: a ping is answered, and the hub ends in good order.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/play.h"
#include "tests/sim/fleet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MILLISECOND UINT64_C(1000000)
#define ROOT        "patchbay." CLUSTER_NAME "."

enum { TEXT_BYTES = 64 * 1024, PAYLOAD_BYTES_MAX = 255 };

struct session {
    struct fleet fleet;
    struct broker_client *client;
    struct cable *peer;
    unsigned long long number; // under which the hub has asked the client last
    struct script script;
};

// Behind ROOT: H is the hub's name, N the number of its last request. JSON or a frame follows.
static const struct {
    const char *subject;
    bool is_frame;
} kinds[] = {{"hubs.beat", false},
             {"hubs.agents", false},
             {"hubs.approval", false},
             {"hubs.cancel", true},
             {"hub.H.taken", false},
             {"hub.H.held.N", false},
             {"hub.H.cancel", true},
             {"hub.H.progress", true},
             {"hub.H.yield", false},
             {"hub.H.agents", false},
             {"hub.H.decide", true},
             {"hub.H.gone", false},
             {"hub.H.answer.N", true},
             {"1.name.b", false},
             {"1.agent.b", true},
             {"1.method.m", true},
             {"1.event.e", true},
             {"1.notice.m", true},
             {"hub.H.answer.9007199254740993", false},
             {"$SRV.STATS", false}};

static void require(bool holds) {
    if (!holds)
        abort();
}

static void write_subject(const struct session *session, const char *form, char out[256]) {
    const struct hub_name *hub = &session->fleet.sites[0].world.shards[0]->remote_link.hub;
    size_t to = *form == '$' ? 0 : (size_t)snprintf(out, 256, ROOT);
    for (; *form; form++)
        if (*form == 'H')
            to += (size_t)snprintf(out + to, 256 - to, "%.*s", (int)hub->bytes, hub->text);
        else if (*form == 'N')
            to += (size_t)snprintf(out + to, 256 - to, "%llu", session->number);
        else
            out[to++] = *form;
    out[to] = '\0';
}

// The number of the request that came last.
static void hear(struct session *session) {
    static char text[TEXT_BYTES + 1];
    size_t count;
    while ((count = broker_say(session->client, text, TEXT_BYTES)) > 0) {
        text[count] = '\0';
        for (const char *at = text; (at = strstr(at, ".answer.")); at++)
            session->number = strtoull(at + 8, NULL, 10);
    }
}

static void settle(struct session *session, uint64_t ns) {
    fleet_pass(&session->fleet, ns);
    hear(session);
}

// One message of the script's: its kind, who says it and to whom it is answered, and the payload.
static void say(struct session *session) {
    static char line[4096], payload[PAYLOAD_BYTES_MAX + 64], head[256], subject[256];
    struct script *script = &session->script;
    unsigned kind = script_next(script) % (sizeof kinds / sizeof *kinds), how = script_next(script);
    size_t bytes = script_next(script), left = (size_t)(script->end - script->at);
    bytes = bytes < left ? bytes : left;
    write_subject(session, kinds[kind].subject, subject);
    size_t before = kinds[kind].is_frame && how & 1
                        ? (size_t)snprintf(payload, sizeof payload, "Content-Length: %zu\r\n\r\n", bytes)
                        : 0;
    memcpy(payload + before, script->at, bytes);
    script->at += bytes;
    const char *reply = how & 2   ? ROOT "hub.00000000000000000000000000000001-2.answer.7"
                        : how & 4 ? "_INBOX.f"
                                  : "";
    size_t head_bytes =
        (size_t)snprintf(head, sizeof head, "NATS/1.0\r\nPatchbay: %s-%u time=9 agent=a\r\n\r\n",
                         how & 8 ? "00000000000000000000000000000001" : "ffffffffffffffffffffffffffffffff",
                         how & 16 ? 1u : 2u);
    head_bytes = how & 32 ? 0 : head_bytes;
    size_t count =
        (size_t)snprintf(line, sizeof line, head_bytes ? "HPUB %s %s %zu %zu\r\n" : "PUB %s %s %.0zu%zu\r\n",
                         subject, reply, head_bytes, head_bytes + before + bytes);
    broker_hear(session->client, line, count);
    broker_hear(session->client, head, head_bytes);
    broker_hear(session->client, payload, before + bytes);
    broker_hear(session->client, "\r\n", 2);
    settle(session, how & 64 ? 300 * MILLISECOND : how & 128 ? 2600 * MILLISECOND : MILLISECOND);
}

static void tell(struct session *session, const char *body) {
    char head[64];
    int bytes = snprintf(head, sizeof head, "Content-Length: %zu\r\n\r\n", strlen(body));
    cable_write(session->peer, head, (size_t)bytes);
    cable_write(session->peer, body, strlen(body));
    settle(session, MILLISECOND);
}

static void begin(struct session *session) {
    struct fleet_options options = {.seed = 1, .site_count = 1, .brokers = {.count = 1}};
    world_defaults(&options.world, 1, 1);
    fleet_open(&session->fleet, &options);
    fleet_pass(&session->fleet, 0);
    session->client = broker_join(session->fleet.brokers, 0);
    require(session->client != NULL);
    static const char joins[] = "CONNECT {\"verbose\":false,\"headers\":true,\"no_responders\":true}\r\n"
                                "SUB " ROOT "1.agent.z g 1\r\nSUB _INBOX.f 2\r\nSUB " ROOT "hub.> 3\r\n";
    broker_hear(session->client, joins, sizeof joins - 1);
    session->peer = world_dial(&session->fleet.sites[0].world);
    settle(session, 3000 * MILLISECOND);
    tell(session, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"agent/register\",\"params\":{\"agentId\":\"b\","
                  "\"capabilities\":{\"methods\":[\"m\"]}}}");
    tell(session,
         "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"hub/subscribe\",\"params\":{\"events\":[\"*\"]}}");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct session session;
    static uint8_t come[4 * TEXT_BYTES];
    session = (struct session){.script = {data, data + size}};
    begin(&session);
    while (session.script.at < session.script.end && !broker_over(session.client)) {
        tell(&session, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"w\",\"params\":{\"targetAgent\":\"z\","
                       "\"workDoneToken\":1}}");
        say(&session);
        cable_read(session.peer, come, sizeof come);
    }
    tell(&session, "{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":\"hub/ping\"}");
    size_t count = cable_read(session.peer, come, sizeof come);
    require(memmem(come, count, "\"id\":\"last\"", 11) != NULL);
    cable_close(session.peer);
    broker_leave(session.client);
    fleet_close(&session.fleet);
    return 0;
}
