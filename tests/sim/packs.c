// Packed requests on the simulated kernel. A shard reads many small requests for one agent in one turn. The fifth and
// later ones share a parcel (core/send/pack.h).
#include "tests/sim/journaled.h"

#include "core/rights/digest.h"
#include "core/rights/users.h"
#include "core/send/outbox.h"
#include "tests/sim/pack_count.h"

enum {
    BURST = 24,
    BURST_BYTES = 64 * 1024,
    HEARD_BYTES = 1 << 20,
    CANCELLED = -32800,
    DISCONNECTED = -32050,
    WITHOUT_PACK = 4
};

// --- A burst: what a source writes at once

static char burst[BURST_BYTES];
static size_t burst_bytes;

__attribute__((format(printf, 1, 2))) static void put(const char *format, ...) {
    char body[1024];
    va_list arguments;
    va_start(arguments, format);
    int count = vsnprintf(body, sizeof body, format, arguments);
    va_end(arguments);
    assert_in_range(count, 1, sizeof body - 1);
    assert_true(burst_bytes + sizeof body + 64 < sizeof burst);
    burst_bytes += frame_of(burst + burst_bytes, "", body);
}

static void put_asks(unsigned from, unsigned to, const char *more) {
    for (unsigned id = from; id < to; id++)
        put("{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"work\",\"params\":{\"targetAgent\":\"agent\",\"n\":%"
            "u%s}}",
            id, id, more);
}

static void put_cancel(unsigned id) {
    put("{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":%u}}", id);
}

static void write_burst(struct world *world, struct cable *source) {
    assert_true(cable_write(source, burst, burst_bytes));
    burst_bytes = 0;
    if (world)
        world_settle(world);
}

// --- What comes

struct hearing {
    uint8_t bytes[HEARD_BYTES];
    size_t count, at;
};

static void hear_all(struct hearing *hearing, struct world *world, struct cable *cable) {
    hearing->count = hearing->at = 0;
    world_settle(world);
    for (size_t more;
         (more = cable_read(cable, hearing->bytes + hearing->count, sizeof hearing->bytes - hearing->count));
         hearing->count += more)
        world_settle(world);
}

static bool next_body(struct hearing *hearing, struct bit *body) {
    struct naive_frame frame;
    if (hearing->at == hearing->count)
        return false;
    assert_int_equal(naive_frame(&frame, hearing->bytes + hearing->at, hearing->count - hearing->at),
                     NAIVE_WHOLE);
    hearing->at += frame.bytes;
    *body = frame.body;
    return true;
}

struct play {
    struct world world;
    struct cable *cables[2]; // the agent's and the source's
};

static void open_play(struct play *play, const struct world_options *options) {
    world_open(&play->world, options);
    play->cables[0] = join(&play->world, "agent");
    play->cables[1] = join(&play->world, NULL);
    pack_count = 0;
    burst_bytes = 0;
}

static void open_plain(struct play *play) {
    struct world_options options;
    world_defaults(&options, 7, 1);
    open_play(play, &options);
}

// The agent hears the requests of the burst that were not cancelled, in their order and each once, and answers each.
static void agent_serves(struct play *play, const bool cancelled[BURST]) {
    static struct hearing hearing;
    struct bit body;
    char text[256];
    hear_all(&hearing, &play->world, play->cables[0]);
    for (unsigned id = 0; id < BURST; id++) {
        if (cancelled[id])
            continue;
        do // notes that came before are of no interest
            assert_true(next_body(&hearing, &body));
        while (bit_is(naive_find(body, "method"), "\"note\""));
        assert_true(bit_is(naive_find(body, "method"), "\"work\""));
        assert_int_equal(bit_integer(naive_find(body, "params.n")), id);
        snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":%u}",
                 (long long)bit_integer(naive_find(body, "id")), id);
        burst_bytes += frame_of(burst + burst_bytes, "", text);
    }
    assert_false(next_body(&hearing, &body));
    if (burst_bytes)
        write_burst(&play->world, play->cables[0]);
}

