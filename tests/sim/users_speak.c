#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/users.h"

enum { TEXT_BYTES = 16 * 1024 };

const char *const user_patterns[PATTERNS + 1] = {"*", "e-*", "e-1", "e-2", "f", "f*", "approval-needed",
                                                 NULL};

static const char *const levels[] = {"autonomous", "supervised", "human-in-the-loop", "manual"};

struct spoken {
    char bytes[TEXT_BYTES];
    size_t count;
};

__attribute__((format(printf, 2, 3))) static void put(struct spoken *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    text->count += (size_t)vsnprintf(text->bytes + text->count, TEXT_BYTES - text->count, format, arguments);
    va_end(arguments);
    if (text->count >= TEXT_BYTES)
        abort();
}

static void send_body(struct player *player, const struct spoken *body, const char *fields) {
    if (player->http_owner.cable)
        voice_write(&player->http_owner, body->bytes, body->count, fields);
}

// --- Writing

static void put_names(struct spoken *body, const char *key, unsigned bits, const char *const *names) {
    const char *between = "";
    put(body, "\"%s\":[", key);
    for (unsigned at = 0; names[at]; at++)
        if (bits >> at & 1) {
            put(body, "%s\"%s\"", between, names[at]);
            between = ",";
        }
    put(body, "]");
}

static void put_member(struct spoken *body, const char *key, const char *value) {
    if (value)
        put(body, ",\"%s\":\"%s\"", key, value);
}

void speak_secret(const struct shown *shown, char token[MODEL_TOKEN_BYTES]) {
    snprintf(token, MODEL_TOKEN_BYTES, "secret-of-nobody");
    if (shown->user != NOBODY)
        model_token((unsigned)shown->user, shown->which, shown->generation, token);
}

static void put_shown(struct spoken *body, const char *key, const struct shown *shown) {
    char token[MODEL_TOKEN_BYTES];
    speak_secret(shown, token);
    if (shown->given)
        put_member(body, key, token);
}

static void put_registration(struct spoken *body, const struct letter *letter) {
    put(body, ",\"agentId\":\"%s\",\"governanceLevel\":\"%s\",\"capabilities\":{",
        model_agents[letter->agent], levels[letter->level]);
    put_names(body, "tasks", letter->capabilities, model_capabilities);
    put(body, ",");
    put_names(body, "tools", letter->tools, model_tools);
    put(body, ",");
    put_names(body, "methods", letter->methods, model_methods);
    put(body, ",");
    put_names(body, "events", letter->events, user_patterns);
    put(body, "}");
    put_shown(body, "agentSecret", &letter->shown);
}

static const char *method_of(const struct letter *letter) {
    static const char *const methods[VERBS] = {
        "initialize", "agent/register", "agent/unregister",    "hub/subscribe",
        NULL,         "event",          "hub/stats",           "hub/agents",
        "hub/ping",   "hub/approvals",  "governance/approval", "$/cancelRequest"};
    return letter->verb == CALL ? letter->method : methods[letter->verb];
}

static void put_decision(struct spoken *body, const struct letter *letter) {
    static const char *const words[WORDS] = {"approved", "rejected", "needs_revision"};
    put_member(body, "checkpoint",
               letter->decides == NOBODY ? "gate:00000000000000000000000000000000"
                                         : stage.letters[letter->decides].checkpoint);
    put_member(body, "decision", words[letter->word]);
    put(body, ",\"artifact\":{}");
}

static void put_letter(struct spoken *body, unsigned number) {
    const struct letter *letter = &stage.letters[number];
    put(body, "{\"jsonrpc\":\"2.0\"");
    if (letter->is_request)
        put(body, ",\"id\":%u", number);
    put(body, ",\"method\":\"%s\",\"params\":{\"tag\":%u", method_of(letter), number);
    if (letter->verb == REGISTER)
        put_registration(body, letter);
    if (letter->verb == UNREGISTER)
        put_member(body, "agentId", model_agents[letter->agent]);
    if (letter->verb == SAY_HELLO) {
        put_member(body, "governanceLevel", levels[letter->level]);
        put_shown(body, "token", &letter->shown);
    }
    if (letter->verb == SUBSCRIBE) {
        put(body, ",");
        put_names(body, "events", letter->events, user_patterns);
    }
    if (letter->verb == CANCEL)
        put(body, ",\"id\":%d", letter->cancels);
    if (letter->verb == DECIDE)
        put_decision(body, letter);
    if (letter->target)
        put(body, ",\"targetAgent\":\"%s%s\"", letter->to_group ? "@" : "", letter->target);
    put_member(body, "tool", letter->tool);
    put_member(body, "event", letter->event);
    put_member(body, "approver", letter->approver);
    put_member(body, "sourceAgent", letter->source);
    if (letter->watches)
        put(body, ",\"workDoneToken\":\"t-%u\"", number);
    if (random_chance(&stage.random, 100))
        put(body, ",\"filler\":\"%0*d\"", 1 + (int)random_below(&stage.random, 900), 0);
    put(body, "}}");
}

