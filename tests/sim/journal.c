// The audit journal on the simulated disk: what is answered is on disk, what fails is not, and no line is
// torn.
#include "tests/sim/tell.h"

#include <signal.h>

static const char *const FIELDS = "\"actor\":\"me\",\"timestamp\":\"now\"";

static void open_hub(struct world *world, uint32_t shard_count, const struct sim_faults *faults) {
    struct world_options options;
    world_defaults(&options, 7, shard_count);
    options.journal = "journal";
    if (faults)
        options.faults = *faults;
    world_open(world, &options);
}

static void log_as(struct wire *wire, const char *id, const char *action) {
    char body[512];
    snprintf(body, sizeof body,
             "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"audit/log\",\"params\":{\"action\":\"%s\",%s}}", id,
             action, FIELDS);
    say(wire, body);
}

static void hear_logged(struct wire *wire, const char *id) {
    const char *answer = hear(wire);
    assert_true(bit_is(of(answer, "id"), id));
    assert_true(bit_is(of(answer, "result.logged"), "true"));
}

static void hear_failed(struct wire *wire, const char *id, const char *fault) {
    const char *answer = hear(wire);
    assert_true(bit_is(of(answer, "id"), id));
    assert_int_equal(bit_integer(of(answer, "error.code")), -32003);
    assert_true(bit_is(of(answer, "error.data.fault"), fault));
}

static uint64_t counted(const struct world *world, enum counter counter) {
    uint64_t sum = 0;
    for (uint32_t shard = 0; shard < world->shard_count; shard++)
        sum += stats_read(&world->shards[shard]->stats, counter);
    return sum;
}

// The n-th line of a file; no line: `bytes` is NULL.
static struct bit line_of(const struct world *world, uint32_t file, unsigned number) {
    size_t count = 0, synced;
    const uint8_t *bytes = disk_file(world->kernel, file, &count, &synced), *end = bytes + count;
    for (; bytes && bytes < end; number--) {
        const uint8_t *line_end = memchr(bytes, '\n', (size_t)(end - bytes));
        line_end = line_end ? line_end : end;
        if (number == 0)
            return (struct bit){bytes, (size_t)(line_end - bytes)};
        bytes = line_end + 1;
    }
    return (struct bit){0};
}

static bool line_is(const struct world *world, uint32_t file, unsigned number, const char *path,
                    const char *value) {
    return bit_is(naive_find(line_of(world, file, number), path), value);
}

static void an_answer_means_that_it_is_on_disk(void **state) {
    (void)state;
    for (uint32_t shards = 1; shards <= WORLD_SHARDS_MAX; shards++) {
        struct world world;
        open_hub(&world, shards, NULL);
        struct wire *wires[] = {join(&world, "one"), join(&world, "two"), join(&world, NULL)};
        disk_hold(world.kernel, true);
        for (unsigned index = 0; index < 3; index++)
            log_as(wires[index], "7", "act");
        world_settle(&world);
        for (unsigned index = 0; index < 3; index++)
            assert_int_equal(wire_readable(wires[index]), 0);
        disk_hold(world.kernel, false);
        world_settle(&world);
        for (unsigned index = 0; index < 3; index++)
            hear_logged(wires[index], "7");
        for (unsigned line = 0; line < 3; line++) {
            assert_true(line_is(&world, 0, line, "kind", "\"audit\""));
            assert_true(line_is(&world, 0, line, "target", "null"));
            assert_true(line_is(&world, 0, line, "entry.action", "\"act\""));
        }
        assert_null(line_of(&world, 0, 3).bytes);
        finish(&world, wires, 3);
    }
}

// What comes while the disk works is one group, in order.
static void what_waits_is_one_group(void **state) {
    (void)state;
    struct world world;
    open_hub(&world, 2, NULL);
    struct wire *wires[] = {join(&world, "one"), join(&world, "two")};
    disk_hold(world.kernel, true);
    log_as(wires[0], "0", "first");
    world_settle(&world);
    char text[32];
    for (unsigned step = 1; step < 40; step++)
        for (unsigned index = 0; index < 2; index++) {
            snprintf(text, sizeof text, "%u", step);
            log_as(wires[index], text, text);
            world_settle(&world);
        }
    disk_hold(world.kernel, false);
    world_settle(&world);
    assert_int_equal(counted(&world, COUNT_JOURNAL_GROUPS), 2);
    assert_int_equal(counted(&world, COUNT_JOURNAL_ENTRIES), 79);
    hear_logged(wires[0], "0");
    unsigned last[2] = {0};
    for (unsigned line = 1; line < 79; line++) {
        unsigned which = line_is(&world, 0, line, "source.agents", "[\"two\"]");
        snprintf(text, sizeof text, "\"%u\"", ++last[which]);
        assert_true(line_is(&world, 0, line, "entry.action", text));
    }
    for (unsigned step = 1; step < 40; step++)
        for (unsigned index = 0; index < 2; index++) {
            snprintf(text, sizeof text, "%u", step);
            hear_logged(wires[index], text);
        }
    finish(&world, wires, 2);
}

