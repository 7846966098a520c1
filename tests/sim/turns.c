// Work that a turn leaves for the next one, so that nobody waits for all that others have asked.
#include "core/rights/users.h"
#include "router/engine/receive/receive.h"
#include "router/engine/shard/peer.h"
#include "tests/sim/tell.h"

enum {
    SUBSCRIBERS = 8,
    PINGS = 3000,
    FEW_PINGS = 10,
    AGENTS = 12,
    ASKED = 40,
    WINDOW = 1000,
    LARGE = 5 * WINDOW
};

// A turn sends to one of many, and reads and registers as much as there is time for.
static const struct turn_bounds FEW = {.read_ns = 50000,
                                       .slice_ns = 10000,
                                       .registry_ns = 10000,
                                       .fanout_direct_max = 1,
                                       .fanout_sends_max = 1,
                                       .fanout_bytes_max = 1000,
                                       .fanout_wait_ns = SECOND,
                                       .fanout_ahead_bytes = 1000,
                                       .send_bytes = 1000000,
                                       .lagging_bytes = 1000000,
                                       .lagging_backlog_bytes = 100000,
                                       .large_bytes = 1000,
                                       .part_min = 500,
                                       .part_max = 2000,
                                       .request_ends_max = 2,
                                       .copies_max = 1,
                                       .peer_orders_max = 4};

static void few(struct world_options *options, uint32_t work_ns) {
    world_defaults(options, 7, 1);
    options->bounds = &FEW;
    options->faults.work_ns = work_ns;
}

static void open_with_few(struct world *world, uint32_t work_ns) {
    struct world_options options;
    few(&options, work_ns);
    world_open(world, &options);
}

static void step_until(struct world *world, struct cable *cable) {
    while (!cable_readable(cable))
        assert_true(world_step(world));
}

// Pings, and waits for nothing but the answer.
static void ping(struct world *world, struct cable *bystander) {
    say(bystander, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hub/ping\"}");
    step_until(world, bystander);
    assert_true(bit_is(of(hear(bystander), "result"), "null"));
}

// Peers to whom something is to be sent and isn't being sent.
static unsigned unsent(const struct world *world) {
    unsigned count = 0;
    const struct peer_slots *peers = &world->shards[0]->peers;
    for (uint32_t slot = 0; slot < peers->capacity; slot++) {
        const struct peer *peer = peers->slots[slot];
        count += peer && !outbox_empty(&peer->connection.outbox) && !peer->connection.send_op;
    }
    return count;
}

static void what_goes_to_many_lets_others_pass(void **state) {
    (void)state;
    static struct world world;
    struct cable *cables[SUBSCRIBERS + 2];
    open_with_few(&world, 0);
    for (unsigned index = 0; index < SUBSCRIBERS; index++) {
        cables[index] = join(&world, NULL);
        say(cables[index],
            "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"hub/subscribe\",\"params\":{\"events\":[\"x\"]}}");
        world_settle(&world);
        hear(cables[index]);
    }
    struct cable *source = cables[SUBSCRIBERS] = join(&world, NULL);
    struct cable *bystander = cables[SUBSCRIBERS + 1] = join(&world, NULL);
    say(source, "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"event\":\"x\"}}");
    while (!unsent(&world))
        assert_true(world_step(&world));
    unsigned before = unsent(&world);
    ping(&world, bystander);
    assert_true(before > 2 && unsent(&world) > 0);
    world_settle(&world);
    for (unsigned index = 0; index < SUBSCRIBERS; index++)
        assert_true(bit_is(of(hear(cables[index]), "params.event"), "\"x\""));
    finish(&world, cables, SUBSCRIBERS + 2);
}

static void subscribe(struct world *world, struct cable *cable) {
    say(cable, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"hub/subscribe\",\"params\":{\"events\":[\"x\"]}}");
    world_settle(world);
    hear(cable);
}

// As far as something comes without time passing.
static void read_all(struct world *world, struct cable *cable) {
    uint8_t bytes[WINDOW];
    for (world_settle(world); cable_read(cable, bytes, sizeof bytes); world_settle(world)) {
    }
}