// --- Choosing

static unsigned some_bits(unsigned count, uint32_t chance) {
    unsigned bits = 0;
    for (unsigned at = 0; at < count; at++)
        bits |= (unsigned)random_chance(&stage.random, chance) << at;
    return bits;
}

// Mostly somebody's own, as it is now; else an old one, another's, or none that is.
struct shown speak_token(const struct player *player) {
    struct shown shown = {.given = true, .user = (int)random_below(&stage.random, MODEL_USERS)};
    if (player->standing == KNOWN && random_chance(&stage.random, 600))
        shown.user = player->user;
    shown.which = random_below(&stage.random, MODEL_TOKENS);
    shown.generation = stage.now.users[shown.user].generation[shown.which];
    if (random_chance(&stage.random, 80))
        shown.user = NOBODY;
    else if (!shown.generation || random_chance(&stage.random, 40))
        shown.generation++;
    return shown;
}

static void choose_call(struct letter *letter) {
    struct random *random = &stage.random;
    uint32_t dice = random_below(random, 100);
    letter->method = model_any(random, model_methods);
    if (dice < 20) {
        letter->method = "tool/integration";
        letter->tool = model_any(random, model_tools);
    } else if (dice < 28) {
        letter->method = "governance/approval";
        letter->approver = random_chance(random, 800) ? model_any(random, model_agents) : NULL;
    } else if (dice < 32) {
        letter->method = "audit/log";
    }
    dice = random_below(random, 100);
    letter->to_group = dice < 20;
    if (dice < 60)
        letter->target = model_any(random, letter->to_group ? model_capabilities : model_agents);
    if (letter->target && random_chance(random, 60))
        letter->tool = model_any(random, model_tools);
    if (!stage.one_target)
        return;
    letter->target = stage.one_target;
    letter->to_group = false;
}

// An event with a target is a call, too.
static void choose_publication(struct letter *letter) {
    struct random *random = &stage.random;
    letter->event = model_any(random, model_events);
    letter->to_group = random_chance(random, 300);
    if (random_chance(random, 150))
        letter->target = model_any(random, letter->to_group ? model_capabilities : model_agents);
}

static enum verb choose_verb(const struct player *player) {
    static const unsigned with_gate[VERBS] = {6, 14, 3, 12, 30, 18, 3, 4, 4, 6, 30, 6},
                          without[VERBS] = {6, 14, 3, 12, 30, 18, 3, 4, 4, 2, 2, 6};
    const unsigned *chances = stage.gated ? with_gate : without;
    unsigned sum = 0, verb = 0;
    if (player->standing == FRESH && papers_bearer(&stage.now, player) == NOBODY &&
        player->http_owner.way != POSTS && random_chance(&stage.random, 700))
        return random_chance(&stage.random, 500) ? SAY_HELLO : REGISTER;
    for (unsigned at = 0; at < VERBS; at++)
        sum += chances[at];
    for (unsigned dice = random_below(&stage.random, sum); dice >= chances[verb]; verb++)
        dice -= chances[verb];
    return (enum verb)verb;
}

// A source that is right is an agent of the player's that it had when the burst began.
static const char *choose_source(unsigned by) {
    const char *source = model_any(&stage.random, model_agents);
    for (unsigned at = 0; at < AGENT_NAMES; at++)
        if (stage.posts[at].holder == (int)by && random_chance(&stage.random, 800))
            source = model_agents[at];
    return source;
}

