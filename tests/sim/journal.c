// The audit journal on the simulated disk: what enters it, what is answered and when, and how approvals end.
#include "tests/sim/journaled.h"

#include <signal.h>

static void an_answer_means_that_it_is_on_disk(void **state) {
    (void)state;
    for (uint32_t shards = 1; shards <= WORLD_SHARDS_MAX; shards++) {
        struct world world;
        open_hub(&world, shards, NULL);
        struct cable *cables[] = {join(&world, "one"), join(&world, "two"), join(&world, NULL)};
        disk_hold(world.kernel, true);
        for (unsigned index = 0; index < 3; index++)
            log_as(cables[index], "7", "act");
        world_settle(&world);
        for (unsigned index = 0; index < 3; index++)
            assert_int_equal(cable_readable(cables[index]), 0);
        disk_hold(world.kernel, false);
        world_settle(&world);
        for (unsigned index = 0; index < 3; index++)
            hear_logged(cables[index], "7");
        for (unsigned line = 0; line < 3; line++) {
            assert_true(line_is(&world, 0, line, "kind", "\"audit\""));
            assert_true(line_is(&world, 0, line, "target", "null"));
            assert_true(line_is(&world, 0, line, "entry.action", "\"act\""));
        }
        assert_null(line_of(&world, 0, 3).bytes);
        finish(&world, cables, 3);
    }
}

// Entries that come while the disk works are one group, in order.
static void what_waits_is_one_group(void **state) {
    (void)state;
    struct world world;
    open_hub(&world, 2, NULL);
    struct cable *cables[] = {join(&world, "one"), join(&world, "two")};
    disk_hold(world.kernel, true);
    log_as(cables[0], "0", "first");
    world_settle(&world);
    char text[32];
    for (unsigned step = 1; step < 40; step++)
        for (unsigned index = 0; index < 2; index++) {
            snprintf(text, sizeof text, "%u", step);
            log_as(cables[index], text, text);
            world_settle(&world);
        }
    disk_hold(world.kernel, false);
    world_settle(&world);
    assert_int_equal(counted(&world, COUNT_JOURNAL_GROUPS), 2);
    assert_int_equal(counted(&world, COUNT_JOURNAL_ENTRIES), 79);
    hear_logged(cables[0], "0");
    unsigned last[2] = {0};
    for (unsigned line = 1; line < 79; line++) {
        unsigned which = line_is(&world, 0, line, "source.agents", "[\"two\"]");
        snprintf(text, sizeof text, "\"%u\"", ++last[which]);
        assert_true(line_is(&world, 0, line, "entry.action", text));
    }
    for (unsigned step = 1; step < 40; step++)
        for (unsigned index = 0; index < 2; index++) {
            snprintf(text, sizeof text, "%u", step);
            hear_logged(cables[index], text);
        }
    finish(&world, cables, 2);
}

static void half_closed_source_hears_of_its_entry(void **state) {
    (void)state;
    for (uint32_t shards = 1; shards <= WORLD_SHARDS_MAX; shards++) {
        struct world world;
        open_hub(&world, shards, NULL);
        struct cable *idle = join(&world, NULL), *cable = world_dial(&world);
        disk_hold(world.kernel, true);
        log_as(cable, "1", "last words");
        cable_shut(cable);
        world_settle(&world);
        assert_false(cable_at_end(cable));
        disk_hold(world.kernel, false);
        world_settle(&world);
        hear_logged(cable, "1");
        assert_true(cable_at_end(cable));
        cable_close(cable);
        finish(&world, &idle, 1);
    }
}

static void a_drain_waits_for_the_disk(void **state) {
    (void)state;
    struct world world;
    open_hub(&world, 2, NULL);
    struct cable *cables[] = {join(&world, NULL), join(&world, NULL)};
    disk_hold(world.kernel, true);
    log_as(cables[0], "1", "one");
    log_as(cables[1], "2", "two");
    world_settle(&world);
    kernel_signal(world.kernel, SIGTERM);
    world_settle(&world);
    assert_false(cable_at_end(cables[0]) || cable_at_end(cables[1]));
    disk_hold(world.kernel, false);
    world_settle(&world);
    hear_logged(cables[0], "1");
    hear_logged(cables[1], "2");
    finish(&world, cables, 2);
}

