// It goes well: each line does what it says, and in the end nothing is left that nobody expected, which a few
// rounds of pings on all connections prove. It fails: the line is named, with what came instead.
#include "tests/corpus/play.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/corpus/match.h"
#include "tests/corpus/player.h"
#include "tests/corpus/web.h"

enum { PEERS_MAX = 24, JOURNAL_PAUSE_NS = 1000000 };

struct play {
    const struct corpus_case *one;
    const struct backend *backend;
    struct player peers[PEERS_MAX];
    unsigned peer_count;
    struct variables variables;
    enum play_wires wires;
    unsigned rounds; // of pings that prove that nothing is under way
    unsigned pings;
    size_t journal_at; // what has been read of it
    struct text why;   // it failed
};

static char where[512];

const char *play_where(void) {
    return where;
}

// --- Failing

static bool fail(struct play *play, const char *what) {
    struct text rest = play->why;
    text_init(&play->why);
    text_put(&play->why, what);
    text_add(&play->why, rest.bytes, rest.length);
    text_deinit(&rest);
    return false;
}

// What came instead of what was expected.
static bool fail_with(struct play *play, const struct naive_frame *frame) {
    text_put(&play->why, "it received instead: ");
    if (frame->fields.count) {
        text_put(&play->why, "[");
        text_add(&play->why, frame->fields.bytes, frame->fields.count - 2);
        text_put(&play->why, "] ");
    }
    text_add(&play->why, frame->body.bytes, frame->body.count);
    return false;
}

// --- Peers

static struct player *find_peer(struct play *play, const char *name, size_t bytes) {
    for (unsigned at = 0; at < play->peer_count; at++)
        if (strlen(play->peers[at].name) == bytes && memcmp(play->peers[at].name, name, bytes) == 0)
            return &play->peers[at];
    return NULL;
}

// Which wire a peer speaks where the case leaves it open.
static enum line_wire wire_of(const struct play *play) {
    bool lines = play->wires == PLAY_LINES || (play->wires == PLAY_MIXED && play->peer_count % 2 == 0);
    return lines ? LINE_LINES : LINE_FRAMES;
}

static bool add_peer(struct play *play, const char *name, enum line_wire wire) {
    if (play->peer_count == PEERS_MAX || find_peer(play, name, strlen(name)) ||
        strlen(name) >= PLAYER_NAME_MAX)
        return fail(play, "too many peers, or the same name twice");
    if (!player_open(&play->peers[play->peer_count], play->backend, name, wire))
        return fail(play, "it can't connect");
    play->peer_count++;
    return true;
}

static bool add_peers(struct play *play, char *names, enum line_wire wire) {
    char *words[PEERS_MAX];
    unsigned count = case_words(names, words, PEERS_MAX);
    for (unsigned at = 0; at < count; at++)
        if (!add_peer(play, words[at], wire == LINE_FRAMES ? wire_of(play) : wire))
            return false;
    return count > 0;
}

// --- Sending

static bool send_frame(struct play *play, struct player *peer, const struct text *fields,
                       const struct text *body) {
    struct text frame;
    if (peer->lines && fields->length)
        return fail(play, "no header fields go with a line");
    text_init(&frame);
    player_wrap(peer, fields, body, &frame);
    bool good = player_send(peer, play->backend, &frame);
    text_deinit(&frame);
    return good || fail(play, "it can't be sent: the connection has ended");
}

// Takes `[Name: value]` off the text into `fields`, as lines.
static const char *take_fields(const char *text, struct text *fields) {
    while (*text == '[') {
        size_t name = strcspn(text + 1, ": ,]\"{}[");
        const char *end = strstr(text, "] ");
        if (!name || text[1 + name] != ':' || !end) // an array
            break;
        text_add(fields, text + 1, (size_t)(end - text) - 1);
        text_put(fields, "\r\n");
        text = end + 2;
    }
    return text;
}

static bool fill(struct play *play, struct text *out, const char *text, bool raw) {
    text_init(out);
    return match_bytes(out, text, &play->variables, raw) || fail(play, "a variable has no value yet");
}

static bool send_body(struct play *play, struct player *peer, const char *text) {
    struct text plain, fields, body;
    text_init(&plain);
    text = take_fields(text, &plain);
    text_add(&plain, "", 1);
    bool good = fill(play, &fields, plain.bytes, false);
    text_init(&body);
    good = good && fill(play, &body, text, false) && send_frame(play, peer, &fields, &body);
    text_deinit(&plain);
    text_deinit(&fields);
    text_deinit(&body);
    return good;
}

