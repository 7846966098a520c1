// Success: each line does what it says, and in the end nothing is left that nobody expected. A few rounds of pings on
// all connections prove that. Failure: the line is named, with what came instead.
#include "tests/corpus/play.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/corpus/play_child.h"
#include "tests/corpus/play_journal.h"
#include "tests/corpus/play_peer.h"
#include "tests/corpus/playing.h"

static char where[512];

const char *play_where(void) {
    return where;
}

// --- Lines

// `hub ends`, `keeper ends`
static bool end_process(struct play *play, bool is_hub, const char *rest) {
    if (strcmp(rest, "ends") != 0 || !play->backend->terminate)
        return playing_fail(play, "it ends, or what?");
    if (is_hub)
        play->backend->terminate();
    else
        play->backend->lose_keeper();
    return true;
}

static bool reload(struct play *play, const char *config) {
    if (!play->one->config)
        return playing_fail(play, "there is no configuration to be read again");
    play->backend->reload(config);
    return true;
}

static bool reload_users(struct play *play, const char *users) {
    if (!play->one->users)
        return playing_fail(play, "there are no users to be read again");
    play->backend->reload_users(users);
    return true;
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
    bool good = (playing_find(play, name, strlen(name)) || playing_add(play, name, playing_wire(play))) &&
                play_peer_send(play, playing_find(play, name, strlen(name)), registration) &&
                play_peer_expect(play, playing_find(play, name, strlen(name)), answer, true);
    free(registration);
    free(answer);
    return good;
}

static bool wait_line(struct play *play, const char *text) {
    char *unit;
    uint64_t ms = strtoul(text, &unit, 10);
    if (!ms || strcmp(unit, "ms") != 0)
        return playing_fail(play, "a wait reads like 250ms");
    play->backend->pass(ms * 1000000);
    return true;
}

// `count NAME NUMBER`
static bool count_line(struct play *play, char *text) {
    char *words[2];
    char came[32];
    if (case_words(text, words, 2) != 2)
        return playing_fail(play, "a count names a counter and a number");
    if (!playing_ping_rounds(play))
        return false;
    uint64_t wanted = strtoul(words[1], NULL, 10), count = play->backend->count(words[0], wanted);
    if (count == wanted)
        return true;
    snprintf(came, sizeof came, "it counts %lld", (long long)count);
    return playing_fail(play, came);
}

// `at HUB`: who comes from now on
static bool go_to(struct play *play, const char *name) {
    for (unsigned hub = 0; hub < play->one->hub_count; hub++)
        if (strcmp(play->one->hubs[hub], name) == 0) {
            play->backend->at(hub);
            return true;
        }
    return playing_fail(play, "there is no such hub");
}

static bool play_line(struct play *play, char *text) {
    size_t word = strcspn(text, " ");
    struct player *peer = playing_find(play, text, word);
    char *rest = text + word + (text[word] == ' ');
    if (peer)
        return play_peer_line(play, peer, rest);
    text[word] = '\0';
    if (strcmp(text, "peer") == 0)
        return playing_add_all(play, rest, LINE_FRAMES);
    if (strcmp(text, "lines") == 0)
        return playing_add_all(play, rest, LINE_LINES);
    if (strcmp(text, "http") == 0)
        return playing_add_all(play, rest, LINE_HTTP);
    if (strcmp(text, "at") == 0)
        return go_to(play, rest);
    if (strcmp(text, "agent") == 0)
        return add_agent(play, rest);
    if (strcmp(text, "child") == 0)
        return play_child_start(play, rest);
    if (strcmp(text, "reload") == 0)
        return reload(play, rest);
    if (strcmp(text, "users") == 0)
        return reload_users(play, rest);
    if (strcmp(text, "keeper") == 0 && strncmp(rest, "is ", 3) == 0)
        return play_child_occupy_keeper(play, rest);
    if (strcmp(text, "hub") == 0 || strcmp(text, "keeper") == 0)
        return end_process(play, *text == 'h', rest);
    if (strcmp(text, "wait") == 0)
        return wait_line(play, rest);
    if (strcmp(text, "journal") == 0)
        return play_journal_line(play, rest);
    if (strcmp(text, "count") == 0)
        return count_line(play, rest);
    return playing_fail(play, "there is no such peer or word");
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
    if (!playing_ping_rounds(play))
        return false;
    for (unsigned at = 0; at < play->peer_count; at++)
        if (!playing_expect_nothing(play, &play->peers[at]) || !playing_expect_quiet(play, &play->peers[at]))
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
    if (!good && !setup->silent)
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