// Entries that nobody waits for are written too when the hub ends first.
static void a_source_that_has_gone_is_still_on_record(void **state) {
    (void)state;
    struct world world;
    open_hub(&world, 2, NULL);
    struct cable *cables[] = {join(&world, NULL), join(&world, NULL)};
    disk_hold(world.kernel, true);
    log_as(cables[0], "1", "one");
    log_as(cables[1], "2", "two");
    world_settle(&world);
    cable_close(cables[0]);
    cable_reset(cables[1]);
    cable_close(cables[1]);
    world_settle(&world);
    disk_hold(world.kernel, false);
    finish(&world, NULL, 0);
}

static void past_the_bound_it_is_refused(void **state) {
    (void)state;
    struct world world;
    struct world_options options;
    world_defaults(&options, 7, 2);
    options.journal = "journal";
    options.limits.journal_bytes_max = 1;
    world_open(&world, &options);
    struct cable *cables[] = {join(&world, NULL), join(&world, NULL)};
    disk_hold(world.kernel, true);
    log_as(cables[0], "1", "in");
    world_settle(&world);
    for (unsigned index = 0; index < 2; index++) {
        log_as(cables[index], "2", "out");
        world_settle(&world);
        hear_failed(cables[index], "2", "\"the journal's queue is full\"");
    }
    disk_hold(world.kernel, false);
    world_settle(&world);
    hear_logged(cables[0], "1");
    assert_int_equal(counted(&world, COUNT_JOURNAL_REFUSED), 2);
    assert_null(line_of(&world, 0, 1).bytes);
    finish(&world, cables, 2);
}

static void a_batch_is_answered_as_one(void **state) {
    (void)state;
    struct world world;
    open_hub(&world, 2, NULL);
    struct cable *cables[] = {join(&world, NULL), join(&world, NULL)};
    char body[1024];
    snprintf(body, sizeof body,
             "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"audit/log\",\"params\":{\"action\":\"a\",%s}},"
             "{\"jsonrpc\":\"2.0\",\"method\":\"audit/log\",\"params\":{\"action\":\"b\",%s}},"
             "{\"jsonrpc\":\"2.0\",\"method\":\"audit/log\",\"params\":{\"action\":\"c\"}}]",
             FIELDS, FIELDS);
    say(cables[1], body);
    cable_shut(cables[1]);
    world_settle(&world);
    assert_string_equal(hear(cables[1]), "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"logged\":true}}]");
    assert_true(line_is(&world, 0, 1, "entry.action", "\"b\""));
    assert_null(line_of(&world, 0, 2).bytes);
    finish(&world, cables, 2);
}

// --- Approvals

static void approve(struct cable *cable, const char *fields, const char *head) {
    char body[512], text[1024];
    snprintf(body, sizeof body,
             "{\"jsonrpc\":\"2.0\",%s\"method\":\"governance/approval\",\"params\":{\"checkpoint\":\"c\","
             "\"artifact\":{},\"decision\":\"approved\",\"approver\":%s}}",
             head, fields);
    assert_true(cable_write(cable, text, frame_of(text, "Custom-Timeout-Ms: 250\r\n", body)));
}

static void answer_with(struct cable *cable, const char *member) {
    char body[512];
    struct bit id = of(hear(cable), "id");
    snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,%s}", (int)id.count, (const char *)id.bytes,
             member);
    say(cable, body);
}

// The approval and its outcome are two lines that bear the same number; both name source and target.
static void ends(const struct world *world, unsigned line, const char *outcome, const char *code) {
    struct bit asked = line_of(world, 0, line), ended = line_of(world, 0, line + 1);
    assert_true(bit_is(naive_find(asked, "kind"), "\"approval\""));
    assert_true(bit_is(naive_find(asked, "entry.checkpoint"), "\"c\""));
    assert_true(bit_is(naive_find(ended, "kind"), "\"outcome\""));
    assert_true(bit_number(naive_find(asked, "request")) < UINT64_C(1) << 53);
    assert_true(bit_equal(naive_find(asked, "request"), naive_find(ended, "request")));
    assert_true(bit_equal(naive_find(asked, "source"), naive_find(ended, "source")));
    assert_true(bit_is(naive_find(ended, "target"), "\"human\""));
    assert_true(bit_is(naive_find(ended, "outcome"), outcome));
    struct bit said = naive_find(ended, "code");
    assert_true(code ? bit_is(said, code) : !said.bytes);
}