static bool send_raw(struct play *play, struct player *peer, const char *text) {
    struct text bytes;
    bool good = fill(play, &bytes, text, true);
    if (good && !player_send(peer, play->backend, &bytes))
        good = fail(play, "it can't be sent: the connection has ended");
    text_deinit(&bytes);
    return good;
}

// --- Receiving

// The received fields must be those of the pattern and no others, in order, byte for byte.
static bool expect_fields(struct play *play, const struct text *pattern, const struct naive_frame *frame) {
    struct bit received = {frame->fields.bytes, frame->fields.count};
    struct text lines;
    text_init(&lines);
    text_add(&lines, pattern->bytes, pattern->length);
    text_add(&lines, "", 1);
    bool good = match_exactly(lines.bytes, received, &play->variables);
    text_deinit(&lines);
    return good;
}

static char *flat_copy(const void *bytes, size_t count) {
    char *copy = malloc(count + 1);
    memcpy(copy, bytes, count);
    player_flatten(copy, count);
    copy[count] = '\0';
    return copy;
}

// A body has come to a line, or from one, with spaces for its line breaks.
static bool expect_body(struct play *play, const struct player *peer, const char *pattern, bool by_members,
                        struct bit body) {
    bool flat = peer->lines || play->wires == PLAY_MIXED;
    char *wanted = flat ? flat_copy(pattern, strlen(pattern)) : strdup(pattern);
    char *came = flat ? flat_copy(body.bytes, body.count) : NULL;
    struct bit text = {flat ? (uint8_t *)came : body.bytes, body.count};
    bool good = by_members ? match_like(wanted, text, &play->variables) && match_hub_says(text)
                           : match_exactly(wanted, text, &play->variables);
    free(wanted);
    free(came);
    return good;
}

static bool expect(struct play *play, struct player *peer, const char *pattern, bool by_members) {
    struct naive_frame frame;
    struct text fields;
    if (!player_take(peer, play->backend, &frame, &play->why))
        return fail(play, "it received ");
    text_init(&fields);
    pattern = take_fields(pattern, &fields);
    bool good =
        expect_fields(play, &fields, &frame) && expect_body(play, peer, pattern, by_members, frame.body);
    text_deinit(&fields);
    if (!good)
        fail_with(play, &frame);
    player_done(&frame);
    return good;
}

// --- Nothing

static bool ping_round(struct play *play) {
    bool asked[PEERS_MAX];
    unsigned number = ++play->pings;
    for (unsigned at = 0; at < play->peer_count; at++) {
        asked[at] = player_can_ping(&play->peers[at]);
        if (asked[at])
            player_ping(&play->peers[at], play->backend, number);
    }
    for (unsigned at = 0; at < play->peer_count; at++) {
        if (!asked[at] || player_pong(&play->peers[at], play->backend, number, &play->why))
            continue;
        fail(play, ", which should answer a ping, received ");
        return fail(play, play->peers[at].name);
    }
    return true;
}

static bool ping_rounds(struct play *play) {
    for (unsigned round = 0; round < play->rounds; round++)
        if (!ping_round(play))
            return false;
    return true;
}

// One that can't be pinged must at least not have ended, unless the case says so.
static bool expect_quiet(struct play *play, const struct player *peer) {
    if (!peer->line || peer->state != LINE_OPEN || player_can_ping(peer) || play->backend->quiet(peer->line))
        return true;
    fail(play, " should neither have received anything nor have ended");
    return fail(play, peer->name);
}

static bool expect_nothing(struct play *play, const struct player *peer) {
    const struct naive_frame *over = player_left_over(peer);
    bool is_web_over = peer->web && peer->end > peer->at;
    if (!over && !is_web_over)
        return true;
    if (over)
        fail_with(play, over);
    else
        text_add(&play->why, peer->bytes + peer->at, peer->end - peer->at);
    fail(play, " should have received nothing: ");
    return fail(play, peer->name);
}

// --- Endings

static struct web_play web_play_of(struct play *play, struct player *peer) {
    return (struct web_play){peer, play->backend, &play->variables, &play->why};
}

static bool expect_end(struct play *play, struct player *peer, bool wholly) {
    struct web_play web = web_play_of(play, peer);
    if (!(peer->web ? web_at_end(&web, wholly) : player_at_end(peer, play->backend, wholly, &play->why)))
        return fail(play, "the connection should have ended, but it received ");
    return !wholly || play->backend->hub_closed(peer->line) || fail(play, "the hub doesn't close its end");
}

