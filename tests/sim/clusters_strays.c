#include "tests/sim/clusters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/kernel.h"
#include "tests/sim/naive.h"

// Names as they stand in subjects.
static const char *const subjects[NAMES] = {"a-1", "a-2", "a-22", "b-1", "b-2", "tool_3Ax"};

static void stray_say(const char *text) {
    broker_hear(stage.stray, text, strlen(text));
}

static void ask_who_is_there(void) {
    static const char *const services[] = {"$SRV.PING", "$SRV.INFO", "$SRV.STATS"};
    char line[128];
    snprintf(line, sizeof line, "PUB %s _INBOX.stray.all 0\r\n\r\n",
             services[random_below(&stage.random, 3)]);
    stray_say(line);
}

// Returns what the stray says in the place of a hub's own line: nothing, or a line that is none. By neither is the
// message some hub's.
static const char *any_head(void) {
    static const char *const heads[] = {
        "",
        "",
        "NATS/1.0\r\nPatchbay: 1 hub=00112233445566778899aabbccddeeff user=user-0\r\n\r\n",
        "NATS/1.0\r\nPatchbay: later=7 more=than that=is= =known\r\n\r\n",
        "NATS/1.0\r\nPatchbay: 00112233445566778899aabbccddeeff-0 user=user-0\r\n\r\n",
        "NATS/1.0\r\nOther: 00112233445566778899aabbccddeeff-1\r\n\r\n"};
    return heads[random_below(&stage.random, sizeof heads / sizeof *heads)];
}

// A subject under the REALM of the first hub.
static void write_subject(char out[160], const char *rest) {
    struct realm realm;
    rights_realm(0, &realm);
    snprintf(out, 160, "patchbay." CLUSTER_NAME ".%.*s.%s", (int)realm.bytes, realm.text, rest);
}

static void publish(const char *subject, const char *reply, const char *head, const char *body) {
    char line[1024];
    size_t head_bytes = strlen(head), bytes = strlen(body);
    if (head_bytes)
        snprintf(line, sizeof line, "HPUB %s %s %zu %zu\r\n%s%s\r\n", subject, reply, head_bytes,
                 head_bytes + bytes, head, body);
    else
        snprintf(line, sizeof line, "PUB %s %s %zu\r\n%s\r\n", subject, reply, bytes, body);
    stray_say(line);
}

static bool is_claimed(unsigned name) {
    for (unsigned by = 0; by < stage.guest_count; by++)
        if (stage.guests[by].claims[name].open)
            return true;
    return false;
}

static void ask_agent(void) {
    char subject[160], rest[64], reply[64], body[192];
    unsigned number = stage.stray_asked++, name = random_below(&stage.random, NAMES);
    bool is_hubs_own = random_chance(&stage.random, 200);
    stage.questions[number] = (struct question){.is_sure = stage_is_well() && !is_claimed(name),
                                                .epoch = stage.epoch,
                                                .wrongs = stage.wrongs,
                                                .is_hubs_own = is_hubs_own,
                                                .name = name};
    snprintf(rest, sizeof rest, "agent.%s", subjects[name]);
    write_subject(subject, rest);
    snprintf(reply, sizeof reply, "_INBOX.stray.%u", number);
    snprintf(body, sizeof body,
             "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"%s\",\"params\":{\"targetAgent\":\"%s\","
             "\"number\":%u}}",
             number, is_hubs_own ? "hub/agents" : "stray", model_agents[name], number);
    publish(subject, reply, any_head(), body);
}

// A request of the stray's comes once, to the agent that its subject names.
void stray_comes(unsigned by, unsigned number) {
    if (number >= stage.stray_asked)
        kernel_fail("guest %u is asked what no client has", by);
    struct question *question = &stage.questions[number];
    if (question->copies++ || question->is_hubs_own)
        kernel_fail("guest %u is asked by who is no hub what is another one's, or twice", by);
    if (question->is_sure && stage_still(question->epoch) && by != stage_holder(question->name))
        kernel_fail("guest %u is asked by who is no hub what is guest %u's", by,
                    stage_holder(question->name));
}