// Of two subscribers one takes its copy of an event, then answers, while the send to the other is still under way.
static void an_answer_gives_no_room_for_events(void **state) {
    (void)state;
    static struct world world;
    static char body[LARGE + 200];
    struct world_options options;
    struct turn_bounds two = FEW;
    struct cable *cables[3];
    two.fanout_direct_max = 0;
    two.fanout_sends_max = 2;
    two.fanout_bytes_max = 4 * LARGE;
    few(&options, 0);
    options.bounds = &two;
    options.faults.window_bytes = WINDOW;
    world_open(&world, &options);
    for (unsigned index = 0; index < 3; index++)
        cables[index] = join(&world, NULL);
    subscribe(&world, cables[0]);
    subscribe(&world, cables[1]);
    snprintf(body, sizeof body,
             "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"event\":\"x\",\"data\":\"%*s\"}}",
             LARGE, "");
    say(cables[2], body);
    world_settle(&world);
    assert_int_equal(world.shards[0]->fanout_sends.out, 2);
    read_all(&world, cables[0]);
    assert_int_equal(world.shards[0]->fanout_sends.out, 1);
    for (unsigned count = 0; count < 3; count++)
        ping(&world, cables[0]);
    world_settle(&world);
    assert_int_equal(world.shards[0]->fanout_sends.out, 1);
    read_all(&world, cables[1]);
    assert_int_equal(world.shards[0]->fanout_sends.out, 0);
    finish(&world, cables, 3);
}

// Each look at the clock shows that some time has passed.
static void what_one_says_at_length_is_read_in_parts(void **state) {
    (void)state;
    static struct world world;
    static char text[PINGS * 100];
    struct cable *cables[2];
    size_t bytes = 0;
    open_with_few(&world, 40000);
    cables[0] = join(&world, NULL);
    cables[1] = join(&world, NULL);
    for (unsigned count = 0; count < PINGS; count++)
        bytes += frame_of(text + bytes, "", "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"hub/ping\"}");
    assert_true(cable_write(cables[0], text, bytes));
    while (!world.shards[0]->read_fairness.waiting)
        assert_true(world_step(&world));
    ping(&world, cables[1]);
    assert_true(world.shards[0]->read_fairness.waiting > 0);
    world_settle(&world);
    assert_true(stats_read(&world.shards[0]->stats, COUNT_ARRIVALS_PUT_OFF) > 0);
    for (unsigned count = 0; count < PINGS; count++)
        assert_true(bit_is(of(hear(cables[0]), "id"), "2"));
    finish(&world, cables, 2);
}

// Says so much at once that what comes last has to wait.
static void say_pings(struct cable *cable, unsigned pings, const char *last) {
    static char text[PINGS * 100];
    size_t bytes = 0;
    assert_true(pings <= PINGS);
    for (unsigned count = 0; count < pings; count++)
        bytes += frame_of(text + bytes, "", "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"hub/ping\"}");
    assert_true(cable_write(cable, text, bytes));
    assert_true(cable_write(cable, last, strlen(last)));
}

static void say_much(struct cable *cable, const char *last) {
    say_pings(cable, PINGS, last);
}

static void hear_much(struct cable *cable) {
    for (unsigned count = 0; count < PINGS; count++)
        assert_true(bit_is(of(hear(cable), "id"), "2"));
}

static struct peer *first_peer(const struct world *world) {
    const struct peer_slots *peers = &world->shards[0]->peers;
    for (uint32_t slot = 0; slot < peers->capacity; slot++)
        if (peers->slots[slot])
            return peers->slots[slot];
    return NULL;
}

// Somebody else has the receive armed while what was received before waits to be read on.
static void the_rest_of_an_arrival_leaves_the_next_receive_alone(void **state) {
    (void)state;
    static struct world world;
    struct world_options options;
    struct cable *cable;
    unsigned armed = 0;
    few(&options, 40000);
    options.faults.end_multishot = 1000;
    world_open(&world, &options);
    cable = join(&world, NULL);
    say_much(cable, "");
    for (bool more = true; more; more = world_step(&world)) {
        struct peer *peer = first_peer(&world);
        if (!world.shards[0]->read_fairness.waiting || peer->connection.receiving != RECEIVING_NOTHING)
            continue;
        receive_go_on(world.shards[0], peer);
        armed++;
    }
    assert_true(armed > 0);
    hear_much(cable);
    finish(&world, &cable, 1);
}

