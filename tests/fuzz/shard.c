// Fuzzes a whole hub. The input is a play: peers connect, say messages in pieces, don't read and leave, and calls fail
// meanwhile. Three parties keep their manners and their books (tests/sim/party.h). Up to four strangers say what the
// input says, answer requests that they weren't asked, and take names over. All speak framed, lines or WebSocket,
// strangers also HTTP. In the end the strangers have gone, and the hub has given everything back. Each request of a
// party that is still connected has ended once. In some runs there are users. Then nothing is told to a stranger
// without a credential, as far as a search of all its bytes can tell.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/rights/digest.h"
#include "core/rights/users.h"
#include "tests/fuzz/play.h"
#include "tests/sim/naive.h"
#include "tests/sim/party_web.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    PARTIES = 3,
    STRANGERS = 4,
    MILLISECOND = 1000000,
    ASKS_MAX = 200,
    TAIL_BYTES = 64,
    SPOKEN_BYTES_MAX = 1024
};

#define PARTY_TOKEN    "token-of-parties"
#define STRANGER_TOKEN "token-of-strangers"

// Bytes that a stranger has sent: whether a credential may have been in them.
struct shown {
    char tail[TAIL_BYTES]; // the last of it
    bool any;
};

struct play {
    struct scene scene;
    struct cable *strangers[STRANGERS];
    bool lines[STRANGERS];        // which of them speak lines
    struct party web[STRANGERS];  // how those of the web write; without a cable: they aren't
    uint64_t heard_id[STRANGERS]; // the last hub id that each saw
    struct shown shown[STRANGERS];
    bool has_users;
    struct script script;
};