// Whoever has the name was asked and has answered, unless its hub lets nobody unknown in; or it is nobody's.
static void check_agent(const struct question *question) {
    unsigned holder = stage_holder(question->name);
    bool is_there = holder < stage.guest_count;
    bool is_asked = is_there && !question->is_hubs_own && !stage.known[stage.guests[holder].site];
    if (question->answers != 1 || question->by_hubs != is_there || question->copies != is_asked ||
        question->is_found != is_asked)
        kernel_fail("a client that is no hub asks for %s, which is guest %u's, and is answered %u times, by "
                    "hubs %u times, "
                    "%s, and %u copies have come",
                    subjects[question->name], holder, question->answers, question->by_hubs,
                    question->is_found ? "well" : "not well", question->copies);
}

void stray_check(void) {
    for (unsigned number = 0; number < stage.stray_asked; number++) {
        struct question *question = &stage.questions[number];
        if (!question->is_sure || question->wrongs != stage.wrongs || question->epoch != stage.epoch)
            continue;
        check_agent(question);
        question->is_sure = false;
        sums.strays_sure++;
    }
}

// Where all hubs know users, it comes to nobody.
static void tell_all(void) {
    char subject[160];
    bool all = true;
    for (unsigned site = 0; site < stage.fleet.options.site_count; site++)
        all &= stage.known[site];
    if (!all)
        return;
    write_subject(subject, "event.e-1");
    publish(subject, "", any_head(),
            "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"event\":\"e-1\"}}");
    write_subject(subject, "notice.m_2F2");
    publish(subject, "", any_head(), "{\"jsonrpc\":\"2.0\",\"method\":\"m/2\",\"params\":{}}");
}

// A session that has no client at any hub.
static void start_stream(void) {
    char subject[160], rest[64];
    snprintf(rest, sizeof rest, "agent.%s", subjects[random_below(&stage.random, NAMES)]);
    write_subject(subject, rest);
    publish(subject, "", any_head(), "{\"type\":\"start\",\"request_id\":\"r\",\"session_id\":\"strange\"}");
}

static bool comes(void) {
    if (stage.stray && broker_over(stage.stray))
        stray_leave();
    if (!stage.stray && !(stage.stray = broker_join(stage.fleet.brokers, 0)))
        return false;
    if (!broker_connected(stage.stray))
        stray_say("CONNECT {\"verbose\":false,\"headers\":true,\"no_responders\":true}\r\nSUB _INBOX.stray.* "
                  "1\r\n");
    return true;
}

// A hub of another version says that it is there, with fields that this hub doesn't know or would read otherwise. That
// disturbs no hub, and no hub sends requests there.
static void beat_foreign(void) {
    static const char *const beats[] = {
        ("{\"protocol\":2,\"realm\":\"2-00112233445566778899aabbccddeeff\",\"hub\":"
         "\"00000000000000000000000000000000-7\","
         "\"agents\":3,\"dropped\":9,\"mood\":{\"deep\":[1,{}]},\"name\":[1]}"),
        ("{\"hub\":\"ffffffffffffffffffffffffffffffff-4294967295\",\"protocol\":12345678901,\"realm\":null,"
         "\"agents\":\"many\",\"dropped\":-1,\"leaving\":\"perhaps\",\"strict\":1}"),
        "{\"protocol\":2,\"hub\":\"ffffffffffffffffffffffffffffffff-1\",\"leaving\":true,\"at\":1e99}",
        "{\"protocol\":2}", "{\"protocol\":2,\"hub\":\"later-than-that\"}"};
    sums.foreign_beats++;
    publish("patchbay." CLUSTER_NAME ".hubs.beat", "", "",
            beats[random_below(&stage.random, sizeof beats / sizeof *beats)]);
}