// Each request of the source has ended once: by its result, or by an error of this code.
static void source_hears(struct play *play, const bool failed[BURST], int64_t code) {
    static struct hearing hearing;
    bool ended[BURST] = {false};
    hear_all(&hearing, &play->world, play->cables[1]);
    for (struct bit body; next_body(&hearing, &body);) {
        int64_t id = bit_integer(naive_find(body, "id"));
        assert_in_range(id, 0, BURST - 1);
        assert_false(ended[id]);
        ended[id] = true;
        if (failed[id])
            assert_int_equal(bit_integer(naive_find(body, "error.code")), code);
        else
            assert_int_equal(bit_integer(naive_find(body, "result")), id);
    }
    for (unsigned id = 0; id < BURST; id++)
        assert_true(ended[id]);
}

static void close_play(struct play *play) {
    for (uint32_t index = 0; index < play->world.shard_count; index++)
        assert_int_equal(play->world.shards[index]->pending.count, 0);
    finish(&play->world, play->cables, 2);
}

// Source and agent go before anything is answered.
static void leave_play(struct play *play) {
    cable_reset(play->cables[1]);
    cable_close(play->cables[1]);
    world_settle(&play->world);
    assert_int_equal(play->world.shards[0]->pending.count, 0);
    cable_close(play->cables[0]);
    finish(&play->world, NULL, 0);
}

// --- Children

// A hub that keeps programs packs requests to agents that are no programs, and their answers.
static void a_hub_with_children_packs_for_other_agents(void **state) {
    static const bool none[BURST];
    struct world_options options;
    struct play play;
    (void)state;
    world_defaults(&options, 7, 1);
    options.keeps = true;
    open_play(&play, &options);
    put_asks(0, BURST, "");
    write_burst(&play.world, play.cables[1]);
    assert_int_equal(pack_count, BURST - WITHOUT_PACK);
    agent_serves(&play, none);
    source_hears(&play, none, 0);
    assert_int_equal(pack_count, 2 * (BURST - WITHOUT_PACK));
    close_play(&play);
}

// --- Cancels

static void play_cancels(const bool cancelled[BURST]) {
    struct play play;
    open_plain(&play);
    put_asks(0, BURST, "");
    for (unsigned id = 0; id < BURST; id++)
        if (cancelled[id])
            put_cancel(id);
    write_burst(&play.world, play.cables[1]);
    assert_int_equal(pack_count, BURST - WITHOUT_PACK);
    agent_serves(&play, cancelled);
    source_hears(&play, cancelled, CANCELLED);
    close_play(&play);
}

static void any_member_is_cancelled_before_the_pack_leaves(void **state) {
    (void)state;
    for (unsigned id = 0; id < BURST; id++) {
        bool cancelled[BURST] = {false};
        cancelled[id] = true;
        play_cancels(cancelled);
    }
}

static void all_members_are_cancelled_in_any_order(void **state) {
    (void)state;
    struct play play;
    bool cancelled[BURST];
    memset(cancelled, true, sizeof cancelled);
    play_cancels(cancelled);
    open_plain(&play);
    put_asks(0, BURST, "");
    for (unsigned step = 0; step < BURST; step++)
        put_cancel((BURST - 1 + step * 7) % BURST); // 7 and BURST have no common divisor
    write_burst(&play.world, play.cables[1]);
    agent_serves(&play, cancelled);
    source_hears(&play, cancelled, CANCELLED);
    close_play(&play);
}

static void a_member_that_was_cancelled_may_be_asked_again(void **state) {
    (void)state;
    struct play play;
    open_plain(&play);
    put_asks(0, BURST, "");
    put_cancel(10);
    put("{\"jsonrpc\":\"2.0\",\"id\":\"again\",\"method\":\"work\",\"params\":{\"targetAgent\":\"agent\"}}");
    write_burst(&play.world, play.cables[1]);
    static struct hearing hearing;
    struct bit body = {0};
    unsigned heard = 0;
    hear_all(&hearing, &play.world, play.cables[0]);
    for (; next_body(&hearing, &body); heard++)
        assert_false(bit_is(naive_find(body, "params.n"), "10"));
    assert_int_equal(heard, BURST);
    assert_int_equal(pack_count, BURST - WITHOUT_PACK + 1);
    leave_play(&play);
}

// --- Ends

