#include "tests/sim/acts.h"
#include "tests/sim/acts_web.h"

#include <string.h>

#include "tests/sim/kernel.h"

enum { SECOND = 1000000000, LARGE_BYTES = 40000 };

static struct party *join_as(struct scene *scene, const char *agent_id, const char *more) {
    struct party *party = party_join(scene);
    party_register(party, agent_id, more);
    scene_settle(scene);
    return party;
}

// Small and large requests, with ids of all lengths, whole and in pieces.
static void exchange(struct scene *scene) {
    struct party *agent = join_as(scene, "agent", ""), *source = party_join(scene);
    for (unsigned step = 0; step < 8; step++)
        party_ask(source, "work", step == 5 ? LARGE_BYTES : 10, "\"targetAgent\":\"agent\"");
    party_tell(source, "note", LARGE_BYTES, "\"targetAgent\":\"agent\"");
    party_ask(agent, "work", 2000, "\"targetAgent\":\"agent\",\"priority\":\"high\"");
    scene_settle(scene);
    static const char head[] = "content-length: 00000064\r\nX-Y: z\r\n\r\n";
    party_write(source, head, 20);
    scene_settle(scene);
    party_write(source, head + 20, sizeof head - 21);
    scene_settle(scene);
    party_write(source, "{\"method\":\"m\",\"params\":", 23);
    scene_settle(scene);
    party_write(source, "{\"targetAgent\":\"agent\",\"a\":\"fill up\"}   }", 41);
    scene_settle(scene);
}

// Methods that the hub answers itself.
static void hub_methods(struct scene *scene) {
    static const char offer[] =
        ",\"governanceLevel\":\"manual\",\"capabilities\":{\"methods\":[\"a/b\",\"c/d\"],\"tools\":{\"t\":1},"
        "\"tasks\":[\"x\",\"y\"],\"hcs\":true,\"z\":1}";
    struct party *agent = join_as(scene, "agent", offer), *source = party_join(scene);
    static const char *const methods[] = {
        "initialize", "initialized", "hub/ping",        "hub/stats", "hub/agents",
        "a/b",        "nothing",     "$/cancelRequest", "c/d",       "tool/integration"};
    for (unsigned index = 0; index < sizeof methods / sizeof *methods; index++)
        party_ask(source, methods[index], 300, "\"tool\":\"t\",\"id\":1");
    party_ask(source, "hub/agents", 0, "\"capability\":\"hcs\"");
    party_ask(source, "any", 0, "\"targetAgent\":\"@x\"");
    party_ask(source, "any", 0, "\"targetAgent\":\"nobody\"");
    party_ask(source, "any", 0, "\"targetAgent\":7");
    scene_settle(scene);
    party_ask(source, "hub/attach", 0, "\"agent\":\"agent\"");
    party_ask(source, "nothing", 300, "\"tool\":\"t\"");
    scene_settle(scene);
    party_register(agent, "agent", offer);
    party_register(agent, "agent.2", ",\"capabilities\":[\"q\"]");
    party_register(source, "agent", "");
    party_register(source, "not an id", "");
    scene_settle(scene);
    party_ask(agent, "agent/unregister", 0, "\"agentId\":\"agent.2\"");
    party_ask(source, "agent/unregister", 0, "\"agentId\":\"agent\"");
    party_ask(source, "hub/attach", 0, "\"agent\":\"agent.2\"");
    party_ask(agent, "shutdown", 0, "%s", "");
    scene_settle(scene);
    party_tell(agent, "exit", 0, "%s", "");
    scene_settle(scene);
}