static uint8_t next(struct play *play) {
    return script_next(&play->script);
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

// --- Users

// Parties may all; strangers some.
static const char users_format[] = "[user party]\ntoken = %.*s\nregister = *\noffer = @*, tool:*, method:*\n"
                                   "call = *, @*, tool:*, method:*\npublish = *\nsubscribe = *\nadmin = yes\n"
                                   "[user stranger]\ntoken = %.*s\nuid = 7\nregister = a, s*\noffer = @x\n"
                                   "call = a, @*, method:*\ndeny-call = method:note\npublish = g*\n"
                                   "subscribe = go\nconnections = 3\nrate = 50/s\npending = 3\n";

static void put_digest(const char *token, char out[DIGEST_TEXT_BYTES]) {
    struct digest digest;
    if (!digest_make(token, strlen(token), &digest))
        abort();
    digest_text(&digest, out);
}

static void complain(void *context, const struct users_fault *fault) {
    (void)context;
    kernel_fail("line %u of the users can't be used: %s", fault->line, fault->expected);
}

static struct users *make_users(void) {
    static const struct siphash_key key = {{1, 2}};
    char text[SPOKEN_BYTES_MAX], party[DIGEST_TEXT_BYTES], stranger[DIGEST_TEXT_BYTES];
    put_digest(PARTY_TOKEN, party);
    put_digest(STRANGER_TOKEN, stranger);
    int bytes =
        snprintf(text, sizeof text, users_format, (int)sizeof party, party, (int)sizeof stranger, stranger);
    struct users *users = users_read(text, (size_t)bytes, &key, NULL, complain, NULL);
    if (!users)
        kernel_fail("there is no memory for users");
    return users;
}

// Returns whether a credential may be in this: a token as it is, or one that is spelled in another way.
static bool may_show(const char *text, size_t count) {
    static const char *const marks[] = {PARTY_TOKEN, STRANGER_TOKEN, "\\u", "basic"};
    for (size_t at = 0; at < count; at++)
        for (unsigned mark = 0; mark < sizeof marks / sizeof *marks; mark++) {
            size_t bytes = strlen(marks[mark]);
            if (count - at >= bytes && strncasecmp(text + at, marks[mark], bytes) == 0)
                return true;
        }
    return false;
}

// Notes bytes of a stranger, in pieces.
static void note_shown(struct shown *shown, const void *bytes, size_t count) {
    char text[TAIL_BYTES + SPOKEN_BYTES_MAX];
    if (count > SPOKEN_BYTES_MAX)
        abort();
    memcpy(text, shown->tail, TAIL_BYTES);
    memcpy(text + TAIL_BYTES, bytes, count);
    shown->any |= may_show(text, TAIL_BYTES + count);
    memcpy(shown->tail, text + count, TAIL_BYTES);
}

// To somebody without a credential nothing is a success, nothing is forwarded, and no page is shown.
static void check_heard(const struct play *play, unsigned index, const uint8_t *bytes, size_t count) {
    static const char *const told[] = {"\"result\":", "\"method\":", "patchbay_", "text/event-stream",
                                       "<html"};
    for (unsigned at = 0; play->has_users && !play->shown[index].any && at < sizeof told / sizeof *told; at++)
        if (memmem(bytes, count, told[at], strlen(told[at])))
            kernel_fail("a stranger without a credential was told %s", told[at]);
}

// --- Strangers

static void stranger_hears(struct play *play, unsigned index) {
    uint8_t bytes[16384];
    struct cable *cable = play->strangers[index];
    for (size_t count; cable && (count = cable_read(cable, bytes, sizeof bytes - 1));) {
        bytes[count] = '\0';
        check_heard(play, index, bytes, count);
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
    note_shown(&play->shown[index], fields, strlen(fields));
    note_shown(&play->shown[index], body, count);
    if (play->web[index].cable) {
        party_web_write(&play->web[index], fields, body, count);
        return;
    }
    if (!play->lines[index])
        cable_write(play->strangers[index], head, (size_t)bytes);
    cable_write(play->strangers[index], body, count);
    if (play->lines[index])
        cable_write(play->strangers[index], "\n", 1);
}

// Says the next bytes of the input: as they are, or as a body.
static void stranger_talks(struct play *play, unsigned index, bool framed) {
    size_t count = next(play), left = (size_t)(play->script.end - play->script.at);
    count = count < left ? count : left;
    if (framed && count)
        stranger_says(play, index, "", (const char *)play->script.at, count);
    else if (play->strangers[index] && count) {
        note_shown(&play->shown[index], play->script.at, count);
        cable_write(play->strangers[index], play->script.at, count);
    }
    play->script.at += count;
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

// Messages that the audit journal takes.
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

#define AUTHORIZED(how) "Authorization: " how "\r\n"
static const char *const authorized[] = {
    "", AUTHORIZED("Bearer " STRANGER_TOKEN), AUTHORIZED("Bearer wrong"),
    AUTHORIZED("Basic eDp0b2tlbi1vZi1zdHJhbmdlcnM="), // x:token-of-strangers
};

// Shows a credential that is right, wrong, or another user's, in one of the places where it may be.
static void stranger_shows(struct play *play, uint8_t what) {
    static const char *const tokens[] = {STRANGER_TOKEN, "wrong", PARTY_TOKEN, ""};
    static const char *const forms[] = {
        "{\"id\":1,\"method\":\"initialize\",\"params\":{\"token\":\"%s\"}}",
        "{\"id\":1,\"method\":\"agent/register\",\"params\":{\"agentId\":\"s\",\"agentSecret\":\"%s\"}}",
        "[{\"id\":1,\"method\":\"initialize\",\"params\":{\"token\":\"%s\"}},{\"method\":\"x\"}]",
        "{\"id\":1,\"method\":\"hub/agents\",\"params\":{\"token\":\"%s\"}}",
    };
    char body[256];
    const char *token = tokens[what >> 2 & 3];
    int count = snprintf(body, sizeof body, forms[what >> 4 & 3], token);
    stranger_says(play, what % STRANGERS, authorized[what >> 6], body, (size_t)count);
}

static void stranger_joins(struct play *play, unsigned index, unsigned how) {
    struct world *world = &play->scene.world;
    struct party *web = &play->web[index];
    bool is_web = how & 2;
    if (world->kernel->cable_count >= 64)
        return;
    struct cable *cable = is_web ? world_dial_http(world) : (how & 1 ? world_dial_lines : world_dial)(world);
    uint8_t bears = play->has_users ? next(play) : 0;
    const char *fields = how & 4 ? "Governance-Level: supervised\r\n" : authorized[bears & 3];
    play->strangers[index] = cable;
    play->shown[index] = (struct shown){.any = (bears & 12) == 12};
    if (play->shown[index].any && cable)
        cable_of_user(cable, 7);
    play->lines[index] = !is_web && how & 1;
    *web = (struct party){.cable = is_web ? cable : NULL, .socket = how & 1, .http = !(how & 1)};
    if (web->cable && web->socket)
        party_web_upgrade(web, fields);
    if (web->cable && web->socket)
        note_shown(&play->shown[index], fields, strlen(fields));
}

static void stranger_moves(struct play *play, uint8_t what) {
    struct cable **cable = &play->strangers[what % STRANGERS];
    if (!*cable) {
        stranger_joins(play, what % STRANGERS, what >> 2);
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
    case 15:
        if (play->has_users)
            stranger_shows(play, next(play));
        else
            settle(play);
        break;
    default:
        settle(play);
        break;
    }
}

// With users it says first who it is.
static struct party *join(struct play *play, bool lines, bool socket) {
    if (socket)
        return party_join_socket(&play->scene, play->has_users ? AUTHORIZED("Bearer " PARTY_TOKEN) : "");
    struct party *party = (lines ? party_join_lines : party_join)(&play->scene);
    if (party && play->has_users)
        party_ask(party, "initialize", 0, "\"token\":\"%s\"", PARTY_TOKEN);
    return party;
}

// Settings take the place of what options say of them.
static void add_users(struct world_options *options, struct hub_settings *settings) {
    *settings = (struct hub_settings){.limits = options->limits,
                                      .takeover = options->takeover,
                                      .journal = options->journal,
                                      .users = make_users()};
    options->settings = settings;
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
    play->has_users = second & 128;
    struct hub_settings settings;
    if (play->has_users)
        add_users(&options, &settings);
    scene_open(&play->scene, &options);
    for (unsigned index = 0; index < PARTIES; index++)
        join(play, second >> index & 1, second >> (4 + index) & 1)->wary = true;
    party_register(party(play, 0), "a", ",\"capabilities\":{\"methods\":[\"a/b\"],\"x\":true}");
    party_register(party(play, 2), "b", "");
    settle(play);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct play play;
    play = (struct play){.script = {data, data + size}};
    open_play(&play);
    for (unsigned acts = 0; play.script.at < play.script.end && acts < 400; acts++)
        act(&play);
    play_ends(&play.scene, play.strangers, STRANGERS);
    return 0;
}
