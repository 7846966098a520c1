// Fuzzes what comes to a hub from another one in one message: requests to an agent here, answers to what somebody here has asked, or
// numbers of requests that were taken. The input's first byte says which, its first line what else its heading says, and the rest is
// the body. It is read alone, in memory of just its size, and as a second, naive reader reads it; then a whole hub gets it from a
// (simulated) server. Each part is handed out at most once, and in its order; one that is good, behind a plain heading, is, and is
// answered; what isn't a part is counted, and what stands behind it is nothing.
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/parts.h"
#include "tests/sim/fleet.h"
#include "tests/sim/kernel.h"
#include "tests/sim/naive.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OTHER_HUB "0123456789abcdef0123456789abcdef"
#define SUBJECTS  "patchbay." CLUSTER_NAME "."

enum kind { REQUESTS, ANSWERS, NUMBERS, KINDS };
enum { STRICT = 4, SHARDS = 8, BY_METHOD = 16 }; // bits of the first byte
enum {
    SERIAL = 0xffff, // of the requests, if they are; else it is their number
    ASKED = 5,       // by somebody here, of the other hub
    BODY_BYTES_MAX = 4096,
    WORDS_BYTES_MAX = 200,
    MILLISECOND = 1000000,
    SECOND = 1000 * MILLISECOND
};

// --- The hub, and who speaks to it

struct play {
    struct fleet fleet;
    struct broker_client *other; // plays a hub
    struct cable *agent, *source;
    char hub[33];          // how this one is called there
    uint64_t asked[ASKED]; // the other one's numbers for what the source has asked
    unsigned asked_count, ended[ASKED], results[ASKED];
    unsigned delivered; // to the agent
    unsigned next;      // the part from which on what is delivered next is looked for
    bool is_plain;      // the heading
    unsigned as_one;    // answers to all of it
    struct parts parts;
};

static struct world *world_of(struct play *play) {
    return &play->fleet.sites[0].world;
}

static void settle(struct play *play) {
    fleet_pass(&play->fleet, MILLISECOND);
}

static void publish(struct play *play, const char *subject, const char *reply, const char *words,
                    const uint8_t *body, size_t count) {
    char text[1024], head[WORDS_BYTES_MAX + 100];
    int bytes = snprintf(head, sizeof head, "NATS/1.0\r\nPatchbay: 1 hub=" OTHER_HUB "%s\r\n\r\n", words);
    int line = snprintf(text, sizeof text, "HPUB " SUBJECTS "%s %s %d %zu\r\n%s", subject, reply, bytes,
                        (size_t)bytes + count, head);
    broker_hear(play->other, text, (size_t)line);
    broker_hear(play->other, body, count);
    broker_hear(play->other, "\r\n", 2);
    require(!broker_fault(play->other)[0], "a server doesn't take what it should");
    settle(play);
}

static void say(struct cable *cable, const char *body) {
    char text[512];
    int bytes = snprintf(text, sizeof text, "Content-Length: %zu\r\n\r\n%s", strlen(body), body);
    cable_write(cable, text, (size_t)bytes);
}

// What has come there, frame by frame.
static void hear(struct play *play, struct cable *cable, void (*take)(struct play *, struct bit)) {
    size_t count = cable_readable(cable);
    uint8_t *bytes = malloc(count + 1);
    struct naive_frame frame;
    require(bytes && cable_read(cable, bytes, count) == count, "there is no memory");
    for (size_t at = 0; at < count; at += frame.bytes) {
        require(naive_frame(&frame, bytes + at, count - at) == NAIVE_WHOLE, "the hub says what is no frame");
        take(play, frame.body);
    }
    free(bytes);
}

// It has come as it was sent, but for its id.
static bool is_of(struct bit came, struct bit sent) {
    struct bit own = naive_find(came, "id"), theirs = naive_find(sent, "id");
    if (!own.bytes || !theirs.bytes)
        return !own.bytes && !theirs.bytes && bit_equal(came, sent);
    size_t before = (size_t)(own.bytes - came.bytes), behind = came.count - before - own.count;
    return before == (size_t)(theirs.bytes - sent.bytes) && behind == sent.count - before - theirs.count &&
           memcmp(came.bytes, sent.bytes, before) == 0 &&
           memcmp(own.bytes + own.count, theirs.bytes + theirs.count, behind) == 0;
}