// Events, progress, batches, approvals, logs: whoever serves them.
static void more_methods(struct scene *scene) {
    struct party *agent =
        join_as(scene, "agent", ",\"capabilities\":{\"events\":[\"go-*\"],\"methods\":[\"m\"]}");
    struct party *source = party_join(scene);
    source->rude = agent->rude = true;
    party_ask(source, "hub/subscribe", 0, "\"events\":[\"task-progress\",\"build-*\"]");
    scene_settle(scene);
    party_ask(agent, "event", 0, "\"event\":\"build-1\",\"targetAgent\":null");
    party_ask(agent, "event", 2000, "\"event\":\"task-progress\"");
    party_tell(source, "event", 20000, "\"event\":\"go-on\"");
    party_ask(source, "m", 0,
              "\"workDoneToken\":\"a token, with a length\",\"partialResultToken\":7,"
              "\"_meta\":{\"progressToken\":\"another one, with a length of more than forty\"}");
    party_ask(source, "governance/approval", 0,
              "\"approver\":\"agent\",\"action\":\"a\",\"agentId\":\"agent\"");
    party_ask(source, "audit/log", 0, "\"action\":\"a\",\"agentId\":\"agent\"");
    scene_settle(scene);
    char first[128], second[128];
    party_id(first, sizeof first, source->asked++);
    party_id(second, sizeof second, source->asked++);
    party_frame(source, "",
                "[{\"id\":%s,\"method\":\"m\",\"params\":{}},{\"method\":\"m\"},{\"id\":%s,\"method\":\"hub/"
                "ping\"},7]",
                first, second);
    scene_settle(scene);
    party_ask(source, "hub/unsubscribe", 0, "\"events\":[\"task-progress\"]");
    scene_settle(scene);
}

// Lines among frames: bodies with line breaks for one receiver, and for several, and a line in pieces.
static void lines(struct scene *scene) {
    struct party *agent = party_join_lines(scene), *source = party_join(scene),
                 *other = party_join_lines(scene);
    if (!agent || !source || !other)
        return;
    party_register(agent, "agent", ",\"capabilities\":{\"events\":[\"go-*\"]}");
    party_ask(other, "hub/subscribe", 0, "\"events\":[\"go-*\"]");
    scene_settle(scene);
    party_ask(source, "work", LARGE_BYTES, "\"targetAgent\":\r\n\"agent\"");
    party_ask(other, "work", 10, "\"targetAgent\":\"agent\"");
    party_tell(source, "event", 2000, "\"event\":\n\"go-on\"");
    party_ask(source, "event", LARGE_BYTES, "\"event\":\n\"go-on\"");
    for (unsigned number = 0; number < 3; number++)
        party_tell(source, "event", 20, "\"event\":\n\"go-%u\"", 1U);
    scene_settle(scene);
    char id[128];
    party_id(id, sizeof id, other->asked++);
    party_frame(other, "", "[{\"id\":%s,\"method\":\"work\",\"params\":{\"targetAgent\":\"agent\"}},7]", id);
    other->rude = true;
    static const char note[] = "{\"method\":\"note\",\"params\":{\"targetAgent\":\"agent\",\"x\":";
    party_write(other, note, sizeof note - 1);
    for (unsigned piece = 0; piece < 30; piece++) {
        scene_settle(scene);
        char ones[3000];
        memset(ones, '1', sizeof ones);
        party_write(other, ones, sizeof ones);
    }
    static const char rest[] = "}}\n{\"method\":\"hub/nothing\"}"; // a line ends with the stream, too
    party_write(other, rest, sizeof rest - 1);
    cable_shut(other->cable);
    scene_settle(scene);
}

