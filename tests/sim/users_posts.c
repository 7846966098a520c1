// Players of the web that ask over HTTP. Each request shows its own credential, or none, and the next request waits for
// the answer. Such players send all letters but those that need a connection that stays.
#include <stdio.h>
#include <string.h>

#include "tests/sim/users.h"

enum { NOT_ALLOWED = -32001, NOT_INITIALIZED = -32054, TEXT_BYTES = 128 };

// --- What is shown

// A token that is right, or wrong, by both editions.
struct shown posts_choose(const struct player *player) {
    struct shown shown = {.user = NOBODY};
    if (random_chance(&stage.random, player->certificate[0] ? 600 : 60) && papers_settled(player))
        return shown; // what it bears itself decides
    shown = speak_token(player);
    if (shown.user != NOBODY &&
        model_has_token(&stage.before, (unsigned)shown.user, shown.which, shown.generation) !=
            model_has_token(&stage.now, (unsigned)shown.user, shown.which, shown.generation))
        shown.user = NOBODY;
    return shown;
}

// As base64.
static void encode(const char *text, char *out) {
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t left = strlen(text); left; left -= left < 3 ? left : 3, text += 3, out += 4) {
        uint32_t bits = (uint32_t)(uint8_t)text[0] << 16;
        bits |= left > 1 ? (uint32_t)(uint8_t)text[1] << 8 : 0;
        bits |= left > 2 ? (uint8_t)text[2] : 0;
        for (unsigned at = 0; at < 4; at++)
            out[at] = at > left ? '=' : alphabet[bits >> (18 - 6 * at) & 63];
    }
    *out = 0;
}

void posts_fields(const struct shown *shown, const char *more, char out[POST_FIELDS_BYTES]) {
    static const char *const names[] = {"", "user-0", "user-1", "anybody", NULL};
    char token[MODEL_TOKEN_BYTES], named[TEXT_BYTES], coded[2 * TEXT_BYTES];
    speak_secret(shown, token);
    if (!shown->given) {
        snprintf(out, POST_FIELDS_BYTES, "%s", more);
    } else if (random_chance(&stage.random, 500)) {
        snprintf(out, POST_FIELDS_BYTES, "%sAuthorization: Bearer %s\r\n", more, token);
    } else { // the name says nothing
        snprintf(named, sizeof named, "%s:%s", model_any(&stage.random, names), token);
        encode(named, coded);
        snprintf(out, POST_FIELDS_BYTES, "%sAuthorization: Basic %s\r\n", more, coded);
    }
}

void posts_asked(struct player *player, unsigned first) {
    player->active_ns = kernel_now(stage.world.kernel);
    if (player->standing == GUESSED)
        return; // it isn't read
    if (posts_waits(player))
        kernel_fail("a player asks before it has been answered");
    player->due = first;
    player->due_end = stage.letter_count;
}

// --- What comes

// All that was asked together is refused in one.
static void refuse_all(const struct player *player, int64_t code, struct bit body) {
    for (unsigned at = player->due; at < player->due_end; at++) {
        struct letter *letter = &stage.letters[at];
        letter->ended = 1;
        letter->code = code;
        if (code == NOT_ALLOWED)
            memcpy(letter->rule, "credential", sizeof "credential");
        if (code == OVERLOADED)
            speak_over(letter, naive_find(body, "error"));
    }
}

static void check_answered(const struct player *player, bool is_empty) {
    for (unsigned at = player->due; at < player->due_end; at++) {
        const struct letter *letter = &stage.letters[at];
        if (letter->is_request && !letter->ended)
            oracle_fails("a request was answered without its answer", at);
        if (letter->is_request && is_empty)
            oracle_fails("a request was answered as what needs no answer", at);
    }
}

void posts_hear(unsigned by, const struct naive_frame *frame) {
    struct player *player = &stage.players[by];
    struct bit body = frame->body;
    if (!posts_waits(player))
        kernel_fail("player %u was answered what it hasn't asked", by);
    player->active_ns = kernel_now(stage.world.kernel);
    const struct letter *first = &stage.letters[player->due];
    if (player->http_owner.status == 401)
        refuse_all(player, first->shown.given ? NOT_ALLOWED : NOT_INITIALIZED, body);
    else if (player->http_owner.status == 429)
        refuse_all(player, OVERLOADED, body);
    else if (player->http_owner.status == 200 && body.bytes)
        speak_take(by, frame, body);
    else if (player->http_owner.status != 202 || body.bytes)
        kernel_fail("player %u got %u", by, player->http_owner.status);
    if (player->http_owner.status < 300)
        check_answered(player, player->http_owner.status == 202);
    player->due = player->due_end;
}

// --- Whose a letter is

// Each is somebody's for itself, whatever came before. False: no more is to be said of it.
bool posts_judge(struct letter *letter, struct player *player) {
    const struct shown *shown = &letter->shown;
    int bearer = shown->given ? NOBODY : papers_bearer(&stage.now, player);
    if (bearer != NOBODY)
        return oracle_becomes(letter, player, bearer);
    if (!shown->given) {
        if (letter->delivered || !letter->ended || letter->code != NOT_INITIALIZED)
            oracle_fails("it was heard without a credential", number_of(letter));
        return false;
    }
    return oracle_token_is_right(letter, player) && oracle_becomes(letter, player, shown->user);
}

// Once there is no more to be answered.
bool posts_may_end(const struct player *player) {
    return !posts_waits(player) && stage.settled_ns - player->active_ns >= POST_IDLE_S * SECOND;
}