static void choose(struct letter *letter, unsigned by, bool batched) {
    struct random *random = &stage.random;
    struct player *player = &stage.players[by];
    bool needs = player->standing == FRESH && papers_bearer(&stage.now, player) == NOBODY;
    bool shows = random_chance(random, needs ? 850 : player->certificate[0] ? 350 : 150);
    *letter = (struct letter){.verb = stage.one_target ? CALL : choose_verb(player),
                              .player = by,
                              .generation = player->generation,
                              .burst = stage.burst,
                              .batched = batched,
                              .agent = NOBODY,
                              .cancels = NOBODY,
                              .decides = NOBODY,
                              .applied = NOBODY,
                              .user = NOBODY,
                              .code = 0};
    bool silent =
        letter->verb == CALL || letter->verb == PUBLISH || letter->verb == CANCEL || letter->verb == DECIDE;
    letter->is_request = player->standing == FRESH || !silent || random_chance(random, 700);
    letter->forges = random_chance(random, 30);
    letter->shown.user = NOBODY;
    if (shows && !batched && !stage.reloads && (letter->verb == SAY_HELLO || letter->verb == REGISTER))
        letter->shown = speak_token(player);
    if (letter->verb == REGISTER || letter->verb == UNREGISTER)
        letter->agent = (int)random_below(random, AGENT_NAMES);
    if (letter->verb == REGISTER || letter->verb == SAY_HELLO)
        letter->level = (int)random_below(random, 4);
    if (letter->verb == REGISTER) {
        letter->capabilities = some_bits(3, 200);
        letter->tools = some_bits(3, 150);
        letter->methods = some_bits(3, 200);
        letter->events = some_bits(PATTERNS, 30);
    }
    if (letter->verb == SUBSCRIBE)
        letter->events = 1U << random_below(random, PATTERNS) | some_bits(PATTERNS, 60);
    if (letter->verb == CALL)
        choose_call(letter);
    if (letter->verb == PUBLISH)
        choose_publication(letter);
    if (letter->verb == CANCEL)
        letter->cancels = (int)random_below(random, stage.letter_count);
    if (letter->verb == DECIDE) {
        letter->decides = gate_any();
        letter->word = random_chance(random, 600) ? APPROVED : 1 + random_below(random, 2);
    }
    letter->strict = stage.gated && !batched &&
                     (player->http_owner.way == FRAMES || player->http_owner.way == POSTS) &&
                     (letter->verb == CALL || letter->verb == PUBLISH) &&
                     random_chance(random, player->http_owner.way == POSTS ? 300 : 150);
    letter->watches = letter->verb == CALL && letter->is_request && random_chance(random, 300);
    if (letter->verb >= CALL && random_chance(random, 60))
        letter->source = choose_source(by);
}

// Marks all that the letter may change as unsure until the burst is over.
static void touch(const struct letter *letter, unsigned by) {
    struct player *player = &stage.players[by];
    const struct shown *shown = &letter->shown;
    bool is_wrong = shown->given &&
                    (shown->user == NOBODY ||
                     !model_has_token(&stage.now, (unsigned)shown->user, shown->which, shown->generation));
    player->leaves |= is_wrong;
    for (unsigned agent = 0; is_wrong && agent < AGENT_NAMES; agent++)
        stage.posts[agent].touched |= stage.posts[agent].holder == (int)by;
    if (letter->agent != NOBODY)
        stage.posts[letter->agent].touched = true;
    if (letter->verb == SUBSCRIBE || letter->verb == REGISTER)
        player->asked |= letter->events;
    if (letter->verb == CANCEL && stage.letters[letter->cancels].player == by)
        stage.letters[letter->cancels].cancelled = true;
}

// Answers in an array wait for one another. So an array has calls to the hub alone, or calls to agents alone, and the
// result of a registration is known at once.
enum array { NO_ARRAY, OF_CALLS, OF_THE_HUB };

static bool is_misplaced(const struct letter *letter, enum array array) {
    bool registers = letter->verb == REGISTER || letter->verb == UNREGISTER;
    if (stage.players[letter->player].http_owner.way == POSTS &&
        (registers || letter->verb == SAY_HELLO || letter->verb == SUBSCRIBE))
        return true; // it takes a connection that stays
    bool waits = letter->verb == CALL || (letter->verb == PUBLISH && (letter->target || stage.gated));
    return array == OF_CALLS ? registers || letter->verb == SUBSCRIBE : array == OF_THE_HUB && waits;
}