static bool half_close(struct play *play, struct player *peer) {
    peer->half_closed = true;
    play->backend->half_close(peer->line);
    return true;
}

static bool close_peer(struct play *play, struct player *peer) {
    play->backend->close(peer->line, peer->state == LINE_OPEN);
    peer->line = NULL;
    return true;
}

// --- Children

static bool end_child(struct play *play, struct player *peer, int status) {
    play->backend->exit(peer->line, status);
    peer->line = NULL;
    return true;
}

// It has been killed, if that is what the signal does.
static bool expect_signal(struct play *play, struct player *peer, const char *text) {
    int number = atoi(text);
    if (!play->backend->signalled(peer->line, number))
        return fail(play, "its group hasn't been sent that signal");
    return number != 9 || end_child(play, peer, 0);
}

// What a child does or is sent; *known: whether the words mean something.
static bool child_words(struct play *play, struct player *peer, const char *words, bool *known) {
    *known = true;
    if (strncmp(words, "exits ", 6) == 0)
        return end_child(play, peer, atoi(words + 6) << 8);
    if (strncmp(words, "dies ", 5) == 0)
        return end_child(play, peer, atoi(words + 5));
    if (strncmp(words, "signal ", 7) == 0)
        return expect_signal(play, peer, words + 7);
    if (strcmp(words, "closes-input") == 0)
        play->backend->close_input(peer->line);
    else if (strcmp(words, "leaves-others") == 0)
        play->backend->leave_others(peer->line);
    else
        *known = false;
    return *known;
}

// One that ended may be started again under its name.
static struct player *free_player(struct play *play, const char *name) {
    struct player *peer = find_peer(play, name, strlen(name));
    if (peer && peer->line)
        return NULL;
    if (peer)
        player_end(peer, play->backend);
    else if (play->peer_count < PEERS_MAX && strlen(name) < PLAYER_NAME_MAX)
        peer = &play->peers[play->peer_count++];
    return peer;
}

// `child NAME [as PEER]`, `child NAME fails ERRNO`, `child NAME waits`
static bool start_child(struct play *play, char *text) {
    char *words[4];
    struct line *line;
    bool lines;
    unsigned count = case_words(text, words, 4);
    if (!play->backend->start || (count != 1 && count != 3 && (count != 2 || strcmp(words[1], "waits"))))
        return fail(play, "what is this of a child?");
    if (count == 2)
        return !play->backend->is_ordered(words[0]) || fail(play, "it is being started");
    bool fails = count == 3 && strcmp(words[1], "fails") == 0;
    if (!play->backend->start(words[0], fails ? atoi(words[2]) : 0, &line, &lines))
        return fail(play, "it isn't being started");
    if (fails)
        return true;
    const char *name = count == 3 ? words[2] : words[0];
    struct player *peer = free_player(play, name);
    if (!peer)
        return fail(play, "too many peers, or one of them has this name");
    player_be_child(peer, name, line, lines);
    return true;
}

// `keeper is busy`, `keeper is free`
static bool occupy_keeper(struct play *play, const char *rest) {
    bool busy = strcmp(rest, "is busy") == 0;
    if ((!busy && strcmp(rest, "is free") != 0) || !play->backend->occupy_keeper)
        return fail(play, "it is busy or free, on the simulated kernel");
    play->backend->occupy_keeper(busy);
    return true;
}

// `hub ends`, `keeper ends`
static bool end_process(struct play *play, bool is_hub, const char *rest) {
    if (strcmp(rest, "ends") != 0 || !play->backend->terminate)
        return fail(play, "it ends, or what?");
    if (is_hub)
        play->backend->terminate();
    else
        play->backend->lose_keeper();
    return true;
}

static bool reload(struct play *play, const char *config) {
    if (!play->one->config)
        return fail(play, "there is no configuration to be read again");
    play->backend->reload(config);
    return true;
}

static bool reload_users(struct play *play, const char *users) {
    if (!play->one->users)
        return fail(play, "there are no users to be read again");
    play->backend->reload_users(users);
    return true;
}

// --- Lines

static bool player_word(struct play *play, struct player *peer, const char *word) {
    if (strcmp(word, "nothing") == 0)
        return ping_rounds(play) && expect_nothing(play, peer) && (!peer->child || expect_quiet(play, peer));
    if (!peer->line)
        return fail(play, "it has closed already");
    if (peer->child) {
        bool known, good = child_words(play, peer, word, &known);
        if (known)
            return good;
    }
    if (strcmp(word, "ended") == 0 || strcmp(word, "closed") == 0)
        return expect_end(play, peer, *word == 'c');
    if (strcmp(word, "half-closes") == 0)
        return half_close(play, peer);
    if (strcmp(word, "resets") == 0)
        play->backend->reset(peer->line);
    if (strcmp(word, "closes") == 0 || strcmp(word, "resets") == 0)
        return close_peer(play, peer);
    return fail(play, "what is this? README.md tells what a line may say");
}

