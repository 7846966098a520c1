// Acts of programs: the requested ones, or others.
#include <signal.h>
#include <string.h>

#include "tests/sim/children.h"

static struct played *played_of(const struct program *program) {
    for (unsigned index = 0; index < PLAYED_MAX; index++)
        if (stage.played[index].program == program)
            return &stage.played[index];
    return NULL;
}

void programs_part(struct played *played) {
    played->program->driven = false;
    mouth_close(&played->mouth);
    *played = (struct played){0};
}

static void die(struct played *played, int status) {
    program_end(stage.world.kernel, played->program, status);
    programs_part(played);
}

static void take_request(struct played *played, struct bit body, unsigned number) {
    struct ask *one = &stage.asks[number];
    struct bit id = naive_find(body, "id");
    struct kind *kind = &stage.kinds[played->kind];
    if (number >= stage.ask_count || one->kind != played->kind)
        kernel_fail("%s got what isn't for it: %.*s", kind->name, (int)body.count, (const char *)body.bytes);
    if (one->delivered)
        kernel_fail("%s got a request twice: %.*s", kind->name, (int)body.count, (const char *)body.bytes);
    one->delivered = true;
    if (strstr(played->program->word, "each") && played->user != NOBODY && one->client != NOBODY &&
        played->user != one->client)
        kernel_fail("one of %s serves two", kind->name);
    played->user = one->client != NOBODY ? one->client : played->user;
    if (one->command != !id.bytes)
        kernel_fail("%s got a request as it shouldn't be: %.*s", kind->name, (int)body.count,
                    (const char *)body.bytes);
    for (unsigned at = 0; at < played->pending_count && id.bytes; at++)
        if (played->pending[at].id == bit_number(id))
            kernel_fail("%s got two requests with one id: %.*s", kind->name, (int)body.count,
                        (const char *)body.bytes);
    if (played->pending_count == PENDING_MAX)
        kernel_fail("a program has more to do than there is room for");
    if (id.bytes)
        played->pending[played->pending_count++] = (struct owed){bit_number(id), number};
}

static void take_own(struct played *played, struct bit id, struct bit method) {
    if (bit_is(method, "\"initialize\"") && misbehaves(100))
        return; // it never answers
    if (bit_is(method, "\"initialize\"") && misbehaves(50))
        mouth_say(&played->mouth,
                  "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"code\":1,\"message\":\"no\"}}",
                  (int)id.count, (const char *)id.bytes);
    else if (bit_is(method, "\"initialize\""))
        mouth_say(&played->mouth, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"capabilities\":{}}}",
                  (int)id.count, (const char *)id.bytes);
    else if (!misbehaves(200))
        mouth_say(&played->mouth, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":null}", (int)id.count,
                  (const char *)id.bytes);
    played->greeted = true;
}

// A cancel of a client's comes as the client has said it, one of the hub's own as the section has it.
static void check_form(const struct kind *kind, const struct ask *asked, bool acp, struct bit body) {
    bool as_said = asked->cancelled && asked->cancelled_acp == acp;
    bool as_set = acp ? kind->ever_acp : kind->ever_lsp;
    bool is_own = !asked->cancelled || asked->client == NOBODY || asked->ended ||
                  kernel_now(stage.world.kernel) >= asked->at_ns + stage.timeout_ns;
    if (kind->protocol != CHILD_MCP && !as_said && !(is_own && as_set))
        kernel_fail("a program was told of a cancel in a form that nobody has said: %.*s", (int)body.count,
                    (const char *)body.bytes);
    sums.told[acp]++;
}

// Returns the form of a cancel that a child is told. 1: the form of the Agent Client Protocol, 0: the other one, -1:
// the method is no cancel.
static int form_of(struct bit method, bool is_mcp) {
    if (is_mcp)
        return bit_is(method, "\"notifications/cancelled\"") ? 0 : -1;
    return bit_is(method, "\"$/cancelRequest\"") ? 0 : bit_is(method, "\"$/cancel_request\"") ? 1 : -1;
}