// The hub reads the connections of a turn in their order. Here the source's is the older one. Then comes the end of the
// agent, for which the pack still waits.
static void the_agent_goes_while_a_pack_waits(void **state) {
    (void)state;
    for (unsigned reset = 0; reset < 2; reset++) {
        struct play play;
        bool failed[BURST];
        memset(failed, true, sizeof failed);
        open_world(&play.world, 1);
        play.cables[1] = join(&play.world, NULL);
        play.cables[0] = join(&play.world, "agent");
        pack_count = 0;
        put_asks(0, BURST, "");
        write_burst(NULL, play.cables[1]);
        if (reset)
            cable_reset(play.cables[0]);
        cable_close(play.cables[0]);
        world_settle(&play.world);
        assert_int_equal(pack_count, BURST - WITHOUT_PACK);
        source_hears(&play, failed, DISCONNECTED);
        assert_int_equal(play.world.shards[0]->pending.count, 0);
        finish(&play.world, &play.cables[1], 1);
    }
}

static void the_source_goes_while_a_pack_waits(void **state) {
    (void)state;
    static struct hearing hearing;
    struct play play;
    struct bit body;
    open_plain(&play);
    put_asks(0, BURST, "");
    put("%s", "{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}");
    write_burst(&play.world, play.cables[1]);
    assert_int_equal(pack_count, BURST - WITHOUT_PACK);
    assert_int_equal(play.world.shards[0]->pending.count, 0);
    hear_all(&hearing, &play.world, play.cables[0]);
    assert_false(next_body(&hearing, &body));
    assert_true(cable_at_end(play.cables[1]));
    cable_close(play.cables[1]);
    finish(&play.world, play.cables, 1);
}

// --- What is pack_count, and what isn't

static void an_agent_at_another_shard_gets_no_packs(void **state) {
    (void)state;
    struct play play;
    struct world_options options;
    world_defaults(&options, 7, 2);
    options.is_unobserved = true; // the shard alone keeps the requests out of packs
    open_play(&play, &options);
    put_asks(0, BURST, "");
    write_burst(&play.world, play.cables[1]);
    assert_int_equal(pack_count, 0);
    agent_serves(&play, (bool[BURST]){false});
    source_hears(&play, (bool[BURST]){false}, 0);
    close_play(&play);
}

static void requests_with_a_token_are_not_packed(void **state) {
    (void)state;
    struct play play;
    open_plain(&play);
    put_asks(0, BURST, ",\"_meta\":{\"progressToken\":1}");
    write_burst(&play.world, play.cables[1]);
    assert_int_equal(pack_count, 0);
    leave_play(&play);
}

// The agent has not read what came before, of which the kernel has not taken all. Members can be cancelled all the
// same.
static void nothing_is_packed_behind_a_send_under_way(void **state) {
    (void)state;
    enum { WINDOW_BYTES = 2000, NOTE_BYTES = 900, NOTES = 6 };
    struct play play;
    struct world_options options;
    bool cancelled[BURST] = {[0] = true, [11] = true, [BURST - 1] = true};
    world_defaults(&options, 7, 1);
    options.faults.window_bytes = WINDOW_BYTES;
    open_play(&play, &options);
    for (unsigned count = 0; count < NOTES; count++)
        put("{\"jsonrpc\":\"2.0\",\"method\":\"note\",\"params\":{\"targetAgent\":\"agent\",\"x\":\"%*s\"}}",
            NOTE_BYTES, "");
    write_burst(&play.world, play.cables[1]);
    pack_count = 0;
    put_asks(0, BURST, "");
    for (unsigned id = 0; id < BURST; id++)
        if (cancelled[id])
            put_cancel(id);
    write_burst(&play.world, play.cables[1]);
    assert_int_equal(pack_count, 0);
    agent_serves(&play, cancelled);
    source_hears(&play, cancelled, CANCELLED);
    close_play(&play);
}

// A request of high priority that comes last is heard first.
static void a_request_of_high_priority_overtakes_a_pack(void **state) {
    (void)state;
    static struct hearing hearing;
    struct play play;
    struct bit body = {0};
    open_plain(&play);
    put_asks(0, BURST - 1, "");
    put_asks(BURST - 1, BURST, ",\"priority\":\"high\"");
    write_burst(&play.world, play.cables[1]);
    assert_int_equal(pack_count, BURST - 1 - WITHOUT_PACK);
    hear_all(&hearing, &play.world, play.cables[0]);
    for (unsigned place = 0; place < BURST; place++) {
        assert_true(next_body(&hearing, &body));
        assert_int_equal(bit_integer(naive_find(body, "params.n")), place ? place - 1 : BURST - 1);
    }
    leave_play(&play);
}