// A full disk takes a part of a group; that part goes again.
static void a_full_disk_fails_the_group_and_no_more(void **state) {
    (void)state;
    struct world world;
    open_hub(&world, 2, NULL);
    struct wire *wires[] = {join(&world, NULL), join(&world, NULL)};
    log_as(wires[0], "1", "good");
    world_settle(&world);
    hear_logged(wires[0], "1");
    size_t line, synced;
    disk_file(world.kernel, 0, &line, &synced);
    disk_hold(world.kernel, true);
    log_as(wires[0], "2", "good");
    world_settle(&world);
    log_as(wires[0], "3", "bad!");
    log_as(wires[1], "4", "bad!");
    world_settle(&world);
    disk_hold(world.kernel, false);
    disk_room(world.kernel, line + line / 2);
    world_settle(&world);
    hear_logged(wires[0], "2");
    hear_failed(wires[0], "3", "\"No space left on device\"");
    hear_failed(wires[1], "4", "\"No space left on device\"");
    assert_null(line_of(&world, 0, 2).bytes);
    disk_room(world.kernel, SIZE_MAX);
    log_as(wires[1], "\"5\"", "good again");
    world_settle(&world);
    hear_logged(wires[1], "\"5\"");
    assert_true(line_is(&world, 0, 2, "entry.action", "\"good again\""));
    assert_int_equal(counted(&world, COUNT_JOURNAL_ENTRIES), 3);
    assert_int_equal(counted(&world, COUNT_JOURNAL_FAILED), 2);
    finish(&world, wires, 2);
}

// Where what was written can't be taken back, the next line begins on a new one.
static void no_line_is_glued_to_a_torn_one(void **state) {
    (void)state;
    struct world world;
    open_hub(&world, 1, &(struct sim_faults){.file_stuck = 1000});
    struct wire *wire = join(&world, NULL);
    disk_room(world.kernel, 20);
    log_as(wire, "1", "torn");
    world_settle(&world);
    hear_failed(wire, "1", "\"No space left on device\"");
    assert_int_equal(line_of(&world, 0, 0).count, 20);
    disk_room(world.kernel, SIZE_MAX);
    log_as(wire, "2", "whole");
    log_as(wire, "3", "whole");
    world_settle(&world);
    hear_logged(wire, "2");
    hear_logged(wire, "3");
    assert_int_equal(counted(&world, COUNT_JOURNAL_CUT_FAILED), 1);
    assert_int_equal(line_of(&world, 0, 0).count, 20);
    for (unsigned line = 1; line < 3; line++)
        assert_true(line_is(&world, 0, line, "entry.action", "\"whole\""));
    assert_null(line_of(&world, 0, 3).bytes);
    finish(&world, &wire, 1);
}

static void a_renamed_file_gets_no_more(void **state) {
    (void)state;
    struct world world;
    open_hub(&world, 2, NULL);
    struct wire *wires[] = {join(&world, NULL), join(&world, NULL)};
    disk_hold(world.kernel, true);
    log_as(wires[0], "1", "old");
    world_settle(&world);
    disk_rename(world.kernel);
    kernel_signal(world.kernel, SIGHUP);
    world_settle(&world);
    log_as(wires[1], "2", "new");
    world_settle(&world);
    disk_hold(world.kernel, false);
    world_settle(&world);
    hear_logged(wires[0], "1");
    hear_logged(wires[1], "2");
    assert_true(line_is(&world, 0, 0, "entry.action", "\"old\""));
    assert_true(line_is(&world, 1, 0, "entry.action", "\"new\""));
    assert_null(line_of(&world, 0, 1).bytes);
    assert_null(line_of(&world, 1, 1).bytes);
    // With nothing under way it is done at once; where it can't be done, the old file goes on.
    disk_refuse(world.kernel, true);
    kernel_signal(world.kernel, SIGHUP);
    world_settle(&world);
    log_as(wires[0], "3", "still");
    world_settle(&world);
    hear_logged(wires[0], "3");
    assert_true(line_is(&world, 1, 1, "entry.action", "\"still\""));
    assert_int_equal(counted(&world, COUNT_JOURNAL_REOPENED), 1);
    assert_int_equal(counted(&world, COUNT_JOURNAL_REOPEN_FAILED), 1);
    finish(&world, wires, 2);
}