// Where a token of progress has become the hub's, or a key occurs twice, the places alone are counted.
static bool is_plain(struct bit body) {
    return naive_valid(body) && !memmem(body.bytes, body.count, "oken", 4) &&
           !memmem(body.bytes, body.count, "\\u", 2);
}

static void take_delivered(struct play *play, struct bit body) {
    char text[256];
    struct bit id = naive_find(body, "id");
    require(++play->delivered <= play->parts.count, "more is delivered than there are parts");
    if (is_plain(body)) {
        while (play->next < play->parts.count && !is_of(body, play->parts.all[play->next].body))
            play->next++;
        require(play->next++ < play->parts.count,
                "something is delivered that is no part, twice, or too late");
    }
    if (!id.bytes || id.count > 100)
        return;
    snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":1}", (int)id.count,
             (const char *)id.bytes);
    say(play->agent, text);
}

static void take_ended(struct play *play, struct bit body) {
    uint64_t number = bit_number(naive_find(body, "id"));
    require(number < ASKED, "an answer to what nobody asked");
    require(++play->ended[number] == 1, "a request ends twice");
    play->results[number] += naive_find(body, "result").bytes != NULL;
}

static void take_registered(struct play *play, struct bit body) {
    (void)play;
    require(naive_find(body, "result").bytes != NULL, "the agent isn't registered");
}

// --- What the hub says to the other one

static void note_answer(struct play *play, uint64_t number) {
    for (unsigned at = 0; at < play->parts.count; at++) {
        struct part *part = &play->parts.all[at];
        if (part->number == number && !part->answers) {
            part->answers++;
            return;
        }
    }
    require(number == SERIAL && !play->is_plain && !play->as_one++,
            "a request has more answers than parts have its number");
}

static void take_asked(struct play *play, const char *reply, const uint8_t *body, size_t count) {
    struct parts parts;
    memcpy(play->hub, reply + strlen(SUBJECTS "hub."), sizeof play->hub - 1);
    if (strncmp(reply + strlen(SUBJECTS "hub.") + sizeof play->hub, "b.", 2) == 0)
        read_parts(body, count, &parts);
    else
        parts = (struct parts){.all[0] = {.number = strtoull(strrchr(reply, '.') + 1, NULL, 16)}, .count = 1};
    require(!parts.bad, "the hub says what is no bundle");
    for (unsigned at = 0; at < parts.count && play->asked_count < ASKED; at++)
        play->asked[play->asked_count++] = parts.all[at].number;
}

static void take_message(struct play *play, const char *subject, const char *reply, struct bit head,
                         const uint8_t *body, size_t count) {
    static const char own[] = SUBJECTS "hub." OTHER_HUB ".";
    if (strcmp(subject, SUBJECTS "agent.z") == 0) {
        take_asked(play, reply, body, count);
    } else if (strncmp(subject, own, sizeof own - 1) == 0) {
        const char *digits = subject + sizeof own - 1;
        struct parts parts;
        if (digits[0] == 'b') { // of all of it: it was read as no bundle
            require(!memmem(head.bytes, head.count, " 503", 4), "nobody is there for requests");
            note_answer(play, SERIAL);
            return;
        }
        if (strcmp(digits, "0") != 0) {
            note_answer(play, strtoull(digits, NULL, 16));
            return;
        }
        const uint8_t *answers = memmem(head.bytes, head.count, " re=", 4);
        if (answers) {
            note_answer(play, strtoull((const char *)answers + 4, NULL, 16));
            return;
        }
        read_parts(body, count, &parts);
        require(!parts.bad, "the hub says what is no bundle");
        for (unsigned at = 0; at < parts.count; at++)
            note_answer(play, parts.all[at].number);
    }
}