// Requests that end in all other ways: by time, by cancel, because either side leaves.
static void endings(struct scene *scene) {
    struct party *agent = join_as(scene, "agent", ""), *other = join_as(scene, "other", "");
    struct party *source = party_join(scene), *leaver = party_join(scene);
    agent->silent = other->silent = true;
    char id[128];
    for (unsigned number = 0; number < 4; number++)
        party_ask(source, "work", 0, "\"targetAgent\":\"agent\"");
    party_id(id, sizeof id, source->asked++);
    party_frame(source, "Custom-Timeout-Ms: 50\r\n",
                "{\"id\":%s,\"method\":\"work\",\"params\":{\"targetAgent\":\"other\"}}", id);
    party_ask(leaver, "work", 0, "\"targetAgent\":\"agent\"");
    party_ask(other, "work", 0, "\"targetAgent\":\"other\"");
    scene_settle(scene);
    party_id(id, sizeof id, 2);
    party_frame(source, "", "{\"method\":\"$/cancelRequest\",\"params\":{\"id\":%s}}", id);
    party_id(id, sizeof id, 3);
    party_frame(source, "", "{\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":%s}}", id);
    scene_settle(scene);
    scene_pass(scene, SECOND / 10);
    party_leave(leaver);
    scene_settle(scene);
    if (other && other->cable)
        cable_reset(other->cable);
    party_leave(agent);
    scene_settle(scene);
    party_ask(source, "hub/ping", 0, "%s", "");
    if (source)
        cable_shut(source->cable);
    scene_settle(scene);
}

// An agent that reads nothing for a while: frames wait, are taken out, are refused.
static void slow_reader(struct scene *scene) {
    struct party *agent = join_as(scene, "agent", ""), *source = party_join(scene),
                 *second = party_join(scene);
    if (agent)
        agent->deaf = true;
    char id[128];
    for (unsigned step = 0; step < 12; step++)
        party_ask(step % 3 ? source : second, "work", step == 7 ? 9000 : 400,
                  "\"targetAgent\":\"agent\",\"priority\":\"%s\"", step % 2 ? "high" : "low");
    scene_settle(scene);
    party_id(id, sizeof id, 6);
    party_frame(source, "", "{\"method\":\"$/cancelRequest\",\"params\":{\"id\":%s}}", id);
    party_leave(second);
    scene_settle(scene);
    if (agent)
        agent->deaf = false;
    scene_settle(scene);
}

// A subscriber that reads nothing for a while beside one that does: events are missed, and told.
static void slow_subscriber(struct scene *scene) {
    struct party *slow = party_join(scene), *quick = party_join(scene);
    struct party *source = join_as(scene, "source", ",\"capabilities\":{\"events\":[\"*\"]}");
    party_ask(slow, "hub/subscribe", 0, "\"events\":[\"e\",\"e*\"]");
    party_ask(quick, "hub/subscribe", 0, "\"events\":[\"e\"]");
    scene_settle(scene);
    if (slow)
        slow->deaf = true;
    for (unsigned step = 0; step < 10; step++) {
        party_tell(source, "event", step == 4 ? LARGE_BYTES : 900, "\"event\":\"e\",\"priority\":\"%s\"",
                   step % 2 ? "high" : "low");
        scene_settle(scene);
    }
    party_ask(source, "event", 900, "\"event\":\"e\"");
    scene_settle(scene);
    if (slow)
        slow->deaf = false;
    scene_settle(scene);
    party_ask(source, "event", 10, "\"event\":\"e\"");
    party_ask(quick, "hub/unsubscribe", 0, "\"events\":[\"e\"]");
    if (source) // the answer to the event is still due
        cable_shut(source->cable);
    scene_settle(scene);
}

// More connections than the first tables hold; all but a few leave again.
static void flow(struct scene *scene) {
    for (unsigned index = 0; index < 72; index++)
        party_join(scene);
    scene_settle(scene);
    for (unsigned index = 0; index < 40; index++)
        party_leave(&scene->parties[index]);
    scene_settle(scene);
    for (unsigned index = 66; index < 72; index++)
        party_ask(&scene->parties[index], "hub/ping", 0, "%s", "");
    scene_settle(scene);
}