static void half_closed_source_hears_of_its_entry(void **state) {
    (void)state;
    for (uint32_t shards = 1; shards <= WORLD_SHARDS_MAX; shards++) {
        struct world world;
        open_hub(&world, shards, NULL);
        struct wire *idle = join(&world, NULL), *wire = world_dial(&world);
        disk_hold(world.kernel, true);
        log_as(wire, "1", "last words");
        wire_shut(wire);
        world_settle(&world);
        assert_false(wire_at_end(wire));
        disk_hold(world.kernel, false);
        world_settle(&world);
        hear_logged(wire, "1");
        assert_true(wire_at_end(wire));
        wire_close(wire);
        finish(&world, &idle, 1);
    }
}

static void a_drain_waits_for_the_disk(void **state) {
    (void)state;
    struct world world;
    open_hub(&world, 2, NULL);
    struct wire *wires[] = {join(&world, NULL), join(&world, NULL)};
    disk_hold(world.kernel, true);
    log_as(wires[0], "1", "one");
    log_as(wires[1], "2", "two");
    world_settle(&world);
    kernel_signal(world.kernel, SIGTERM);
    world_settle(&world);
    assert_false(wire_at_end(wires[0]) || wire_at_end(wires[1]));
    disk_hold(world.kernel, false);
    world_settle(&world);
    hear_logged(wires[0], "1");
    hear_logged(wires[1], "2");
    finish(&world, wires, 2);
}

// Entries that nobody waits for are written too when the hub ends first.
static void a_source_that_has_gone_is_still_on_record(void **state) {
    (void)state;
    struct world world;
    open_hub(&world, 2, NULL);
    struct wire *wires[] = {join(&world, NULL), join(&world, NULL)};
    disk_hold(world.kernel, true);
    log_as(wires[0], "1", "one");
    log_as(wires[1], "2", "two");
    world_settle(&world);
    wire_close(wires[0]);
    wire_reset(wires[1]);
    wire_close(wires[1]);
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
    struct wire *wires[] = {join(&world, NULL), join(&world, NULL)};
    disk_hold(world.kernel, true);
    log_as(wires[0], "1", "in");
    world_settle(&world);
    for (unsigned index = 0; index < 2; index++) {
        log_as(wires[index], "2", "out");
        world_settle(&world);
        hear_failed(wires[index], "2", "\"the journal's queue is full\"");
    }
    disk_hold(world.kernel, false);
    world_settle(&world);
    hear_logged(wires[0], "1");
    assert_int_equal(counted(&world, COUNT_JOURNAL_REFUSED), 2);
    assert_null(line_of(&world, 0, 1).bytes);
    finish(&world, wires, 2);
}

static void a_batch_is_answered_as_one(void **state) {
    (void)state;
    struct world world;
    open_hub(&world, 2, NULL);
    struct wire *wires[] = {join(&world, NULL), join(&world, NULL)};
    char body[1024];
    snprintf(body, sizeof body,
             "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"audit/log\",\"params\":{\"action\":\"a\",%s}},"
             "{\"jsonrpc\":\"2.0\",\"method\":\"audit/log\",\"params\":{\"action\":\"b\",%s}},"
             "{\"jsonrpc\":\"2.0\",\"method\":\"audit/log\",\"params\":{\"action\":\"c\"}}]",
             FIELDS, FIELDS);
    say(wires[1], body);
    wire_shut(wires[1]);
    world_settle(&world);
    assert_string_equal(hear(wires[1]), "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"logged\":true}}]");
    assert_true(line_is(&world, 0, 1, "entry.action", "\"b\""));
    assert_null(line_of(&world, 0, 2).bytes);
    finish(&world, wires, 2);
}

// --- Approvals

static void approve(struct wire *wire, const char *fields, const char *head) {
    char body[512], text[1024];
    snprintf(body, sizeof body,
             "{\"jsonrpc\":\"2.0\",%s\"method\":\"governance/approval\",\"params\":{\"checkpoint\":\"c\","
             "\"artifact\":{},\"decision\":\"approved\",\"approver\":%s}}",
             head, fields);
    assert_true(wire_write(wire, text, frame_of(text, "Custom-Timeout-Ms: 250\r\n", body)));
}