static bool player_line(struct play *play, struct player *peer, const char *rest) {
    bool is_web = peer->web;
    struct web_play web = web_play_of(play, peer);
    bool good = is_web && web_line(&web, rest, &is_web);
    if (is_web)
        return good;
    if (strncmp(rest, ">> ", 3) == 0)
        return send_raw(play, peer, rest + 3);
    if (strncmp(rest, "> ", 2) == 0)
        return send_body(play, peer, rest + 2);
    if (strncmp(rest, "<~ ", 3) == 0)
        return expect(play, peer, rest + 3, true);
    if (strncmp(rest, "< ", 2) == 0)
        return expect(play, peer, rest + 2, false);
    return player_word(play, peer, rest);
}

// `agent NAME [LEVEL] [CAPABILITIES]`
static bool add_agent(struct play *play, char *words) {
    char *name = strtok_r(words, " ", &words);
    const char *level = "autonomous", *capabilities = words && *words ? words : "{}";
    if (words && islower((unsigned char)*words)) {
        level = strtok_r(words, " ", &words);
        capabilities = words && *words ? words : "{}";
    }
    char *registration = NULL, *answer = NULL;
    if (asprintf(&registration,
                 "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"agent/register\",\"params\":{\"agentId\":\"%s\","
                 "\"governanceLevel\":\"%s\",\"capabilities\":%s}}",
                 name, level, capabilities) < 0 ||
        asprintf(&answer, "{\"id\":0,\"result\":{\"agentId\":\"%s\",\"registered\":true}}", name) < 0)
        abort();
    bool good = (find_peer(play, name, strlen(name)) || add_peer(play, name, wire_of(play))) &&
                send_body(play, find_peer(play, name, strlen(name)), registration) &&
                expect(play, find_peer(play, name, strlen(name)), answer, true);
    free(registration);
    free(answer);
    return good;
}

static bool wait_line(struct play *play, const char *text) {
    char *unit;
    uint64_t ms = strtoul(text, &unit, 10);
    if (!ms || strcmp(unit, "ms") != 0)
        return fail(play, "a wait reads like 250ms");
    play->backend->pass(ms * 1000000);
    return true;
}

// --- The journal

static struct bit next_journal_line(struct play *play) {
    size_t count = 0;
    const char *bytes = play->backend->journal(&count);
    if (!bytes || count <= play->journal_at)
        return (struct bit){NULL, 0};
    const char *line = bytes + play->journal_at;
    const char *end = memchr(line, '\n', count - play->journal_at);
    return (struct bit){(const uint8_t *)line, end ? (size_t)(end - line) : 0};
}

// The disk may take its time.
static bool await_journal_line(struct play *play, struct bit *line) {
    for (uint64_t waited_ns = 0; waited_ns < PATIENCE_NS; waited_ns += JOURNAL_PAUSE_NS) {
        *line = next_journal_line(play);
        if (line->count)
            return true;
        if (!ping_round(play))
            return false;
        play->backend->pass(JOURNAL_PAUSE_NS);
    }
    return fail(play, "the journal has no more lines");
}

static bool journal_line(struct play *play, const char *rest) {
    struct bit line;
    if (strcmp(rest, "nothing") == 0) {
        if (!ping_rounds(play))
            return false;
        line = next_journal_line(play);
        text_add(&play->why, line.bytes, line.count);
        return !line.bytes || fail(play, "the journal should have no more lines: ");
    }
    if (strncmp(rest, "<~ ", 3) != 0)
        return fail(play, "a journal's line is expected by <~");
    if (!await_journal_line(play, &line))
        return false;
    play->journal_at += line.count + 1;
    if (match_like(rest + 3, line, &play->variables))
        return true;
    text_add(&play->why, line.bytes, line.count);
    return fail(play, "the journal reads instead: ");
}

// `count NAME NUMBER`
static bool count_line(struct play *play, char *text) {
    char *words[2];
    char came[32];
    if (case_words(text, words, 2) != 2)
        return fail(play, "a count names a counter and a number");
    if (!ping_rounds(play))
        return false;
    uint64_t count = play->backend->count(words[0]);
    if (count == strtoul(words[1], NULL, 10))
        return true;
    snprintf(came, sizeof came, "it counts %lld", (long long)count);
    return fail(play, came);
}

