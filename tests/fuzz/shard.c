// Fuzzes a whole hub. The input is a play: who connects, says what in which pieces, doesn't read, leaves, and
// what fails meanwhile. Three parties keep their manners and their books (tests/sim/party.h); up to four
// strangers say what the input says, answer what they weren't asked, and take names over. All speak framed or
// lines. In the end the strangers have gone, each request of a party that is still connected has ended once,
// and the hub has given everything back.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "tests/sim/kernel.h"
#include "tests/sim/naive.h"
#include "tests/sim/party.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PARTIES = 3, STRANGERS = 4, MILLISECOND = 1000000, ASKS_MAX = 200 };

struct play {
    struct scene scene;
    struct cable *strangers[STRANGERS];
    bool lines[STRANGERS];        // which of them speak lines
    uint64_t heard_id[STRANGERS]; // the last hub id that each saw
    const uint8_t *at, *end;
};

static uint8_t next(struct play *play) {
    return play->at < play->end ? *play->at++ : 0;
}

// --- Parties

static struct party *party(struct play *play, unsigned index) {
    return &play->scene.parties[index % PARTIES];
}

static void party_acts(struct play *play, uint8_t who, uint8_t what) {
    struct party *self = party(play, who);
    size_t filler = what & 0x80 ? 30000 : what & 0x40 ? 1500 : 4;
    char id[128];
    if (self->asked >= ASKS_MAX)
        return;
    switch (what & 15) {
    case 0:
    case 1:
        party_ask(self, "work", filler, "\"targetAgent\":\"%s\"", what & 1 ? "a" : "b");
        break;
    case 2:
        party_ask(self, "work", filler, "\"targetAgent\":\"@x\",\"priority\":\"high\"");
        break;
    case 3:
        party_ask(self, "a/b", filler, "\"workDoneToken\":%u,\"_meta\":{\"progressToken\":\"t\"}", what);
        break;
    case 4:
        party_tell(self, "note", filler, "\"targetAgent\":\"a\"");
        break;
    case 5:
        party_ask(self, "hub/agents", 0, "%s", "\"x\":1");
        break;
    case 6:
        party_ask(self, "hub/subscribe", 0, "\"events\":[\"go\",\"b-*\"]");
        break;
    case 7:
        party_ask(self, "event", filler, "\"event\":\"%s\"", what & 0x10 ? "go" : "b-1");
        break;
    case 8:
        party_id(id, sizeof id, self->asked ? self->asked - 1 : 0);
        party_frame(self, "", "{\"method\":\"$/cancelRequest\",\"params\":{\"id\":%s}}", id);
        break;
    case 9:
        party_register(self, what & 0x10 ? "a" : "b", ",\"capabilities\":{\"methods\":[\"a/b\"],\"x\":1}");
        break;
    case 10:
        party_ask(self, "agent/unregister", 0, "\"agentId\":\"%s\"", what & 0x10 ? "a" : "b");
        break;
    case 11:
        party_ask(self, "shutdown", 0, "%s", "\"x\":1");
        break;
    case 12:
        self->deaf = !self->deaf;
        break;
    case 13:
        if (what & 0x10)
            party_ask(self, "audit/log", filler, "\"action\":\"a\",\"actor\":\"b\",\"timestamp\":\"c\"");
        else
            party_ask(self, "nothing", filler, "\"targetAgent\":\"a.n\"");
        break;
    case 14:
        if (self->cable)
            cable_shut(self->cable);
        break;
    default:
        party_leave(self);
        break;
    }
}

// --- Strangers

static void stranger_hears(struct play *play, unsigned index) {
    uint8_t bytes[16384];
    struct cable *cable = play->strangers[index];
    for (size_t count; cable && (count = cable_read(cable, bytes, sizeof bytes - 1));) {
        bytes[count] = '\0';
        for (const uint8_t *at = bytes; (at = memmem(at, count - (size_t)(at - bytes), "\"id\":", 5));
             at += 5)
            play->heard_id[index] = strtoull((const char *)at + 5, NULL, 10);
    }
}