// A cancelled request is left, now and then.
static void take_cancel(struct played *played, bool acp, struct bit body) {
    bool is_mcp = stage.kinds[played->kind].protocol == CHILD_MCP;
    uint64_t id = bit_number(naive_find(body, acp || is_mcp ? "params.requestId" : "params.id"));
    for (unsigned at = 0; at < played->pending_count; at++)
        if (played->pending[at].id == id)
            check_form(&stage.kinds[played->kind], &stage.asks[played->pending[at].ask], acp, body);
    for (unsigned at = 0; at < played->pending_count; at++)
        if (played->pending[at].id == id && random_chance(&stage.random, 500)) {
            played->pending[at] = played->pending[--played->pending_count];
            return;
        }
}

static void take_answer(struct played *played, struct bit body) {
    if (bit_number(naive_find(body, "id")) >= played->asked)
        kernel_fail("a program was answered what it hasn't asked: %.*s", (int)body.count,
                    (const char *)body.bytes);
    if (++played->answered > played->asked)
        kernel_fail("a program was answered more than it has asked");
}

static bool take(struct played *played) {
    struct bit body;
    bool any = false, is_mcp = stage.kinds[played->kind].protocol == CHILD_MCP;
    for (size_t done = 0; mouth_listen(&played->mouth, &body, &done); any = true) {
        struct bit method = naive_find(body, "method"), tag = naive_find(body, "params.tag");
        if (!method.bytes)
            take_answer(played, body);
        else if (tag.bytes)
            take_request(played, body, (unsigned)bit_number(tag));
        else if (bit_is(method, "\"initialize\"") || bit_is(method, "\"shutdown\""))
            take_own(played, naive_find(body, "id"), method);
        else if (form_of(method, is_mcp) >= 0)
            take_cancel(played, form_of(method, is_mcp) == 1, body);
        else if (is_mcp && bit_is(method, "\"notifications/initialized\""))
            played->greeted = true;
        else
            kernel_fail("a program got what nobody has sent: %.*s", (int)body.count,
                        (const char *)body.bytes);
    }
    return any;
}

static void answer(struct played *played) {
    unsigned at = random_below(&stage.random, played->pending_count);
    struct owed one = played->pending[at];
    struct ask *asked = &stage.asks[one.ask];
    played->pending[at] = played->pending[--played->pending_count];
    asked->answered = true;
    asked->failed = random_chance(&stage.random, 200);
    if (asked->failed)
        mouth_say(&played->mouth,
                  "{\"jsonrpc\":\"2.0\",\"id\":%" PRIu64
                  ",\"error\":{\"code\":7,\"message\":\"\",\"data\":%u}}",
                  one.id, one.ask);
    else
        mouth_say(&played->mouth, "{\"jsonrpc\":\"2.0\",\"id\":%" PRIu64 ",\"result\":%u}", one.id, one.ask);
}

static void speak_up(struct played *played) {
    bool may = played->greeted || stage.kinds[played->kind].protocol == CHILD_PLAIN;
    if (!may || (stage.steady && !stage.is_known) || strstr(played->program->word, "each"))
        return;
    bool tells = random_chance(&stage.random, 500);
    stage.notes_said += tells;
    if (tells)
        mouth_say(
            &played->mouth,
            "{\"jsonrpc\":\"2.0\",\"method\":\"note\",\"params\":{\"targetAgent\":\"editor\",\"from\":%u,"
            "\"note\":%" PRIu64 "}}",
            played->number, ++played->notes);
    else
        mouth_say(&played->mouth,
                  "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"look\",\"params\":{\"targetAgent\":\"editor\","
                  "\"from\":%u}}",
                  played->asked++, played->number);
}

// Returns whether it does so now: one that clients share, and that has something to ask about.
static bool asks_clients(const struct played *played) {
    bool is_shared =
        stage.kinds[played->kind].protocol == CHILD_MCP && !strstr(played->program->word, "each");
    return is_shared && !stage.good && !played->mute && played->pending_count &&
           random_chance(&stage.random, 100);
}

