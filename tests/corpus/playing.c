#include "tests/corpus/playing.h"

#include <string.h>

// --- Failing

bool playing_fail(struct play *play, const char *what) {
    struct text rest = play->why;
    text_init(&play->why);
    text_put(&play->why, what);
    text_add(&play->why, rest.bytes, rest.length);
    text_deinit(&rest);
    return false;
}

bool playing_fail_with(struct play *play, const struct naive_frame *frame) {
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

struct player *playing_find(struct play *play, const char *name, size_t bytes) {
    for (unsigned at = 0; at < play->peer_count; at++)
        if (strlen(play->peers[at].name) == bytes && memcmp(play->peers[at].name, name, bytes) == 0)
            return &play->peers[at];
    return NULL;
}

enum line_wire playing_wire(const struct play *play) {
    bool lines = play->wires == PLAY_LINES || (play->wires == PLAY_MIXED && play->peer_count % 2 == 0);
    return lines ? LINE_LINES : LINE_FRAMES;
}

bool playing_add(struct play *play, const char *name, enum line_wire wire) {
    if (play->peer_count == PEERS_MAX || playing_find(play, name, strlen(name)) ||
        strlen(name) >= PLAYER_NAME_MAX)
        return playing_fail(play, "too many peers, or the same name twice");
    if (!player_open(&play->peers[play->peer_count], play->backend, name, wire))
        return playing_fail(play, "it can't connect");
    play->peer_count++;
    return true;
}

bool playing_add_all(struct play *play, char *names, enum line_wire wire) {
    char *words[PEERS_MAX];
    unsigned count = case_words(names, words, PEERS_MAX);
    for (unsigned at = 0; at < count; at++)
        if (!playing_add(play, words[at], wire == LINE_FRAMES ? playing_wire(play) : wire))
            return false;
    return count > 0;
}

// --- Nothing else

bool playing_ping_round(struct play *play) {
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
        playing_fail(play, ", which should answer a ping, received ");
        return playing_fail(play, play->peers[at].name);
    }
    return true;
}

bool playing_ping_rounds(struct play *play) {
    for (unsigned round = 0; round < play->rounds; round++)
        if (!playing_ping_round(play))
            return false;
    return true;
}

bool playing_expect_quiet(struct play *play, const struct player *peer) {
    if (!peer->line || peer->state != LINE_OPEN || player_can_ping(peer) || play->backend->quiet(peer->line))
        return true;
    playing_fail(play, " should neither have received anything nor have ended");
    return playing_fail(play, peer->name);
}

bool playing_expect_nothing(struct play *play, const struct player *peer) {
    const struct naive_frame *over = player_left_over(peer);
    bool is_web_over = peer->web && peer->end > peer->at;
    if (!over && !is_web_over)
        return true;
    if (over)
        playing_fail_with(play, over);
    else
        text_add(&play->why, peer->bytes + peer->at, peer->end - peer->at);
    playing_fail(play, " should have received nothing: ");
    return playing_fail(play, peer->name);
}