// All that the server has for the other hub.
static void hear_server(struct play *play) {
    size_t count = broker_waiting(play->other), at = 0;
    uint8_t *bytes = malloc(count + 1);
    require(bytes && broker_say(play->other, bytes, count) == count, "there is no memory");
    bytes[count] = '\0';
    while (at < count) {
        char words[6][300] = {0}, line[1024];
        const uint8_t *end = memmem(bytes + at, count - at, "\r\n", 2);
        require(end && (size_t)(end - bytes) - at < sizeof line, "a server's line");
        snprintf(line, sizeof line, "%.*s", (int)((size_t)(end - bytes) - at), bytes + at);
        int found = sscanf(line, "%299s %299s %299s %299s %299s %299s", words[0], words[1], words[2],
                           words[3], words[4], words[5]);
        at = (size_t)(end - bytes) + 2;
        bool has_head = strcmp(words[0], "HMSG") == 0;
        if (!has_head && strcmp(words[0], "MSG") != 0)
            continue;
        size_t all = strtoull(words[found - 1], NULL, 10),
               head = has_head ? strtoull(words[found - 2], NULL, 10) : 0;
        const char *reply = found == (has_head ? 6 : 5) ? words[3] : "";
        take_message(play, words[1], reply, (struct bit){bytes + at, head}, bytes + at + head, all - head);
        at += all + 2;
    }
    free(bytes);
}

static void hear_all(struct play *play) {
    for (unsigned round = 0; round < 3; round++) {
        settle(play);
        hear(play, play->agent, take_delivered);
        hear(play, play->source, take_ended);
        hear_server(play);
    }
}

// --- The play

static void join(struct play *play, unsigned flags) {
    static const char hello[] =
        "CONNECT {\"verbose\":false,\"headers\":true,\"no_responders\":true,\"echo\":false}\r\n"
        "SUB " SUBJECTS "hub." OTHER_HUB ".> 1\r\nSUB " SUBJECTS "hub." OTHER_HUB " 2\r\nSUB " SUBJECTS
        "agent.z 3\r\nPING\r\n";
    struct fleet_options options = {.seed = 1, .site_count = 1, .brokers = {.count = 1}};
    world_defaults(&options.world, 1, flags & SHARDS ? 2 : 1);
    options.world.strict = flags & STRICT;
    options.world.limits.connections_max = 8;
    fleet_open(&play->fleet, &options);
    play->other = broker_join(play->fleet.brokers, 0);
    require(play->other != NULL, "there is no server");
    broker_hear(play->other, hello, sizeof hello - 1);
    play->agent = world_dial(world_of(play));
    play->source = world_dial(world_of(play));
    fleet_pass(&play->fleet, 100 * MILLISECOND);
    publish(play, "beat", "", " joint=1 bundles=1 fences=1", NULL, 0);
    say(play->agent,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"agent/register\",\"params\":{\"agentId\":\"a\","
        "\"capabilities\":{\"methods\":[\"work\"]},\"governanceLevel\":\"autonomous\"}}");
    fleet_pass(&play->fleet, SECOND);
    hear(play, play->agent, take_registered);
}

static void ask(struct play *play) {
    char body[128];
    for (unsigned number = 0; number < ASKED; number++) {
        snprintf(body, sizeof body,
                 "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"do\",\"params\":{\"targetAgent\":\"z\"}}",
                 number);
        say(play->source, body);
    }
    settle(play);
    hear_server(play);
    require(play->asked_count == ASKED, "what was asked doesn't come to the other hub");
}

// Small numbers become those of what was asked; and each placeholder its part's number.
static void fill_in(struct play *play, uint8_t *bytes, size_t count, bool asked) {
    struct parts *parts = &play->parts;
    read_parts(bytes, count, parts);
    for (unsigned at = 0; at < parts->count; at++) {
        struct part *part = &parts->all[at];
        uint8_t *body = bytes + (part->body.bytes - bytes), *place;
        char digits[24];
        if (asked && part->number > 0 && part->number <= ASKED) {
            uint64_t word = htole64(part->number = play->asked[part->number - 1]);
            memcpy(body - 16, &word, sizeof word);
        }
        if (snprintf(digits, sizeof digits, "%-16" PRIu64, part->number) == sizeof placeholder - 1 &&
            (place = memmem(body, part->body.count, placeholder, sizeof placeholder - 1)))
            memcpy(place, digits, sizeof placeholder - 1);
    }
}