static void stranger_says(struct play *play, unsigned index, const char *fields, const char *body,
                          size_t count) {
    char head[128];
    int bytes = snprintf(head, sizeof head, "Content-Length: %zu\r\n%s\r\n", count, fields);
    if (!play->strangers[index])
        return;
    if (!play->lines[index])
        cable_write(play->strangers[index], head, (size_t)bytes);
    cable_write(play->strangers[index], body, count);
    if (play->lines[index])
        cable_write(play->strangers[index], "\n", 1);
}

// Says the next bytes of the input: as they are, or as a body.
static void stranger_talks(struct play *play, unsigned index, bool framed) {
    size_t count = next(play), left = (size_t)(play->end - play->at);
    count = count < left ? count : left;
    if (framed && count)
        stranger_says(play, index, "", (const char *)play->at, count);
    else if (play->strangers[index] && count)
        cable_write(play->strangers[index], play->at, count);
    play->at += count;
}

static void stranger_answers(struct play *play, uint8_t what) {
    static const char *const forms[] = {"{\"id\":%llu,\"result\":1}", "{\"id\":%llu.0,\"error\":{}}",
                                        "{\"result\":{},\"result\":1,\"id\":%llu}",
                                        "{\"result\":[}],\"id\":%llu}"};
    char body[128];
    unsigned index = what % STRANGERS;
    uint64_t id = play->heard_id[(what & 0x40 ? index + 1 : index) % STRANGERS] + (what >> 7);
    int count = snprintf(body, sizeof body, forms[what >> 2 & 3], (unsigned long long)id);
    stranger_says(play, index, what & 0x20 ? "Governance-Level: bad\r\n" : "", body, (size_t)count);
}

// What the audit journal takes.
#define LOG(head, more)                                                                                      \
    "{\"jsonrpc\":\"2.0\"," head                                                                             \
    "\"method\":\"audit/log\",\"params\":{\"action\":\"a\",\"actor\":\"b\",\"timestamp\":\"c\"," more "}}"
#define APPROVAL(head, approver)                                                                             \
    "{\"jsonrpc\":\"2.0\"," head "\"method\":\"governance/"                                                  \
    "approval\",\"params\":{\"checkpoint\":\"c\",\"artifact\":{},\"approver\":\"" approver                   \
    "\",\"decision\":\"approved\"}}"

static void stranger_calls(struct play *play, uint8_t what) {
    static const char *const bodies[] = {
        "{\"id\":1,\"method\":\"agent/register\",\"params\":{\"agentId\":\"a\",\"capabilities\":[\"x\"]}}",
        "{\"id\":1,\"method\":\"agent/"
        "register\",\"params\":{\"agentId\":\"b\",\"capabilities\":{\"methods\":[\"a/b\"]}}}",
        "{\"id\":1,\"method\":\"work\",\"params\":{\"targetAgent\":\"a\",\"x\":[}]}}",
        "{\"id\":1,\"method\":\"hub/subscribe\",\"params\":{\"events\":[\"*\"]}}",
        "{\"method\":\"event\",\"params\":{\"event\":\"go\"}}",
        "[{\"id\":1,\"method\":\"work\",\"params\":{\"targetAgent\":\"b\"}},{\"id\":2,\"method\":\"hub/"
        "ping\"},1]",
        "{\"method\":\"$/progress\",\"params\":{\"token\":1,\"value\":2}}",
        "{\"method\":\"exit\"}",
        LOG("\"id\":1,", "\"x\":[1,\r\n2]"),
        LOG("", "\"x\":\"\\n\\u000d\""),
        LOG("\"id\":2,", "\"targetAgent\":\"a\""),
        LOG("\"id\":2,", "\"x\":\"\n\""),
        APPROVAL("\"id\":3,", "a"),
        APPROVAL("", "b"),
        APPROVAL("\"id\":3,", "nobody"),
        "[" LOG("\"id\":1,", "\"x\":1") "," APPROVAL("\"id\":4,", "b") "," LOG("", "\"X\":1,\"ID\":2") "]",
    };
    const char *body = bodies[what >> 2 & 15];
    stranger_says(play, what % STRANGERS, what & 0x40 ? "Governance-Level: manual\r\n" : "", body,
                  strlen(body));
}