// A server of MCP asks its client something for the sake of a request that it has, be it given up meanwhile.
static void ask_client(struct played *played) {
    const struct owed *about = &played->pending[random_below(&stage.random, played->pending_count)];
    const struct ask *one = &stage.asks[about->ask];
    uint64_t since_ns = one->given_up_ns ? kernel_now(stage.world.kernel) - one->given_up_ns : 0;
    bool asks = strstr(played->program->word, "asks");
    if (since_ns >= ASKS_ON_SECONDS * UINT64_C(1000) * MILLISECOND)
        return;
    const char *method = random_chance(&stage.random, 200) ? "roots/list" : "sampling/createMessage";
    mouth_say(&played->mouth,
              "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"%s\",\"params\":{\"about\":%u,\"asks\":%u}}",
              played->asked++, method, about->ask, (unsigned)asks);
    sums.questions++;
}

static void begin(struct program *program) {
    struct played *played = played_of(NULL);
    if (!played || stage.program_count == PROGRAMS_MAX)
        kernel_fail("more programs than there is room for");
    *played = (struct played){.program = program, .user = NOBODY, .mute = misbehaves(30)};
    played->kind = (unsigned)(kind_named(program->name) - stage.kinds);
    played->number = stage.program_count++;
    mouth_open(&played->mouth, program->in, program->out, strncmp(program->word, "lines", 5) == 0);
    program->driven = true;
    program->leaves_others = misbehaves(50);
    program_start(stage.world.kernel, program);
    sums.programs++;
    if (random_chance(&stage.random, 300)) { // before the hub knows that it has started
        speak_up(played);
        mouth_flush(&played->mouth, true);
    }
}

static void misbehave(struct played *played) {
    switch (random_below(&stage.random, 6)) {
    case 0:
        die(played, (int)random_below(&stage.random, 2) << 8);
        return;
    case 1:
        die(played, SIGSEGV);
        return;
    case 2:
        program_close_out(played->program);
        played->mouth.to = NULL;
        return;
    case 3:
        program_close_in(played->program);
        played->mouth.from = NULL;
        return;
    case 4:
        mouth_put(&played->mouth, "garbage\n", 8);
        return;
    default:
        played->mute = true;
    }
}

// Obeys at last: its input has ended, or its group has been sent SIGTERM.
static bool ends_well(struct played *played) {
    bool told = played->program->signals & UINT32_C(1) << SIGTERM;
    bool ended = played->program->in && cable_at_end(played->program->in);
    if ((!told && !ended) || misbehaves(800))
        return false;
    mouth_flush(&played->mouth, true);
    die(played, told ? SIGTERM : 0);
    return true;
}

static bool go_on(struct played *played) {
    bool any = false;
    if (played->program->state != PROGRAM_RUNS) {
        programs_part(played);
        return true;
    }
    if (!played->mute || stage.good)
        any = take(played);
    if (ends_well(played))
        return true;
    if (asks_clients(played))
        ask_client(played), any = true;
    while (played->pending_count && (stage.good || random_chance(&stage.random, 400)))
        answer(played), any = true;
    size_t left = played->mouth.out_count - played->mouth.out_at;
    mouth_flush(&played->mouth, stage.good);
    return any || played->mouth.out_count - played->mouth.out_at != left;
}

bool programs_drive(void) {
    bool any = false;
    for (struct program *one = programs_first(stage.world.kernel), *next; one; one = next) {
        next = one->next;
        struct played *played = played_of(one);
        if (one->state == PROGRAM_ORDERED && (stage.good || random_chance(&stage.random, 500))) {
            any = true;
            if (misbehaves(60))
                program_fail(stage.world.kernel, one, 2);
            else
                begin(one);
        } else if (played) {
            any |= go_on(played);
        }
    }
    return any;
}

void programs_act(void) {
    struct played *played = &stage.played[random_below(&stage.random, PLAYED_MAX)];
    for (unsigned tries = 0; !played->program && tries < 20; tries++)
        played = &stage.played[random_below(&stage.random, PLAYED_MAX)];
    if (!played->program || played->program->state != PROGRAM_RUNS)
        return;
    if (misbehaves(300))
        misbehave(played);
    else
        speak_up(played);
}