// The last message waits in the hub for longer than its sender may be silent, or take for a frame.
static void who_waits_for_the_hub_is_not_late(void **state) {
    (void)state;
    static const char half[] = "Content-Length: 36\r\n\r\n{\"jsonrpc\":\"2.0\",";
    static const char rest[] = "\"method\":\"nothing\"}";
    for (unsigned frames = 0; frames < 2; frames++) {
        static struct world world;
        struct world_options options;
        struct cable *cables[2];
        few(&options, 40000);
        if (frames)
            options.limits.frame_timeout_ns = SECOND;
        else
            options.limits.idle_timeout_ns = SECOND;
        world_open(&world, &options);
        struct shard *shard = world.shards[0];
        cables[0] = join(&world, NULL);
        struct peer *peer = first_peer(&world);
        say_much(cables[0], frames ? half : "");
        while (!(frames ? peer->partial && shard->read_fairness.waiting : shard->read_fairness.waiting > 0))
            assert_true(world_step(&world));
        shard->bounds.peer_orders_max = 0; // as if it had asked for more than there may be
        world_pass(&world, (uint64_t)3 * SECOND);
        assert_false(cable_hub_closed(cables[0]));
        shard->bounds.peer_orders_max = FEW.peer_orders_max;
        cables[1] = join(&world, NULL);
        world_settle(&world);
        assert_true(!shard->read_fairness.waiting &&
                    cable_write(cables[0], frames ? rest : "", frames ? sizeof rest - 1 : 0));
        world_settle(&world);
        hear_much(cables[0]);
        assert_false(cable_hub_closed(cables[0]) || cable_readable(cables[0]));
        world_pass(&world, (uint64_t)2 * SECOND);
        assert_int_equal(cable_hub_closed(cables[0]), !frames);
        finish(&world, cables, 2);
    }
}

static void no_complaint(void *context, const struct users_fault *fault) {
    (void)context;
    fail_msg("line %u: %s", fault->line, fault->expected);
}

static const char users_text[] =
    "[user a]\ntoken = sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb\n";

// A credential that came in time waits in the hub for longer than there is to show one; so does what is none.
static void a_credential_that_waits_for_the_hub_is_not_late(void **state) {
    (void)state;
    static const struct siphash_key key = {{1, 2}};
    static const char *const said[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"initialize\",\"params\":{\"token\":\"a\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"hub/ping\"}"};
    for (unsigned which = 0; which < 2; which++) {
        static struct world world;
        struct world_options options;
        few(&options, 40000);
        struct hub_settings settings = {.limits = options.limits};
        settings.users = users_read(users_text, strlen(users_text), &key, NULL, no_complaint, NULL);
        options.settings = &settings;
        world_open(&world, &options);
        struct shard *shard = world.shards[0];
        // The turn has no time left for the last of them.
        struct cable *cables[] = {join(&world, NULL), join(&world, NULL), join(&world, NULL)};
        struct cable *cable = cables[2];
        char last[200];
        frame_of(last, "", said[which]);
        say_pings(cables[0], FEW_PINGS, "");
        say_pings(cables[1], FEW_PINGS, "");
        say_pings(cable, FEW_PINGS, last);
        while (!shard->read_fairness.waiting)
            assert_true(world_step(&world));
        assert_false(cable_readable(cable));
        shard->bounds.peer_orders_max = 0; // as if it had asked for more than there may be
        world_pass(&world, (uint64_t)11 * SECOND);
        for (unsigned count = 0; count < FEW_PINGS + which; count++)
            assert_true(bit_is(of(hear(cable), "error.code"), "-32054"));
        assert_true(which || bit_is(of(hear(cable), "result.protocolVersion"), "\"2.0.0\""));
        assert_int_equal(cable_hub_closed(cable), which);
        for (unsigned count = 0; count < 2 * FEW_PINGS; count++)
            assert_true(bit_is(of(hear(cables[count % 2]), "error.code"), "-32054"));
        finish(&world, cables, 3);
    }
}