// Answers are packed for their source as requests are for their target.
static void answers_of_a_burst_are_packed(void **state) {
    (void)state;
    struct play play;
    open_plain(&play);
    put_asks(0, BURST, "");
    write_burst(&play.world, play.cables[1]);
    pack_count = 0;
    agent_serves(&play, (bool[BURST]){false});
    assert_int_equal(pack_count, BURST - WITHOUT_PACK);
    assert_int_equal(counted(&play.world, COUNT_RESPONSES_FORWARDED), BURST);
    source_hears(&play, (bool[BURST]){false}, 0);
    close_play(&play);
}

static void put_answer(int64_t hub_id, unsigned id) {
    put("{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":%u}", (long long)hub_id, id);
}

// A connection that was not asked answers requests whose hub ids it knows. Before, many answers have left for the
// source at once, so that the next answers are packed from the first on.
static void nobody_answers_for_the_target(void **state) {
    (void)state;
    enum { ANSWERED = OUTBOX_BUSY_FROM };
    static struct hearing hearing;
    struct bit body;
    struct play play;
    int64_t hub_ids[BURST];
    open_plain(&play);
    struct cable *stranger = join(&play.world, "stranger");
    put_asks(0, BURST, "");
    write_burst(&play.world, play.cables[1]);
    hear_all(&hearing, &play.world, play.cables[0]);
    for (unsigned id = 0; id < BURST; id++) {
        assert_true(next_body(&hearing, &body));
        hub_ids[id] = bit_integer(naive_find(body, "id"));
    }
    pack_count = 0;
    for (unsigned id = 0; id < ANSWERED; id++)
        put_answer(hub_ids[id], id);
    write_burst(&play.world, play.cables[0]);
    for (unsigned id = ANSWERED; id < BURST; id++)
        put_answer(hub_ids[id], 1000);
    write_burst(&play.world, stranger);
    assert_int_equal(pack_count, ANSWERED - WITHOUT_PACK);
    assert_int_equal(counted(&play.world, COUNT_DROP_RESPONSE_FOREIGN), BURST - ANSWERED);
    assert_int_equal(play.world.shards[0]->pending.count, BURST - ANSWERED);
    for (unsigned id = ANSWERED; id < BURST; id++)
        put_answer(hub_ids[id], id);
    write_burst(&play.world, play.cables[0]);
    assert_int_equal(pack_count, BURST - WITHOUT_PACK);
    source_hears(&play, (bool[BURST]){false}, 0);
    cable_close(stranger);
    close_play(&play);
}

// A frame of JSON lines has no length line, so it is no frame of a pack.
static void an_agent_that_speaks_lines_gets_no_packs(void **state) {
    (void)state;
    static char text[HEARD_BYTES];
    struct play play;
    open_plain(&play);
    struct cable *lines = world_dial_lines(&play.world);
    static const char hello[] = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"agent/register\","
                                "\"params\":{\"agentId\":\"liner\"}}\n";
    assert_true(cable_write(lines, hello, sizeof hello - 1));
    world_settle(&play.world);
    assert_true(cable_read(lines, (uint8_t *)text, sizeof text) > 0);
    for (unsigned id = 0; id < BURST; id++)
        put("{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"work\",\"params\":{\"targetAgent\":\"liner\"}}", id);
    write_burst(&play.world, play.cables[1]);
    assert_int_equal(pack_count, 0);
    size_t count = 0;
    for (size_t more; (more = cable_read(lines, (uint8_t *)text + count, sizeof text - count)); count += more)
        world_settle(&play.world);
    for (unsigned id = 0; id < BURST; id++) {
        char *end = memchr(text, '\n', count);
        assert_non_null(end);
        assert_true(bit_is(naive_find((struct bit){(const uint8_t *)text, (size_t)(end - text)}, "method"),
                           "\"work\""));
        count -= (size_t)(end + 1 - text);
        memmove(text, end + 1, count);
    }
    assert_int_equal(count, 0);
    cable_close(lines);
    leave_play(&play);
}