// Blocks and bodies that can't be read.
static void nonsense(struct scene *scene) {
    struct party *party = party_join(scene), *other = party_join(scene);
    static const char *const bodies[] = {"{", "[]", "{\"id\":1,\"id\":1}", "{\"method\":\"\xff\"}", "7"};
    if (!party || !other)
        return;
    party->rude = other->rude = true;
    for (unsigned index = 0; index < sizeof bodies / sizeof *bodies; index++)
        party_frame(party, "", "%s", bodies[index]);
    party_frame(party, "HugAI-Version: 9\r\n", "{\"method\":\"m\"}");
    party_write(other, "GET / HTTP/1.1\r\n\r\n", 18);
    scene_settle(scene);
    party_write(party, "Content-Length: 17000000\r\n\r\n{", 29);
    scene_settle(scene);
    scene_pass(scene, 2 * (uint64_t)SECOND);
}

// The hub ends while requests are pending, one of them in a queue.
static void drain(struct scene *scene) {
    struct party *agent = join_as(scene, "agent", ""), *source = party_join(scene);
    if (agent)
        agent->silent = true;
    for (unsigned step = 0; step < 3; step++)
        party_ask(source, "work", 10, "\"targetAgent\":\"agent\"");
    scene_settle(scene);
    kernel_signal(scene->world.kernel, 15);
    scene_settle(scene);
    party_ask(source, "work", 10, "\"targetAgent\":\"agent\"");
    scene_settle(scene);
    scene_pass(scene, 8 * (uint64_t)SECOND);
}

// Messages for the audit journal: entries, approvals and their ends, refusals; the file is renamed on the
// way.
static void audit(struct scene *scene) {
    static const char entry[] = "\"action\":\"a\",\"actor\":\"b\",\"timestamp\":\"c\"";
    static const char approval[] =
        "\"checkpoint\":\"c\",\"artifact\":{},\"approver\":\"agent\",\"decision\":\"approved\"";
    struct party *agent = join_as(scene, "agent", ",\"capabilities\":{\"methods\":[\"audit/log\"]}");
    struct party *source = party_join(scene);
    for (unsigned step = 0; step < 3; step++) {
        party_ask(source, "audit/log", step == 1 ? LARGE_BYTES : 10, "%s", entry);
        party_tell(agent, "audit/log", 10, "%s", entry);
        party_ask(source, "governance/approval", 10, "%s", approval);
    }
    party_ask(source, "audit/log", 10, "\"targetAgent\":\"agent\",%s", entry);
    party_ask(source, "governance/approval", 10, "\"targetAgent\":\"nobody\",%s", approval);
    party_tell(source, "governance/approval", 10, "%s", approval);
    party_frame(source, "Governance-Level: manual\r\n",
                "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{\"targetAgent\":\"agent\"}}");
    scene_settle(scene);
    disk_rename(scene->world.kernel);
    kernel_signal(scene->world.kernel, 1);
    if (agent)
        agent->silent = true;
    party_ask(source, "governance/approval", 10, "%s", approval);
    party_ask(source, "audit/log", 10, "%s", entry);
    scene_settle(scene);
    party_leave(source);
    scene_settle(scene);
}

const struct act acts[] = {
    {"exchange", exchange, 0, 0, NULL},
    {"hub methods", hub_methods, 0, 0, NULL},
    {"more methods", more_methods, 0, 0, NULL},
    {"lines", lines, 0, 0, NULL},
    {"callers", acts_callers, 0, 0, NULL},
    {"listeners", acts_listeners, 200, 3000, NULL},
    {"endings", endings, 0, 0, NULL},
    {"slow reader", slow_reader, 200, 3000, NULL},
    {"slow subscriber", slow_subscriber, 200, 3000, NULL},
    {"crowd", flow, 0, 0, NULL},
    {"nonsense", nonsense, 0, 0, NULL},
    {"drain", drain, 0, 0, NULL},
    {"audit", audit, 0, 0, "journal"},
    {"streams", acts_streams, 0, 0, NULL},
    {"slow streams", acts_streams, 200, 3000, NULL},
};
const unsigned acts_count = sizeof acts / sizeof *acts;