// The last of these is the bystander. The bystander's request is at the agent.
static void ask_much(struct world *world, struct cable *cables[3]) {
    open_with_few(world, 0);
    cables[0] = join(world, "asked");
    cables[1] = join(world, NULL);
    cables[2] = join(world, NULL);
    for (unsigned count = 0; count < ASKED; count++) {
        char body[200];
        snprintf(body, sizeof body,
                 "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"agent/"
                 "request\",\"params\":{\"targetAgent\":\"asked\"}}",
                 count);
        say(cables[1], body);
    }
    world_settle(world);
    for (unsigned count = 0; count < ASKED; count++)
        assert_true(bit_is(of(hear(cables[0]), "method"), "\"agent/request\""));
    assert_int_equal(world->shards[0]->pending.count, ASKED);
}

// Until some of what was asked has ended; then others are answered before all of it has.
static void ping_meanwhile(struct world *world, struct cable *bystander) {
    const struct pending_table *pending = &world->shards[0]->pending;
    while (pending->count == ASKED)
        assert_true(world_step(world));
    ping(world, bystander);
    assert_true(pending->count > 0);
    world_settle(world);
    assert_int_equal(pending->count, 0);
}

static void what_one_who_leaves_asked_ends_in_parts(void **state) {
    (void)state;
    static struct world world;
    struct cable *cables[3];
    ask_much(&world, cables);
    cable_reset(cables[1]);
    ping_meanwhile(&world, cables[2]);
    for (unsigned count = 0; count < ASKED; count++)
        assert_true(bit_is(of(hear(cables[0]), "method"), "\"$/cancelRequest\""));
    assert_true(cable_was_reset(cables[1]) || cable_hub_closed(cables[1]));
    finish(&world, cables, 3);
}

// Nobody finds the agent while that goes on.
static void what_was_asked_of_one_who_leaves_ends_in_parts(void **state) {
    (void)state;
    static struct world world;
    struct cable *cables[3];
    ask_much(&world, cables);
    cable_reset(cables[0]);
    ping_meanwhile(&world, cables[2]);
    for (unsigned count = 0; count < ASKED; count++) {
        const char *body = hear(cables[1]);
        assert_true(bit_is(of(body, "error.code"), "-32050"));
        assert_true(bit_is(of(body, "error.data.agent"), "\"asked\""));
    }
    finish(&world, cables, 3);
}

static void registrations_are_carried_out_in_parts(void **state) {
    (void)state;
    static struct world world;
    struct cable *cables[2];
    open_with_few(&world, 30000);
    cables[0] = join(&world, NULL);
    cables[1] = join(&world, NULL);
    for (unsigned agent = 0; agent < AGENTS; agent++) {
        char body[200];
        snprintf(
            body, sizeof body,
            "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"agent/register\",\"params\":{\"agentId\":\"a%u\"}}",
            agent, agent);
        say(cables[0], body);
    }
    while (world.shards[0]->agents.count == 0)
        assert_true(world_step(&world));
    ping(&world, cables[1]);
    assert_true(world.shards[0]->agents.count < AGENTS);
    world_settle(&world);
    assert_int_equal(world.shards[0]->agents.count, AGENTS);
    for (unsigned agent = 0; agent < AGENTS; agent++)
        assert_true(bit_is(of(hear(cables[0]), "result.registered"), "true"));
    finish(&world, cables, 2);
}

// --- One that lags

enum { NOTE_BYTES = 800, NOTES = 60, SMALL = 500 };

