#include "tests/corpus/play_child.h"

#include <stdlib.h>
#include <string.h>

static bool end_child(struct play *play, struct player *peer, int status) {
    play->backend->exit(peer->line, status);
    peer->line = NULL;
    return true;
}

// Notes that the child has been killed, if that is what the signal does.
static bool expect_signal(struct play *play, struct player *peer, const char *text) {
    int number = atoi(text);
    if (!play->backend->signalled(peer->line, number))
        return playing_fail(play, "its group hasn't been sent that signal");
    return number != 9 || end_child(play, peer, 0);
}

bool play_child_words(struct play *play, struct player *peer, const char *words, bool *known) {
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

// A child that ended may be started again under its name.
static struct player *free_player(struct play *play, const char *name) {
    struct player *peer = playing_find(play, name, strlen(name));
    if (peer && peer->line)
        return NULL;
    if (peer)
        player_end(peer, play->backend);
    else if (play->peer_count < PEERS_MAX && strlen(name) < PLAYER_NAME_MAX)
        peer = &play->peers[play->peer_count++];
    return peer;
}

bool play_child_start(struct play *play, char *text) {
    char *words[4];
    struct line *line;
    bool lines;
    unsigned count = case_words(text, words, 4);
    if (!play->backend->start || (count != 1 && count != 3 && (count != 2 || strcmp(words[1], "waits"))))
        return playing_fail(play, "what is this of a child?");
    if (count == 2)
        return !play->backend->is_ordered(words[0]) || playing_fail(play, "it is being started");
    bool fails = count == 3 && strcmp(words[1], "fails") == 0;
    if (!play->backend->start(words[0], fails ? atoi(words[2]) : 0, &line, &lines))
        return playing_fail(play, "it isn't being started");
    if (fails)
        return true;
    const char *name = count == 3 ? words[2] : words[0];
    struct player *peer = free_player(play, name);
    if (!peer)
        return playing_fail(play, "too many peers, or one of them has this name");
    player_be_child(peer, name, line, lines);
    return true;
}

bool play_child_occupy_keeper(struct play *play, const char *rest) {
    bool busy = strcmp(rest, "is busy") == 0;
    if ((!busy && strcmp(rest, "is free") != 0) || !play->backend->occupy_keeper)
        return playing_fail(play, "it is busy or free, on the simulated kernel");
    play->backend->occupy_keeper(busy);
    return true;
}