static void answer_with(struct wire *wire, const char *member) {
    char body[512];
    struct bit id = of(hear(wire), "id");
    snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,%s}", (int)id.count, (const char *)id.bytes,
             member);
    say(wire, body);
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
        struct wire *human = join(&world, "human"), *source = join(&world, "source");
        approve(source, "\"human\"", "\"id\":1,");
        world_settle(&world);
        answer_with(human, "\"result\":{},\"error\":null");
        world_settle(&world);
        ends(&world, 0, "\"result\"", NULL);
        approve(source, "\"human\"", "\"id\":2,");
        world_settle(&world);
        answer_with(human, "\"error\":{\"code\":-1,\"message\":\"no\"}");
        world_settle(&world);
        ends(&world, 2, "\"error\"", NULL);
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
        wire_close(source);
        world_settle(&world);
        ends(&world, 8, "\"source left\"", NULL);
        source = join(&world, "source");
        approve(source, "\"human\"", "\"id\":6,");
        world_settle(&world);
        wire_close(human);
        world_settle(&world);
        ends(&world, 10, "\"failed\"", "-32050");
        assert_null(line_of(&world, 0, 12).bytes);
        for (char rest[4096]; wire_read(source, rest, sizeof rest);)
            continue;
        finish(&world, &source, 1);
    }
}

// --- Faults

enum { SOURCES = 5, ENTRIES = 60 };

// Which entries are in the files; none is there twice.
static void read_entries(const struct world *world, bool found[SOURCES][ENTRIES]) {
    for (uint32_t file = 0; file < 2; file++) {
        size_t count = 0, synced;
        const uint8_t *at = disk_file(world->kernel, file, &count, &synced), *end = at + count;
        while (at && at < end) {
            const uint8_t *line_end = memchr(at, '\n', (size_t)(end - at));
            unsigned source, entry;
            struct bit action = naive_find((struct bit){at, (size_t)(line_end - at)}, "entry.action");
            assert_int_equal(sscanf((const char *)action.bytes, "\"%u-%u\"", &source, &entry), 2);
            assert_false(found[source][entry]);
            found[source][entry] = true;
            at = line_end + 1;
        }
    }
}

// Whatever the disk does: an entry is on disk exactly when its source was told so.
static void play(uint64_t seed) {
    struct world_options options;
    struct world world;
    world_defaults(&options, seed, 1 + (uint32_t)(seed % WORLD_SHARDS_MAX));
    options.journal = "journal";
    options.faults.file_short = seed % 2 ? 300 : 0;
    options.faults.file_error = 30 * (uint16_t)(seed % 4);
    options.faults.interrupt = seed % 3 ? 0 : 100;
    options.faults.late = 200;
    world_open(&world, &options);
    struct wire *wires[SOURCES];
    for (unsigned source = 0; source < SOURCES; source++)
        wires[source] = join(&world, NULL);
    for (unsigned entry = 0; entry < ENTRIES; entry++) {
        char action[32], id[32];
        snprintf(id, sizeof id, "%u", entry);
        for (unsigned source = 0; source < SOURCES; source++) {
            snprintf(action, sizeof action, "%u-%u", source, entry);
            log_as(wires[source], id, action);
        }
        if (entry == 30) {
            disk_rename(world.kernel);
            kernel_signal(world.kernel, SIGHUP);
        }
        for (unsigned step = random_below(&world.random, 60); step > 0; step--)
            world_step(&world);
    }
    world_settle(&world);
    bool found[SOURCES][ENTRIES] = {0};
    read_entries(&world, found);
    for (unsigned source = 0; source < SOURCES; source++)
        for (unsigned entry = 0; entry < ENTRIES; entry++) {
            const char *answer = hear(wires[source]);
            assert_int_equal(bit_number(of(answer, "id")), entry);
            assert_int_equal(bit_is(of(answer, "result.logged"), "true"), found[source][entry]);
        }
    finish(&world, wires, SOURCES);
}

static void answers_tell_the_truth_whatever_the_disk_does(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++)
        play(seed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_means_that_it_is_on_disk),
        cmocka_unit_test(what_waits_is_one_group),
        cmocka_unit_test(a_full_disk_fails_the_group_and_no_more),
        cmocka_unit_test(no_line_is_glued_to_a_torn_one),
        cmocka_unit_test(a_renamed_file_gets_no_more),
        cmocka_unit_test(half_closed_source_hears_of_its_entry),
        cmocka_unit_test(a_drain_waits_for_the_disk),
        cmocka_unit_test(a_source_that_has_gone_is_still_on_record),
        cmocka_unit_test(past_the_bound_it_is_refused),
        cmocka_unit_test(a_batch_is_answered_as_one),
        cmocka_unit_test(each_end_of_an_approval_is_told),
        cmocka_unit_test(answers_tell_the_truth_whatever_the_disk_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