static const struct turn_bounds LITTLE = {.read_ns = SECOND,
                                          .slice_ns = SECOND,
                                          .registry_ns = SECOND,
                                          .fanout_direct_max = 16,
                                          .fanout_sends_max = 16,
                                          .fanout_bytes_max = 100000,
                                          .fanout_wait_ns = SECOND,
                                          .fanout_ahead_bytes = 100000,
                                          .send_bytes = 4000,
                                          .lagging_bytes = 4000,
                                          .lagging_backlog_bytes = SMALL,
                                          .large_bytes = 1000000,
                                          .part_min = 1000000,
                                          .part_max = 1000000,
                                          .request_ends_max = 1000,
                                          .copies_max = 4,
                                          .peer_orders_max = 4};

static void note(struct cable *source, const char *priority, unsigned id) {
    char body[2 * NOTE_BYTES];
    snprintf(
        body, sizeof body,
        "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"agent/request\",\"params\":{\"targetAgent\":\"agent\","
        "\"priority\":\"%s\",\"x\":\"%*s\"}}",
        id, priority, NOTE_BYTES, "");
    say(source, body);
}

// The priority of the next one that comes to the agent, which reads no further.
static bool hears_high(struct world *world, struct cable *agent) {
    uint8_t bytes[3 * NOTE_BYTES];
    struct naive_frame frame;
    enum naive_result result = NAIVE_PARTIAL;
    for (size_t count = 0; result == NAIVE_PARTIAL;) {
        assert_true(count < sizeof bytes);
        if (!cable_read(agent, bytes + count, 1)) { // there is room for the rest now
            world_settle(world);
            assert_int_equal(cable_read(agent, bytes + count, 1), 1);
        }
        result = naive_frame(&frame, bytes, ++count);
    }
    assert_int_equal(result, NAIVE_WHOLE);
    world_settle(world);
    return bit_is(naive_find(frame.body, "params.priority"), "\"high\"");
}

// How many others came before it.
static unsigned heard_before_high(struct world *world, struct cable *agent) {
    unsigned count = 0;
    while (!hears_high(world, agent))
        count++;
    return count;
}

// The kernel has room for half of all that waits. The first frame that goes ahead comes behind the bytes of
// the kernel and a send. From then on only a little is ahead of the others: the kernel's small part, and
// twice that, each to its note's end.
static void who_lags_is_sent_little_at_a_time_once_something_goes_ahead(void **state) {
    (void)state;
    static struct world world;
    struct world_options options;
    struct cable *cables[2];
    world_defaults(&options, 7, 1);
    options.bounds = &LITTLE;
    options.faults.window_bytes = NOTES / 2 * NOTE_BYTES;
    world_open(&world, &options);
    cables[0] = join(&world, "agent");
    cables[1] = join(&world, NULL);
    unsigned id = 1, heard = 0, first;
    for (; id <= 2 * NOTES; id++) {
        note(cables[1], "low", id);
        world_settle(&world);
    }
    note(cables[1], "high", id++);
    first = heard_before_high(&world, cables[0]);
    assert_in_range(first, NOTES / 2 - 5, NOTES);
    for (unsigned round = 0; round < 3; round++) {
        note(cables[1], "high", id++);
        unsigned before = heard_before_high(&world, cables[0]);
        assert_true(before <=
                    (round ? 3 * SMALL / NOTE_BYTES + 3 : NOTES / 2 + 5)); // what the kernel had goes first
        heard += before;
    }
    char cancel[128];
    unsigned last = 2 * NOTES;
    snprintf(cancel, sizeof cancel,
             "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":%u}}", last);
    say(cables[1], cancel);
    world_settle(&world);
    const char *answer = hear(cables[1]);
    assert_int_equal(bit_integer(of(answer, "error.code")), -32800);
    assert_int_equal(bit_integer(of(answer, "id")), last);
    for (unsigned left = 2 * NOTES - 1 - first - heard; left > 0; left--)
        assert_false(hears_high(&world, cables[0]));
    world_settle(&world);
    assert_int_equal(cable_readable(cables[0]), 0);
    cable_close(cables[0]); // which answers none of them
    read_all(&world, cables[1]);
    finish(&world, &cables[1], 1);
}

// --- More that flood than there are receive buffers

enum { FLOODERS = 40, ASKERS = 4, ROUNDS = 500 };
// In 6 turns the 44 peers can have had one of the 8 buffers each. If all peers could take several, 25 turns and more
// pass.
enum { WAIT_TURNS_MAX = 16 };