// Each approval has its line of the journal.
static void what_the_journal_takes_is_not_packed(void **state) {
    (void)state;
    struct play play;
    struct world_options options;
    world_defaults(&options, 7, 1);
    options.journal = "journal";
    open_play(&play, &options);
    for (unsigned id = 0; id < BURST; id++)
        put("{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"governance/approval\",\"params\":{"
            "\"checkpoint\":\"%u\",\"artifact\":{},\"decision\":\"approved\",\"approver\":\"agent\"}}",
            id, id);
    put_asks(BURST, 2 * BURST, ""); // which the journal doesn't take
    write_burst(&play.world, play.cables[1]);
    assert_int_equal(pack_count, BURST);
    for (unsigned id = 0; id < BURST; id++) {
        assert_true(line_is(&play.world, 0, id, "kind", "\"approval\""));
        char text[16];
        snprintf(text, sizeof text, "\"%u\"", id);
        assert_true(line_is(&play.world, 0, id, "entry.checkpoint", text));
    }
    leave_play(&play);
}

// --- With a users file

// The agent's user and two sources' users; the second source's token may be another one.
enum { USERS = 3 };
static const char *const user_names[USERS] = {"server", "one", "two"};
static unsigned generation; // of the second source's token
static struct world *read_world;

static void token_of(unsigned user, char token[64]) {
    snprintf(token, 64, "secret-%s-%u", user_names[user], user == 2 ? generation : 0);
}

static void complain(void *context, const struct users_fault *fault) {
    (void)context;
    fail_msg("line %u: %s", fault->line, fault->expected);
}

static struct users *read_users(const struct users *before) {
    static const struct siphash_key key = {{1, 2}};
    char text[2048];
    size_t count = 0;
    for (unsigned user = 0; user < USERS; user++) {
        char token[64], line[DIGEST_TEXT_BYTES];
        struct digest digest;
        token_of(user, token);
        assert_true(digest_make(token, strlen(token), &digest));
        digest_text(&digest, line);
        count += (size_t)snprintf(text + count, sizeof text - count,
                                  "[user %s]\ntoken = %.*s\nregister = agent\ncall = agent\n",
                                  user_names[user], (int)sizeof line, line);
    }
    return users_read(text, count, &key, before, complain, NULL);
}

static bool read_again(void *context, struct hub_settings *fresh) {
    (void)context;
    fresh->users = read_users(hub_settings(read_world->hub)->users);
    return true;
}

struct users_play {
    struct world world;
    struct cable *cables[USERS];
};

static void open_users(struct users_play *play) {
    struct world_options options;
    world_defaults(&options, 7, 1);
    struct hub_settings settings = {.limits = options.limits, .read_again = read_again};
    generation = 0;
    settings.users = read_users(NULL);
    options.settings = &settings;
    read_world = &play->world;
    world_open(&play->world, &options);
    burst_bytes = 0;
    for (unsigned user = 0; user < USERS; user++) {
        char token[64];
        token_of(user, token);
        play->cables[user] = world_dial(&play->world);
        put("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"token\":\"%s\"}}", token);
        write_burst(&play->world, play->cables[user]);
        assert_true(of(hear(play->cables[user]), "result").bytes);
    }
    put("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"agent/register\",\"params\":{\"agentId\":\"agent\"}}");
    write_burst(&play->world, play->cables[0]);
    assert_true(bit_is(of(hear(play->cables[0]), "result.registered"), "true"));
    pack_count = 0;
}

// Reads all that came to the agent: requests of both sources, each with the line of its user. `heard` and `hub_ids` are
// by source and id.
static void agent_hears(struct users_play *play, bool heard[USERS][BURST], int64_t hub_ids[USERS][BURST]) {
    static struct hearing hearing;
    hear_all(&hearing, &play->world, play->cables[0]);
    while (hearing.at < hearing.count) {
        struct naive_frame frame;
        char line[64];
        assert_int_equal(naive_frame(&frame, hearing.bytes + hearing.at, hearing.count - hearing.at),
                         NAIVE_WHOLE);
        hearing.at += frame.bytes;
        int64_t user = bit_integer(naive_find(frame.body, "params.user")),
                id = bit_integer(naive_find(frame.body, "params.n"));
        assert_true(user >= 1 && user < USERS && id >= 0 && id < BURST && !heard[user][id]);
        snprintf(line, sizeof line, "Patchbay-User: %s", user_names[user]);
        assert_non_null(memmem(frame.fields.bytes, frame.fields.count, line, strlen(line)));
        assert_null(memmem(frame.fields.bytes, frame.fields.count, user_names[USERS - user],
                           strlen(user_names[USERS - user])));
        heard[user][id] = true;
        hub_ids[user][id] = bit_integer(naive_find(frame.body, "id"));
    }
}