static void each_end_of_an_approval_is_told(void **state) {
    (void)state;
    for (uint32_t shards = 1; shards <= 2; shards++) {
        struct world world;
        open_hub(&world, shards, NULL);
        struct cable *human = join(&world, "human"), *source = join(&world, "source");
        approve(source, "\"human\"", "\"id\":1,");
        world_settle(&world);
        answer_with(human, "\"result\":{},\"error\":null");
        world_settle(&world);
        ends(&world, 0, "\"result\"", NULL);
        assert_null(naive_find(line_of(&world, 0, 1), "result").bytes); // it says both
        assert_true(naive_find(line_of(&world, 0, 1), "fault").bytes != NULL);
        approve(source, "\"human\"", "\"id\":2,");
        world_settle(&world);
        answer_with(human, "\"error\":{\"code\":-1,\"message\":\"no\"}");
        world_settle(&world);
        ends(&world, 2, "\"error\"", NULL);
        assert_true(bit_is(naive_find(line_of(&world, 0, 3), "error"), "{\"code\":-1,\"message\":\"no\"}"));
        approve(source, "\"human\"", "\"id\":3,");
        world_pass(&world, SECOND);
        ends(&world, 4, "\"failed\"", "-32051");
        approve(source, "\"human\"", "");
        approve(source, "\"nobody\"", "\"id\":4,");
        world_settle(&world);
        assert_true(line_is(&world, 0, 6, "outcome", "\"forwarded\""));
        assert_null(naive_find(line_of(&world, 0, 6), "request").bytes);
        assert_true(line_is(&world, 0, 7, "outcome", "\"refused\""));
        assert_true(line_is(&world, 0, 7, "code", "-32601"));
        approve(source, "\"human\"", "\"id\":5,");
        world_settle(&world);
        cable_close(source);
        world_settle(&world);
        ends(&world, 8, "\"source left\"", NULL);
        source = join(&world, "source");
        approve(source, "\"human\"", "\"id\":6,");
        world_settle(&world);
        cable_close(human);
        world_settle(&world);
        ends(&world, 10, "\"failed\"", "-32050");
        assert_null(line_of(&world, 0, 12).bytes);
        for (char rest[4096]; cable_read(source, rest, sizeof rest);)
            continue;
        finish(&world, &source, 1);
    }
}

// The outcomes of what was let in can't be refused; where the queue is full they come without the answer.
static void past_the_bound_an_outcome_has_no_answer(void **state) {
    (void)state;
    struct world world;
    struct world_options options;
    world_defaults(&options, 7, 2);
    options.journal = "journal";
    options.limits.journal_bytes_max = 1;
    world_open(&world, &options);
    struct cable *human = join(&world, "human"), *source = join(&world, NULL);
    approve(source, "\"human\"", "\"id\":1,");
    world_settle(&world);
    disk_hold(world.kernel, true);
    log_as(source, "2", "fills it");
    world_settle(&world);
    answer_with(human, "\"result\":{\"big\":[1,2,3]}");
    world_settle(&world);
    hear(source);
    disk_hold(world.kernel, false);
    world_settle(&world);
    hear_logged(source, "2");
    struct bit line = line_of(&world, 0, 2);
    assert_true(bit_is(naive_find(line, "outcome"), "\"result\""));
    assert_true(bit_is(naive_find(line, "fault"), "\"the journal's queue is full\""));
    assert_true(bit_number(naive_find(line, "bytes")) > strlen("{\"big\":[1,2,3]}"));
    assert_null(naive_find(line, "result").bytes);
    finish(&world, (struct cable *[]){human, source}, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_means_that_it_is_on_disk),
        cmocka_unit_test(what_waits_is_one_group),
        cmocka_unit_test(half_closed_source_hears_of_its_entry),
        cmocka_unit_test(a_drain_waits_for_the_disk),
        cmocka_unit_test(a_source_that_has_gone_is_still_on_record),
        cmocka_unit_test(past_the_bound_it_is_refused),
        cmocka_unit_test(a_batch_is_answered_as_one),
        cmocka_unit_test(past_the_bound_an_outcome_has_no_answer),
        cmocka_unit_test(each_end_of_an_approval_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
