// Players that listen over HTTP (server-sent events). Each asks for a stream under a credential, as players do that ask
// by requests (users_posts.c). A player with a stream only hears. The stream lasts until the credential is gone, or the
// right to all that the player hears.
#include <stdio.h>
#include <string.h>

#include "tests/sim/users.h"

enum { NOT_ALLOWED = -32001, QUERY_BYTES = 256 };

// --- Asking

static void put_query(unsigned bits, char query[QUERY_BYTES]) {
    size_t count = 0;
    for (unsigned at = 0; at < PATTERNS; at++)
        if (bits >> at & 1)
            count += (size_t)snprintf(query + count, QUERY_BYTES - count, "%spattern=%s", count ? "&" : "",
                                      user_patterns[at]);
    if (count >= QUERY_BYTES)
        kernel_fail("a query is too long");
}

void streams_ask(unsigned by) {
    struct player *player = &stage.players[by];
    char fields[POST_FIELDS_BYTES], query[QUERY_BYTES];
    if (!player->http_owner.cable || player->standing != FRESH || posts_waits(player) ||
        player->is_turned_away || player->http_owner.is_upgraded || stage.letter_count + 1 >= LETTERS_MAX)
        return;
    unsigned number = stage.letter_count++;
    struct letter *letter = &stage.letters[number];
    *letter = (struct letter){.verb = LISTEN,
                              .player = by,
                              .generation = player->generation,
                              .burst = stage.burst,
                              .is_request = true,
                              .shown = posts_choose(player),
                              .agent = NOBODY,
                              .cancels = NOBODY,
                              .decides = NOBODY,
                              .applied = NOBODY,
                              .user = NOBODY,
                              .events = 1U << random_below(&stage.random, PATTERNS)};
    if (random_chance(&stage.random, 400))
        letter->events |= 1U << random_below(&stage.random, PATTERNS);
    player->asked |= letter->events;
    posts_fields(&letter->shown, "", fields);
    put_query(letter->events, query);
    posts_asked(player, number);
    voice_listen(&player->http_owner, query, fields);
    users_sums.letters++;
}

// --- Hearing

static void take_answer(unsigned by, const struct naive_frame *frame) {
    struct player *player = &stage.players[by];
    struct letter *letter = &stage.letters[player->due];
    unsigned status = player->http_owner.status;
    player->is_turned_away = status == 403 || status == 429; // that was its last answer
    if (status == 401 || status == 429) {
        posts_hear(by, frame);
        return;
    }
    if (status != 200 && status != 403)
        kernel_fail("player %u wants a stream, and got %u", by, status);
    letter->ended = 1;
    letter->good = status == 200;
    letter->code = letter->good ? 0 : NOT_ALLOWED;
    if (!letter->good)
        memcpy(letter->rule, "subscribe", sizeof "subscribe");
    users_sums.streams += letter->good;
    player->due = player->due_end;
}

void streams_hear(unsigned by, const struct naive_frame *frame) {
    if (posts_waits(&stage.players[by]))
        take_answer(by, frame);
    else if (frame->body.bytes)
        speak_take(by, frame, frame->body);
}

// --- What there is after a burst

void streams_judge(unsigned by) {
    const struct player *player = &stage.players[by];
    bool ended = cable_at_end(player->http_owner.cable);
    unsigned bits = player->hears, left = 0;
    for (unsigned at = stage.burst_begin; at < stage.letter_count; at++) {
        const struct letter *letter = &stage.letters[at];
        if (letter->verb == LISTEN && letter->good && letter->player == by &&
            letter->generation == player->generation)
            bits |= letter->events;
    }
    for (unsigned at = 0; at < PATTERNS; at++)
        if (model_may_hear(&stage.now, (unsigned)player->user, user_patterns[at]))
            left |= bits & 1U << at;
    if (left && ended)
        kernel_fail("a stream of player %u was ended for nothing", by);
    if (!left && !ended)
        kernel_fail(bits ? "a stream of player %u goes on that may hear nothing"
                         : "player %u was refused a stream, and stays",
                    by);
    users_sums.ended_streams += bits && !left;
}