static void put_users_asks(unsigned user) {
    char more[32];
    snprintf(more, sizeof more, ",\"user\":%u", user);
    put_asks(0, BURST, more);
}

// Two users' requests to one agent, of which one is cancelled, share packs.
static void each_frame_of_a_pack_names_its_own_user(void **state) {
    (void)state;
    enum { CANCEL = 17 };
    struct users_play play;
    bool heard[USERS][BURST] = {{false}};
    int64_t hub_ids[USERS][BURST];
    open_users(&play);
    for (unsigned user = 1; user < USERS; user++) {
        put_users_asks(user);
        if (user == 1)
            put_cancel(CANCEL);
        write_burst(NULL, play.cables[user]);
    }
    world_settle(&play.world);
    assert_in_range(pack_count, BURST, 2 * BURST - WITHOUT_PACK);
    agent_hears(&play, heard, hub_ids);
    for (unsigned user = 1; user < USERS; user++)
        for (unsigned id = 0; id < BURST; id++)
            assert_int_equal(heard[user][id], user != 1 || id != CANCEL);
    for (unsigned user = 1; user < USERS; user++)
        cable_close(play.cables[user]);
    cable_close(play.cables[0]);
    finish(&play.world, NULL, 0);
}

// The file is read again, with another token of one source, while requests of both sources come. Each request that the
// agent hears names its user, and the source that stays is answered.
static void a_user_is_revoked_while_a_pack_waits(void **state) {
    (void)state;
    struct users_play play;
    bool heard[USERS][BURST] = {{false}};
    int64_t hub_ids[USERS][BURST];
    open_users(&play);
    for (unsigned user = 1; user < USERS; user++) {
        put_users_asks(user);
        write_burst(NULL, play.cables[user]);
    }
    generation++;
    kernel_signal(play.world.kernel, 1);
    world_settle(&play.world);
    agent_hears(&play, heard, hub_ids);
    assert_true(pack_count > 0);
    for (unsigned user = 1; user < USERS; user++)
        for (unsigned id = 0; id < BURST; id++)
            if (heard[user][id])
                put("{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":%u}", (long long)hub_ids[user][id], id);
    write_burst(&play.world, play.cables[0]);
    static struct hearing hearing;
    struct bit body;
    unsigned answers = 0;
    for (hear_all(&hearing, &play.world, play.cables[1]); next_body(&hearing, &body); answers++)
        assert_int_equal(bit_integer(naive_find(body, "result")), bit_integer(naive_find(body, "id")));
    assert_int_equal(answers, BURST);
    hear_all(&hearing, &play.world, play.cables[2]);
    assert_true(cable_at_end(play.cables[2]));
    assert_int_equal(play.world.shards[0]->pending.count, 0);
    for (unsigned user = 0; user < USERS; user++)
        cable_close(play.cables[user]);
    finish(&play.world, NULL, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hub_with_children_packs_for_other_agents),
        cmocka_unit_test(any_member_is_cancelled_before_the_pack_leaves),
        cmocka_unit_test(all_members_are_cancelled_in_any_order),
        cmocka_unit_test(a_member_that_was_cancelled_may_be_asked_again),
        cmocka_unit_test(the_agent_goes_while_a_pack_waits),
        cmocka_unit_test(the_source_goes_while_a_pack_waits),
        cmocka_unit_test(nothing_is_packed_behind_a_send_under_way),
        cmocka_unit_test(an_agent_at_another_shard_gets_no_packs),
        cmocka_unit_test(requests_with_a_token_are_not_packed),
        cmocka_unit_test(a_request_of_high_priority_overtakes_a_pack),
        cmocka_unit_test(answers_of_a_burst_are_packed),
        cmocka_unit_test(nobody_answers_for_the_target),
        cmocka_unit_test(an_agent_that_speaks_lines_gets_no_packs),
        cmocka_unit_test(what_the_journal_takes_is_not_packed),
        cmocka_unit_test(each_frame_of_a_pack_names_its_own_user),
        cmocka_unit_test(a_user_is_revoked_while_a_pack_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