static bool write_one(struct spoken *body, unsigned by, enum array array) {
    if (stage.letter_count + 1 >= LETTERS_MAX)
        return false;
    unsigned number = stage.letter_count++;
    struct letter *letter = &stage.letters[number];
    do
        choose(letter, by, array != NO_ARRAY);
    while (is_misplaced(letter, array));
    if (stage.players[by].http_owner.way == POSTS)
        letter->shown = stage.players[by].posted;
    size_t before = body->count;
    put_letter(body, number);
    letter->bytes = body->count - before;
    touch(letter, by);
    users_sums.letters++;
    return true;
}

static const char *fields_of(const struct letter *letter) {
    return letter->strict   ? "Governance-Level: manual\r\n"
           : letter->forges ? "patchbay-user: user-x\r\n"
                            : "";
}

void speak_any(unsigned by) {
    struct player *player = &stage.players[by];
    struct spoken body = {.count = 0};
    if (player->http_owner.way == EVENTS) {
        streams_ask(by);
        return;
    }
    bool posts = player->http_owner.way == POSTS,
         alone = stage.one_target || (player->standing != KNOWN && !posts);
    enum array array = alone || random_chance(&stage.random, 880) ? NO_ARRAY
                       : random_chance(&stage.random, 700)        ? OF_CALLS
                                                                  : OF_THE_HUB;
    unsigned first = stage.letter_count;
    bool written;
    if (!player->http_owner.cable || player->standing == GONE)
        return;
    if (posts && posts_waits(player) && player->standing != GUESSED)
        return;
    if (posts)
        player->posted = posts_choose(player);
    if (array == NO_ARRAY) {
        written = write_one(&body, by, array);
    } else {
        unsigned count = random_between(&stage.random, 1, 5);
        put(&body, "[");
        for (written = write_one(&body, by, array); written && count > 1; count--) {
            put(&body, ",");
            if (!write_one(&body, by, array))
                return;
        }
        put(&body, "]");
    }
    if (!written)
        return;
    const char *fields = fields_of(&stage.letters[stage.letter_count - 1]);
    char more[POST_FIELDS_BYTES];
    if (posts) {
        posts_fields(&player->posted, fields, more);
        posts_asked(player, first);
    }
    send_body(player, &body, posts ? more : fields);
}

static void report(struct player *player, const struct duty *duty) {
    struct spoken body = {.count = 0};
    put(&body, "{\"jsonrpc\":\"2.0\",\"method\":\"$/progress\",\"params\":{\"token\":%s,\"value\":1}}",
        duty->token);
    player->answered += body.count;
    stage.letters[duty->letter].reports++;
    send_body(player, &body, "");
}

void speak_answer(unsigned by, bool all) {
    struct player *player = &stage.players[by];
    while (player->duty_count) {
        unsigned which = random_below(&stage.random, player->duty_count);
        struct spoken body = {.count = 0};
        for (unsigned left = random_below(&stage.random, 4); player->duties[which].token[0] && left; left--)
            report(player, &player->duties[which]);
        if (!all && random_chance(&stage.random, 200))
            return;
        put(&body, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"tag\":%u}}", player->duties[which].id,
            player->duties[which].letter);
        player->duties[which] = player->duties[--player->duty_count];
        player->answered += body.count;
        send_body(player, &body, "");
        if (!all)
            return;
    }
}

// --- Hearing

// Returns whether the name of an event is one of those that tell of agents.
static bool is_of_agents(struct bit name) {
    static const char prefix[] = "\"hub-agent-";
    return name.bytes && name.count >= sizeof prefix - 1 &&
           memcmp(name.bytes, prefix, sizeof prefix - 1) == 0;
}

static struct letter *letter_of(uint64_t number) {
    if (number >= stage.letter_count)
        kernel_fail("something came that nobody sent");
    return &stage.letters[number];
}