// `at HUB`: who comes from now on
static bool go_to(struct play *play, const char *name) {
    for (unsigned hub = 0; hub < play->one->hub_count; hub++)
        if (strcmp(play->one->hubs[hub], name) == 0) {
            play->backend->at(hub);
            return true;
        }
    return fail(play, "there is no such hub");
}

static bool play_line(struct play *play, char *text) {
    size_t word = strcspn(text, " ");
    struct player *peer = find_peer(play, text, word);
    char *rest = text + word + (text[word] == ' ');
    if (peer)
        return player_line(play, peer, rest);
    text[word] = '\0';
    if (strcmp(text, "peer") == 0)
        return add_peers(play, rest, LINE_FRAMES);
    if (strcmp(text, "lines") == 0)
        return add_peers(play, rest, LINE_LINES);
    if (strcmp(text, "http") == 0)
        return add_peers(play, rest, LINE_HTTP);
    if (strcmp(text, "at") == 0)
        return go_to(play, rest);
    if (strcmp(text, "agent") == 0)
        return add_agent(play, rest);
    if (strcmp(text, "child") == 0)
        return start_child(play, rest);
    if (strcmp(text, "reload") == 0)
        return reload(play, rest);
    if (strcmp(text, "users") == 0)
        return reload_users(play, rest);
    if (strcmp(text, "keeper") == 0 && strncmp(rest, "is ", 3) == 0)
        return occupy_keeper(play, rest);
    if (strcmp(text, "hub") == 0 || strcmp(text, "keeper") == 0)
        return end_process(play, *text == 'h', rest);
    if (strcmp(text, "wait") == 0)
        return wait_line(play, rest);
    if (strcmp(text, "journal") == 0)
        return journal_line(play, rest);
    if (strcmp(text, "count") == 0)
        return count_line(play, rest);
    return fail(play, "there is no such peer or word");
}

// --- Cases

static bool play_lines(struct play *play, const struct setup *setup, unsigned row) {
    const struct corpus_case *one = play->one;
    const char *value = row < one->row_count ? one->rows[row] : "";
    bool good = true;
    for (unsigned at = 0; good && at < one->line_count; at++) {
        char *text = case_fill(one, &one->lines[at], row);
        snprintf(where, sizeof where, "%s:%u: (%s, %u shards, %s)%s%s", one->path, one->lines[at].number,
                 play->backend->name, setup->shard_count, setup->strict ? "strict" : "lazy",
                 *value ? ", row: " : "", value);
        good = play_line(play, text);
        free(text);
    }
    return good;
}

static bool nothing_left(struct play *play) {
    if (!ping_rounds(play))
        return false;
    for (unsigned at = 0; at < play->peer_count; at++)
        if (!expect_nothing(play, &play->peers[at]) || !expect_quiet(play, &play->peers[at]))
            return false;
    return true;
}

static void report(const struct play *play) {
    fprintf(stderr, "%s\n  %.*s\n", where, (int)play->why.length, play->why.bytes);
}

static bool play_row(const struct corpus_case *one, const struct backend *backend, const struct setup *setup,
                     enum play_wires wires, unsigned row) {
    struct play play = {.one = one,
                        .backend = backend,
                        .wires = wires,
                        .rounds = setup->shard_count == 1 ? 1 : backend->rounds};
    text_init(&play.why);
    snprintf(where, sizeof where, "%s: (%s, %u shards)", one->path, backend->name, setup->shard_count);
    bool good = backend->begin(setup, &play.why);
    bool begun = good;
    good = good && play_lines(&play, setup, row) && nothing_left(&play);
    if (!good)
        report(&play);
    for (unsigned at = 0; at < play.peer_count; at++)
        player_end(&play.peers[at], backend);
    play.why.length = 0;
    if (begun && !backend->end(!good, &play.why)) {
        report(&play);
        good = false;
    }
    variables_forget(&play.variables);
    text_deinit(&play.why);
    return good;
}

bool play_can(const struct corpus_case *one, enum play_wires wires) {
    return wires == PLAY_FRAMED || !(one->framed || one->shows_wire);
}

bool play_case(const struct corpus_case *one, const struct backend *backend, const struct setup *setup,
               enum play_wires wires) {
    bool good = true;
    unsigned rows = one->row_count ? one->row_count : 1;
    for (unsigned row = 0; row < rows; row++)
        good = play_row(one, backend, setup, wires, row) && good;
    return good;
}
