// The wall clock is set forward and back, and goes on while the machine sleeps. Each time that the hub tells is one
// that the clock showed at that moment.
#include "core/base/text.h"
#include "tests/sim/journaled.h"

static const int64_t STEPS_MS[] = {1, 3600000, -7200000, 86400000, -1, -90000000};
enum { STEPS_COUNT = sizeof STEPS_MS / sizeof *STEPS_MS };

// The line's time is the wall clock's now.
static void line_is_of_now(const struct world *world, unsigned line) {
    char text[TIMESTAMP_BYTES + 3] = "\"";
    timestamp_write(text + 1, kernel_wall_ms(world->kernel));
    text[TIMESTAMP_BYTES + 1] = '"';
    assert_true(line_is(world, 0, line, "time", text));
}

static void an_entry_bears_the_time_that_it_is(void **state) {
    (void)state;
    for (uint32_t shards = 1; shards <= WORLD_SHARDS_MAX; shards++) {
        struct world world;
        open_hub(&world, shards, NULL);
        struct cable *cables[] = {join(&world, "one"), join(&world, "two"), join(&world, "three")};
        for (unsigned step = 0; step < STEPS_COUNT; step++) {
            kernel_step_wall(world.kernel, STEPS_MS[step]);
            world_pass(&world, SECOND / 4);
            log_as(cables[step % 3], "7", "act");
            world_settle(&world);
            hear_logged(cables[step % 3], "7");
            line_is_of_now(&world, step);
        }
        finish(&world, cables, 3);
    }
}

// The line was begun before.
static void an_outcome_bears_the_time_of_the_end(void **state) {
    (void)state;
    struct world world;
    open_hub(&world, 2, NULL);
    struct cable *human = join(&world, "human"), *source = join(&world, "source");
    say(source,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"governance/approval\",\"params\":{\"checkpoint\":\"c\","
        "\"artifact\":{},\"decision\":\"approved\",\"approver\":\"human\"}}");
    world_settle(&world);
    line_is_of_now(&world, 0);
    kernel_step_wall(world.kernel, -STEPS_MS[1]);
    struct bit id = of(hear(human), "id");
    char body[128];
    snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{}}", (int)id.count,
             (const char *)id.bytes);
    say(human, body);
    world_settle(&world);
    assert_true(line_is(&world, 0, 1, "kind", "\"outcome\""));
    line_is_of_now(&world, 1);
    hear(source);
    struct cable *cables[] = {human, source};
    finish(&world, cables, 2);
}

// Returns the time that hub/agents tells of one of them.
static uint64_t since(struct world *world, struct cable *cable, unsigned which) {
    struct naive_item item = {0};
    size_t at = 0;
    say(cable, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hub/agents\"}");
    world_settle(world);
    struct bit agents = of(hear(cable), "result.agents");
    for (unsigned agent = 0; agent <= which; agent++)
        assert_true(naive_next(agents, &at, &item));
    return bit_number(naive_find(item.value, "connectedSince"));
}

// The time stays, however the clock is set after that, and when the connection registers the agent again.
static void connected_since_is_the_time_of_the_registration(void **state) {
    (void)state;
    for (uint32_t shards = 1; shards <= WORLD_SHARDS_MAX; shards++) {
        struct world world;
        open_hub(&world, shards, NULL);
        struct cable *cables[STEPS_COUNT];
        uint64_t came_ms[STEPS_COUNT];
        for (unsigned step = 0; step < STEPS_COUNT; step++) {
            char name[] = {(char)('a' + step), '\0'};
            kernel_step_wall(world.kernel, STEPS_MS[step]);
            world_pass(&world, SECOND / 4);
            came_ms[step] = kernel_wall_ms(world.kernel);
            cables[step] = join(&world, name);
            for (unsigned agent = 0; agent <= step; agent++)
                assert_int_equal(since(&world, cables[step], agent), came_ms[agent]);
        }
        say(cables[0],
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"agent/register\",\"params\":{\"agentId\":\"a\"}}");
        world_settle(&world);
        hear(cables[0]);
        assert_int_equal(since(&world, cables[0], STEPS_COUNT - 1), came_ms[0]); // the last one to register
        finish(&world, cables, STEPS_COUNT);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entry_bears_the_time_that_it_is),
        cmocka_unit_test(an_outcome_bears_the_time_of_the_end),
        cmocka_unit_test(connected_since_is_the_time_of_the_registration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