// Notes the user that the header block names as the letter's source. The block must name a user exactly once.
static void note_signer(unsigned by, struct letter *letter, struct bit fields) {
    static const char name[] = "Patchbay-User: ";
    const char *found = fields.bytes ? memmem(fields.bytes, fields.count, name, strlen(name)) : NULL;
    struct bit rest = fields;
    char signer[sizeof letter->signer] = "-";
    if (found) {
        found += strlen(name);
        rest.count -= (size_t)(found - (const char *)fields.bytes);
        rest.bytes = (const uint8_t *)found;
        size_t bytes = strcspn(found, "\r");
        snprintf(signer, sizeof signer, "%.*s", (int)bytes, found);
    }
    if (stage.players[by].http_owner.way != FRAMES)
        return;
    if (letter->signer[0] && strcmp(letter->signer, signer) != 0)
        kernel_fail("one letter is of two users");
    if (found && memmem(rest.bytes, rest.count, "user-x", 6))
        kernel_fail("what a peer says of its user has passed");
    memcpy(letter->signer, signer, sizeof signer);
}

static void take_letter(unsigned by, const struct naive_frame *frame, struct bit body) {
    struct player *player = &stage.players[by];
    uint64_t number = bit_number(naive_find(body, "params.tag"));
    struct letter *letter = letter_of(number);
    struct bit id = naive_find(body, "id");
    letter->delivered |= 1U << by;
    letter->deliveries++;
    users_sums.delivered++;
    note_signer(by, letter, frame->fields);
    if (!id.bytes)
        return;
    if (player->duty_count == DUTIES_MAX || id.count >= sizeof player->duties[0].id)
        kernel_fail("too much is asked");
    struct duty *duty = &player->duties[player->duty_count++];
    duty->letter = (unsigned)number;
    snprintf(duty->id, sizeof duty->id, "%.*s", (int)id.count, (const char *)id.bytes);
    struct bit token = naive_find(body, "params.workDoneToken");
    snprintf(duty->token, sizeof duty->token, "%.*s", (int)token.count, (const char *)token.bytes);
}

static void take_report(unsigned by, struct bit body) {
    struct bit token = naive_find(body, "params.token");
    if (token.count < 4 || memcmp(token.bytes, "\"t-", 3) != 0)
        kernel_fail("progress bears another token");
    struct letter *letter = letter_of(strtoul((const char *)token.bytes + 3, NULL, 10));
    if (letter->player != by || letter->generation != stage.players[by].generation ||
        ++letter->reported > letter->reports)
        oracle_fails("progress came to somebody else, or twice", number_of(letter));
}

// Only what its own source has cancelled, or left, may be cancelled.
static void take_cancel(unsigned by, struct bit body) {
    struct player *player = &stage.players[by];
    struct bit id = naive_find(body, "params.id");
    for (unsigned at = 0; at < player->duty_count; at++) {
        if (!bit_is(id, player->duties[at].id))
            continue;
        const struct letter *letter = &stage.letters[player->duties[at].letter];
        const struct player *source = &stage.players[letter->player];
        if (!letter->cancelled && source->generation == letter->generation && source->standing == KNOWN &&
            !source->leaves)
            oracle_fails("a request was cancelled by somebody else", player->duties[at].letter);
        return; // it answers all the same
    }
}

static unsigned agent_of(struct bit name) {
    char quoted[32];
    for (unsigned agent = 0; agent < AGENT_NAMES; agent++) {
        snprintf(quoted, sizeof quoted, "\"%s\"", model_agents[agent]);
        if (bit_is(name, quoted))
            return agent;
    }
    kernel_fail("there is an agent %.*s", (int)name.count, (const char *)name.bytes);
}

static void take_list(struct letter *letter, struct bit result) {
    struct naive_item item;
    struct bit all = naive_find(result, "agents");
    for (size_t at = 0; naive_next(all, &at, &item);)
        letter->listed |= 1U << agent_of(naive_find(item.value, "agentId"));
}

static void take_loss(unsigned by, struct bit name) {
    unsigned agent = agent_of(name);
    struct player *player = &stage.players[by];
    if (player->claims[agent] == NOBODY)
        kernel_fail("a player has lost what it hadn't");
    player->lost[agent] = player->claims[agent];
    player->claims[agent] = NOBODY;
    users_sums.revoked++;
}

static enum over over_of(struct bit key) {
    static const char *const keys[] = {"\"rate\"", "\"bytes\"", "\"fanout\"", "\"connections\"",
                                       "\"pending\""};
    for (unsigned at = 0; key.bytes && at < sizeof keys / sizeof *keys; at++)
        if (bit_is(key, keys[at]))
            return OVER_RATE + at;
    return OVER_NOTHING;
}