// A peer that asks again as soon as it is answered.
struct asker {
    struct cable *cable;
    unsigned since, answers;
};

// Writes until the flooder's next two arrivals are full.
static void flood(struct cable *cable) {
    static char text[4 * ARRIVAL_BYTES_MAX];
    static size_t bytes;
    char body[2000];
    snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"method\":\"nobody\",\"params\":{\"x\":\"%*s\"}}",
             1900, "");
    while (bytes < 2 * ARRIVAL_BYTES_MAX)
        bytes += frame_of(text + bytes, "", body);
    if (cable_unread(cable) < 2 * ARRIVAL_BYTES_MAX)
        assert_true(cable_write(cable, text, bytes));
}

// The kernel receives as much as the hub lets it, then the hub has a turn.
static void take_turn(struct world *world) {
    uint64_t before = stats_read(&world->shards[0]->stats, COUNT_TURNS);
    while (kernel_step(world->kernel)) {
    }
    while (stats_read(&world->shards[0]->stats, COUNT_TURNS) == before)
        assert_true(world_step(world));
}

// Returns for how many turns the asker has waited, and has it ask if it doesn't wait.
static unsigned ask_on(struct asker *asker, unsigned turn) {
    static const char ping[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hub/ping\"}";
    unsigned waited = turn - asker->since;
    if (asker->answers && !cable_readable(asker->cable))
        return waited;
    if (asker->answers)
        assert_true(bit_is(of(hear(asker->cable), "result"), "null"));
    say(asker->cable, ping);
    asker->since = turn;
    asker->answers++;
    return waited;
}

// Peers that ask little get a receive buffer within a few turns, although peers that never pause take all there are.
static void floods_leave_buffers_for_others(void **state) {
    (void)state;
    for (unsigned seed = 1; seed <= 6; seed++) {
        static struct world world;
        struct world_options options;
        struct cable *cables[FLOODERS + ASKERS];
        struct asker askers[ASKERS] = {{NULL}};
        unsigned longest = 0;
        world_defaults(&options, seed, 1);
        options.limits.memory_bytes_max = 2 * limits_memory_bytes_least(1) - 1;
        options.faults.work_ns = seed % 2 ? 40000 : 0;
        world_open(&world, &options);
        assert_in_range(shard_buffers_now(world.shards[0]), 1, FLOODERS / 4);
        for (unsigned index = 0; index < FLOODERS + ASKERS; index++)
            cables[index] = join(&world, NULL);
        for (unsigned turn = 0; turn < ROUNDS; turn++) {
            for (unsigned index = 0; index < FLOODERS; index++)
                flood(cables[index]);
            for (unsigned index = 0; index < ASKERS; index++) {
                askers[index].cable = cables[FLOODERS + index];
                unsigned waited = ask_on(&askers[index], turn);
                longest = waited > longest ? waited : longest;
            }
            take_turn(&world);
        }
        assert_in_range(longest, 1, WAIT_TURNS_MAX);
        world_settle(&world);
        for (unsigned index = 0; index < ASKERS; index++)
            hear(askers[index].cable);
        finish(&world, cables, FLOODERS + ASKERS);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_to_many_lets_others_pass),
        cmocka_unit_test(an_answer_gives_no_room_for_events),
        cmocka_unit_test(what_one_says_at_length_is_read_in_parts),
        cmocka_unit_test(the_rest_of_an_arrival_leaves_the_next_receive_alone),
        cmocka_unit_test(who_waits_for_the_hub_is_not_late),
        cmocka_unit_test(a_credential_that_waits_for_the_hub_is_not_late),
        cmocka_unit_test(what_one_who_leaves_asked_ends_in_parts),
        cmocka_unit_test(what_was_asked_of_one_who_leaves_ends_in_parts),
        cmocka_unit_test(registrations_are_carried_out_in_parts),
        cmocka_unit_test(who_lags_is_sent_little_at_a_time_once_something_goes_ahead),
        cmocka_unit_test(floods_leave_buffers_for_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