static void stranger_moves(struct play *play, uint8_t what) {
    struct cable **cable = &play->strangers[what % STRANGERS];
    if (!*cable) {
        play->lines[what % STRANGERS] = what & 4;
        if (play->scene.world.kernel->cable_count < 64)
            *cable = (what & 4 ? world_dial_lines : world_dial)(&play->scene.world);
        return;
    }
    switch (what >> 2 & 3) {
    case 0:
        cable_shut(*cable);
        break;
    case 1:
        cable_reset(*cable);
        break;
    default:
        cable_close(*cable);
        *cable = NULL;
    }
}

// --- The play

static void settle(struct play *play) {
    scene_settle(&play->scene);
    for (unsigned index = 0; index < STRANGERS; index++)
        stranger_hears(play, index);
    scene_settle(&play->scene);
}

static void fail_somewhere(struct play *play, uint8_t what) {
    static const int32_t errors[] = {-EINTR, -ENOBUFS, -ECONNRESET, -ENOMEM};
    if (what & 0x80)
        memory_fail(what & 31, 1 + (what >> 5 & 3));
    else
        kernel_refuse(play->scene.world.kernel, what & 15, 1, errors[what >> 4 & 3]);
}

static void act(struct play *play) {
    uint8_t what = next(play);
    switch (what & 15) {
    case 0:
    case 1:
    case 2:
    case 3:
        party_acts(play, what >> 4, next(play));
        break;
    case 4:
    case 5:
    case 6:
        stranger_talks(play, what >> 4 & 3, what & 1);
        break;
    case 7:
        stranger_answers(play, next(play));
        break;
    case 8:
        stranger_calls(play, next(play));
        break;
    case 9:
    case 10:
        stranger_moves(play, what >> 4);
        break;
    case 11:
        fail_somewhere(play, next(play));
        break;
    case 12:
        scene_pass(&play->scene, (uint64_t)(next(play) & 63) * 20 * MILLISECOND);
        break;
    case 13:
        for (unsigned steps = what >> 4; steps > 0; steps--)
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
    options.takeover = first & 2;
    options.limits.connections_max = 64;
    options.faults.lent_max = 2;
    options.faults.cut = first & 4 ? 300 : 0;
    options.faults.end_multishot = first & 8 ? 200 : 0;
    options.faults.window_bytes = first & 16 ? 300 : 0;
    if (first & 32)
        options.limits.queue_bytes_max = 2000;
    if (first & 64)
        options.limits.pending_max = 2;
    if (first & 128)
        options.journal = "journal"; // of which every line must be JSON in the end
    scene_open(&play->scene, &options);
    for (unsigned index = 0; index < PARTIES; index++)
        (second >> index & 1 ? party_join_lines : party_join)(&play->scene)->wary = true;
    party_register(party(play, 0), "a", ",\"capabilities\":{\"methods\":[\"a/b\"],\"x\":true}");
    party_register(party(play, 2), "b", "");
    settle(play);
}

static void close_play(struct play *play) {
    memory_fail(0, 0);
    kernel_refuse(play->scene.world.kernel, 0, 0, 0);
    for (unsigned index = 0; index < STRANGERS; index++)
        if (play->strangers[index])
            cable_close(play->strangers[index]);
    for (unsigned index = 0; index < PARTIES; index++)
        party(play, index)->deaf = false;
    scene_pass(&play->scene, 400 * MILLISECOND);
    scene_check(&play->scene);
    scene_close(&play->scene);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct play play;
    play = (struct play){.at = data, .end = data + size};
    open_play(&play);
    for (unsigned acts = 0; play.at < play.end && acts < 400; acts++)
        act(&play);
    close_play(&play);
    return 0;
}