void speak_over(struct letter *letter, struct bit error) {
    letter->over = over_of(naive_find(error, "data.key"));
    letter->limit = letter->over ? bit_number(naive_find(error, "data.limit")) : 0;
    letter->retries = naive_find(error, "data.retryAfterMs").bytes != NULL;
}

static void take_end(unsigned by, uint64_t number, struct bit body) {
    struct letter *letter = letter_of(number);
    struct bit error = naive_find(body, "error"), rule = naive_find(error, "data.rule");
    if (letter->player != by || letter->generation != stage.players[by].generation || !letter->is_request ||
        letter->ended++)
        oracle_fails("a request ended twice, or for somebody else", (unsigned)number);
    letter->good = !error.bytes;
    letter->code = error.bytes ? bit_integer(naive_find(error, "code")) : 0;
    speak_over(letter, error);
    letter->is_full = bit_is(naive_find(error, "data.fault"), "\"too much waits for approval\"");
    letter->at_gate = naive_find(error, "data.checkpoint").bytes != NULL;
    letter->by_somebody = naive_find(error, "data.approver").bytes != NULL;
    letter->applies = bit_is(naive_find(body, "result.applied"), "true");
    if (letter->good && letter->agent != NOBODY)
        stage.players[by].claims[letter->agent] = letter->verb == REGISTER ? (int)number : NOBODY;
    if (rule.count > 2 && rule.count < sizeof letter->rule)
        snprintf(letter->rule, sizeof letter->rule, "%.*s", (int)rule.count - 2,
                 (const char *)rule.bytes + 1);
    if (letter->verb == ASK_AGENTS && letter->good)
        take_list(letter, naive_find(body, "result"));
    if (letter->verb == ASK_APPROVALS && letter->good)
        gate_list(letter, naive_find(body, "result"));
    if (letter->burst != stage.burst)
        oracle_late(letter);
}

void speak_take(unsigned by, const struct naive_frame *frame, struct bit body) {
    struct bit method = naive_find(body, "method"), id = naive_find(body, "id");
    struct naive_item item;
    if (!naive_valid(body))
        kernel_fail("a body isn't JSON");
    if (memmem(body.bytes, body.count, "secret-", 7))
        kernel_fail("a secret has come out: %.*s", (int)body.count, (const char *)body.bytes);
    if (body.bytes[0] == '[') {
        for (size_t at = 0; naive_next(body, &at, &item);)
            speak_take(by, frame, item.value);
    } else if (bit_is(method, "\"$/cancelRequest\"")) {
        take_cancel(by, body);
    } else if (bit_is(method, "\"$/progress\"")) {
        take_report(by, body);
    } else if (bit_is(method, "\"hub/replaced\"")) {
        take_loss(by, naive_find(body, "params.agentId"));
    } else if (bit_is(naive_find(body, "params.event"), "\"approval-needed\"")) {
        gate_notice(by, body);
    } else if (is_of_agents(naive_find(body, "params.event"))) {
        oracle_presence(by, body);
    } else if (method.bytes) {
        take_letter(by, frame, body);
    } else if (!bit_is(id, "null")) {
        take_end(by, bit_number(id), body);
    } else {
        kernel_fail("a good peer was told %.*s", (int)body.count, (const char *)body.bytes);
    }
}

bool speak_hear(unsigned by) {
    struct player *player = &stage.players[by];
    size_t more = player->http_owner.cable ? cable_readable(player->http_owner.cable) : 0, at = 0;
    struct naive_frame frame;
    if (!more)
        return false;
    player->in = realloc(player->in, player->count + more);
    if (!player->in)
        abort();
    player->count += cable_read(player->http_owner.cable, player->in + player->count, more);
    for (enum naive_result result; at < player->count; at += frame.bytes) {
        result = voice_read(&player->http_owner, &frame, player->in + at, player->count - at);
        if (result == NAIVE_BAD)
            kernel_fail("the hub sent what is no frame");
        if (result == NAIVE_PARTIAL)
            break;
        if (player->http_owner.way == POSTS)
            posts_hear(by, &frame);
        else if (player->http_owner.way == EVENTS)
            streams_hear(by, &frame);
        else if (player->http_owner.way == SOCKET && !player->http_owner.is_upgraded)
            papers_refused(player);
        else if (frame.body.bytes)
            speak_take(by, &frame, frame.body);
    }
    memmove(player->in, player->in + at, player->count - at);
    player->count -= at;
    return true;
}