static uint64_t unreadable(struct play *play) {
    return stats_read(&world_of(play)->shards[0]->stats, COUNT_CROSSED_UNREADABLE);
}

static void check_requests(struct play *play) {
    for (unsigned at = 0; play->is_plain && at < play->parts.count; at++)
        require(!is_good(&play->parts, at, good_request) || play->parts.all[at].answers,
                "a good part isn't answered");
}

static void check_answers(struct play *play) {
    for (unsigned number = 0; number < ASKED; number++)
        require(!play->ended[number] || times(&play->parts, play->asked[number]), "a request ends by itself");
    for (unsigned at = 0; play->is_plain && at < play->parts.count; at++) {
        unsigned number = 0;
        while (number < ASKED && play->asked[number] != play->parts.all[at].number)
            number++;
        require(number == ASKED || !is_good(&play->parts, at, good_answer) || play->results[number],
                "a good answer doesn't come");
    }
}

// The other hub is there no more: what it owes ends, each once.
static void end(struct play *play) {
    publish(play, "beat", "", " leaves=1", NULL, 0);
    hear(play, play->source, take_ended);
    broker_leave(play->other);
    fleet_pass(&play->fleet, (uint64_t)15 * SECOND);
    hear(play, play->source, take_ended);
    for (unsigned number = 0; number < ASKED; number++)
        require(play->ended[number] == 1, "a request doesn't end");
    cable_close(play->agent);
    cable_close(play->source);
    fleet_close(&play->fleet);
}

static void play_out(uint8_t first, const char *words, uint8_t *body, size_t count) {
    static struct play play;
    enum kind kind = (enum kind)((first & 3) % KINDS);
    char subject[100], more[WORDS_BYTES_MAX + 20];
    play = (struct play){0};
    join(&play, first);
    ask(&play);
    fill_in(&play, body, count, kind == ANSWERS);
    play.is_plain = !*words;
    uint64_t before = unreadable(&play);
    snprintf(subject, sizeof subject, "hub.%s%s", play.hub, kind == ANSWERS ? ".0" : "");
    if (kind == REQUESTS)
        strcpy(subject, first & BY_METHOD ? "method.work" : "agent.a");
    snprintf(more, sizeof more, " %s=1%s", kind == NUMBERS ? "took" : "bundle", words);
    publish(&play, subject, kind == REQUESTS ? SUBJECTS "hub." OTHER_HUB ".b.ffff" : "", more, body, count);
    hear_all(&play);
    if (kind == REQUESTS)
        check_requests(&play);
    else
        require(play.delivered == 0, "an answer is delivered");
    if (kind == ANSWERS)
        check_answers(&play);
    require(kind == NUMBERS || !play.is_plain || !play.parts.bad || unreadable(&play) > before,
            "what is no part isn't counted");
    require(fleet_links(&play.fleet, 0) == 1, "the link is lost");
    end(&play);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static uint8_t body[BODY_BYTES_MAX];
    static struct parts parts;
    char words[WORDS_BYTES_MAX] = "";
    const uint8_t *line = size ? memchr(data + 1, '\n', size - 1) : NULL;
    if (!line || line - data > WORDS_BYTES_MAX - 2 || size - (size_t)(line + 1 - data) > BODY_BYTES_MAX)
        return 0;
    for (const uint8_t *at = data + 1; at < line; at++)
        if (*at != '\r' && *at != '\0')
            strncat(words, (const char *)at, 1);
    size_t count = size - (size_t)(line + 1 - data);
    memcpy(body, line + 1, count);
    read_parts(body, count, &parts);
    read_alone(body, count, &parts);
    play_out(data[0], words, body, count);
    return 0;
}