// Something of a link that a hub had before comes late, in the place of which another number counts by now.
static void beat_late(void) {
    uint32_t site = random_below(&stage.random, stage.fleet.options.site_count);
    char body[256];
    struct hub_name now, before;
    if (!stage.fleet.sites[site].runs)
        return;
    now = stage.fleet.sites[site].world.shards[0]->remote_link.hub;
    if (now.bytes == 0 || now.number < 2)
        return;
    hub_name_write(&before, now.text, now.number - 1);
    snprintf(body, sizeof body,
             "{\"protocol\":1,\"realm\":\"1\",\"hub\":\"%.*s\",\"agents\":0,\"dropped\":0,\"leaving\":true}",
             (int)before.bytes, before.text);
    sums.late_beats++;
    publish("patchbay." CLUSTER_NAME ".hubs.beat", "", "", body);
}

void stray_ask(void) {
    if (!comes())
        return;
    uint32_t dice = random_below(&stage.random, 1000);
    if (random_chance(&stage.random, 250)) {
        if (random_chance(&stage.random, 500))
            beat_foreign();
        else
            beat_late();
        return;
    }
    if (dice < 200)
        ask_who_is_there();
    else if (dice < 350)
        tell_all();
    else if (dice < 450)
        start_stream();
    else if (stage.stray_asked < STRAY_MAX)
        ask_agent();
}

void stray_ask_all(void) {
    if (!comes())
        kernel_fail("nobody listens at the first server though all is well");
    for (unsigned more = 0; more < NAMES && stage.stray_asked < STRAY_MAX; more++)
        ask_agent();
}

void stray_leave(void) {
    if (stage.stray)
        broker_leave(stage.stray);
    stage.stray = NULL;
    stage.heard.count = 0;
}

// Takes the next message that the server has sent. Returns false where no message is complete.
static bool stray_take(void) {
    char line[512] = "", subject[128] = "";
    size_t head = 0, count = 0;
    const uint8_t *bytes = stage.heard.bytes, *feed = memchr(bytes, '\n', stage.heard.count);
    if (!feed || (size_t)(feed - bytes) >= sizeof line)
        return false;
    size_t length = (size_t)(feed - bytes) + 1;
    memcpy(line, bytes, length);
    bool headed = sscanf(line, "HMSG %127s 1 %zu %zu", subject, &head, &count) == 3;
    bool is_message = headed || sscanf(line, "MSG %127s 1 %zu", subject, &count) == 2;
    size_t whole = length + (is_message ? count + 2 : 0);
    if (stage.heard.count < whole)
        return false;
    if (is_message && strcmp(subject, "_INBOX.stray.all") != 0) {
        unsigned number = (unsigned)strtoul(subject + strlen("_INBOX.stray."), NULL, 10);
        if (number >= stage.stray_asked || stage.questions[number].answers++)
            kernel_fail("a client that is no hub is answered twice: %.*s", (int)count,
                        (const char *)feed + 1);
        stage.questions[number].by_hubs += !memmem(feed + 1, count, "NATS/1.0 503", 12);
        stage.questions[number].is_found |= memmem(feed + 1, count, "\"found\"", 7) != NULL;
        if (memmem(feed + 1, count, "\"agents\":", 9))
            kernel_fail("a client that is no hub is told who is at a hub");
        sums.strays++;
        sums.strangers += memmem(feed + 1, count, "-32054", 6) != NULL;
    }
    memmove(stage.heard.bytes, stage.heard.bytes + whole, stage.heard.count - whole);
    stage.heard.count -= whole;
    return true;
}

bool stray_hear(void) {
    if (!stage.stray)
        return false;
    size_t more = broker_say(stage.stray, stage.heard.bytes + stage.heard.count,
                             sizeof stage.heard.bytes - stage.heard.count);
    stage.heard.count += more;
    while (stray_take())
        ;
    return more > 0;
}
