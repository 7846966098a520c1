// The audit journal while its disk fails: what is answered is on disk, what fails is not, and no line is
// torn.
#include "tests/sim/journaled.h"

#include <signal.h>

// A full disk takes a part of a group; that part goes again.
static void a_full_disk_fails_the_group_and_no_more(void **state) {
    (void)state;
    struct world world;
    open_hub(&world, 2, NULL);
    struct cable *cables[] = {join(&world, NULL), join(&world, NULL)};
    log_as(cables[0], "1", "good");
    world_settle(&world);
    hear_logged(cables[0], "1");
    size_t line, synced;
    disk_file(world.kernel, 0, &line, &synced);
    disk_hold(world.kernel, true);
    log_as(cables[0], "2", "good");
    world_settle(&world);
    log_as(cables[0], "3", "bad!");
    log_as(cables[1], "4", "bad!");
    world_settle(&world);
    disk_hold(world.kernel, false);
    disk_room(world.kernel, line + line / 2);
    world_settle(&world);
    hear_logged(cables[0], "2");
    hear_failed(cables[0], "3", "\"No space left on device\"");
    hear_failed(cables[1], "4", "\"No space left on device\"");
    assert_null(line_of(&world, 0, 2).bytes);
    disk_room(world.kernel, SIZE_MAX);
    log_as(cables[1], "\"5\"", "good again");
    world_settle(&world);
    hear_logged(cables[1], "\"5\"");
    assert_true(line_is(&world, 0, 2, "entry.action", "\"good again\""));
    assert_int_equal(counted(&world, COUNT_JOURNAL_ENTRIES), 3);
    assert_int_equal(counted(&world, COUNT_JOURNAL_FAILED), 2);
    finish(&world, cables, 2);
}

// Where what was written can't be taken back, the next line begins on a new one.
static void no_line_is_glued_to_a_torn_one(void **state) {
    (void)state;
    struct world world;
    open_hub(&world, 1, &(struct sim_faults){.file_stuck = 1000});
    struct cable *cable = join(&world, NULL);
    disk_room(world.kernel, 20);
    log_as(cable, "1", "torn");
    world_settle(&world);
    hear_failed(cable, "1", "\"No space left on device\"");
    assert_int_equal(line_of(&world, 0, 0).count, 20);
    disk_room(world.kernel, SIZE_MAX);
    log_as(cable, "2", "whole");
    log_as(cable, "3", "whole");
    world_settle(&world);
    hear_logged(cable, "2");
    hear_logged(cable, "3");
    assert_int_equal(counted(&world, COUNT_JOURNAL_CUT_FAILED), 1);
    assert_int_equal(line_of(&world, 0, 0).count, 20);
    for (unsigned line = 1; line < 3; line++)
        assert_true(line_is(&world, 0, line, "entry.action", "\"whole\""));
    assert_null(line_of(&world, 0, 3).bytes);
    finish(&world, &cable, 1);
}

static void a_renamed_file_gets_no_more(void **state) {
    (void)state;
    struct world world;
    open_hub(&world, 2, NULL);
    struct cable *cables[] = {join(&world, NULL), join(&world, NULL)};
    disk_hold(world.kernel, true);
    log_as(cables[0], "1", "old");
    world_settle(&world);
    disk_rename(world.kernel);
    kernel_signal(world.kernel, SIGHUP);
    world_settle(&world);
    log_as(cables[1], "2", "new");
    world_settle(&world);
    disk_hold(world.kernel, false);
    world_settle(&world);
    hear_logged(cables[0], "1");
    hear_logged(cables[1], "2");
    assert_true(line_is(&world, 0, 0, "entry.action", "\"old\""));
    assert_true(line_is(&world, 1, 0, "entry.action", "\"new\""));
    assert_null(line_of(&world, 0, 1).bytes);
    assert_null(line_of(&world, 1, 1).bytes);
    // With nothing under way it is done at once; where it can't be done, nothing is written until it can.
    disk_refuse(world.kernel, true);
    kernel_signal(world.kernel, SIGHUP);
    world_settle(&world);
    assert_true(atomic_load(&world.hub->journal_failing));
    log_as(cables[0], "3", "refused");
    world_settle(&world);
    hear_failed(cables[0], "3", "\"Permission denied\"");
    assert_null(line_of(&world, 1, 1).bytes);
    assert_int_equal(counted(&world, COUNT_JOURNAL_REOPENED), 1);
    disk_refuse(world.kernel, false);
    world_pass(&world, SECOND + SECOND / 10);
    assert_false(atomic_load(&world.hub->journal_failing));
    assert_true(line_is(&world, 1, 1, "kind", "\"lost\""));
    log_as(cables[0], "4", "again");
    world_settle(&world);
    hear_logged(cables[0], "4");
    assert_true(line_is(&world, 1, 2, "entry.action", "\"again\""));
    assert_int_equal(counted(&world, COUNT_JOURNAL_REOPENED), 2);
    finish(&world, cables, 2);
}

static const char *const APPROVAL = "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"governance/"
                                    "approval\",\"params\":{\"checkpoint\":\"c\",\"artifact\":{},"
                                    "\"decision\":\"approved\",\"approver\":\"human\"}}";

static void ask_approval(struct cable *cable, unsigned id) {
    char body[512];
    snprintf(body, sizeof body, APPROVAL, id);
    say(cable, body);
}

// A file that was removed is made again, where it can be; until then nothing is done that must be in it.
static void a_removed_file_is_made_again(void **state) {
    (void)state;
    for (uint32_t shards = 1; shards <= 2; shards++) {
        struct world world;
        open_hub(&world, shards, NULL);
        struct cable *human = join(&world, "human"), *source = join(&world, NULL);
        log_as(source, "1", "gone");
        world_settle(&world);
        hear_logged(source, "1");
        disk_remove(world.kernel);
        log_as(source, "2", "there");
        world_settle(&world);
        hear_logged(source, "2");
        assert_true(line_is(&world, 1, 0, "entry.action", "\"there\""));
        disk_remove(world.kernel);
        disk_refuse(world.kernel, true);
        ask_approval(source, 3);
        world_settle(&world);
        hear_failed(source, "3", "\"the journal can't be written\"");
        assert_int_equal(cable_readable(human), 0);
        assert_true(atomic_load(&world.hub->journal_failing));
        disk_refuse(world.kernel, false);
        world_pass(&world, SECOND + SECOND / 10);
        assert_false(atomic_load(&world.hub->journal_failing));
        struct cable *cables[] = {human, source};
        finish(&world, cables, 2);
    }
}

// The disk is full, and nobody has found out: the first approval is refused, too.
static void the_first_approval_past_the_room_is_refused(void **state) {
    (void)state;
    for (uint32_t shards = 1; shards <= 2; shards++) {
        struct world world;
        open_hub(&world, shards, NULL);
        struct cable *human = join(&world, "human"), *source = join(&world, NULL);
        disk_room(world.kernel, 100);
        ask_approval(source, 1);
        world_settle(&world);
        hear_failed(source, "1", "\"the journal can't be written\"");
        assert_int_equal(cable_readable(human), 0);
        assert_true(atomic_load(&world.hub->journal_failing));
        disk_room(world.kernel, SIZE_MAX);
        world_pass(&world, SECOND + SECOND / 10);
        assert_false(atomic_load(&world.hub->journal_failing));
        ask_approval(source, 2);
        world_settle(&world);
        assert_true(bit_is(of(hear(human), "method"), "\"governance/approval\""));
        assert_true(line_is(&world, 0, 0, "kind", "\"approval\""));
        cable_close(human);
        world_settle(&world);
        while (cable_readable(source))
            hear(source);
        finish(&world, &source, 1);
    }
}

enum { SOURCES = 5, ENTRIES = 60 };

// Finds out which entries the files have. No entry may be there twice.
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
    struct cable *cables[SOURCES];
    for (unsigned source = 0; source < SOURCES; source++)
        cables[source] = join(&world, NULL);
    for (unsigned entry = 0; entry < ENTRIES; entry++) {
        char action[32], id[32];
        snprintf(id, sizeof id, "%u", entry);
        for (unsigned source = 0; source < SOURCES; source++) {
            snprintf(action, sizeof action, "%u-%u", source, entry);
            log_as(cables[source], id, action);
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
            const char *answer = hear(cables[source]);
            assert_int_equal(bit_number(of(answer, "id")), entry);
            assert_int_equal(bit_is(of(answer, "result.logged"), "true"), found[source][entry]);
        }
    finish(&world, cables, SOURCES);
}

static void answers_tell_the_truth_whatever_the_disk_does(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++)
        play(seed);
}

// Nothing is approved while no line can tell of it. Within a second of there being room, a line tells how many were
// lost.
static void while_it_fails_nothing_is_approved(void **state) {
    (void)state;
    for (uint32_t shards = 1; shards <= 2; shards++) {
        struct world world;
        open_hub(&world, shards, NULL);
        struct cable *human = join(&world, "human"), *source = join(&world, NULL);
        disk_room(world.kernel, 0);
        for (unsigned entry = 0; entry < 3; entry++) {
            log_as(source, "1", "lost");
            world_settle(&world);
            hear_failed(source, "1", "\"No space left on device\"");
        }
        ask_approval(source, 2);
        world_settle(&world);
        hear_failed(source, "2", "\"the journal can't be written\"");
        assert_int_equal(cable_readable(human), 0);
        world_pass(&world, UINT64_C(3) * SECOND); // it is tried again and again
        ask_approval(source, 3);
        world_settle(&world);
        hear_failed(source, "3", "\"the journal can't be written\"");
        assert_null(line_of(&world, 0, 0).bytes);
        disk_room(world.kernel, SIZE_MAX);
        world_pass(&world, SECOND + SECOND / 10);
        assert_true(line_is(&world, 0, 0, "kind", "\"lost\""));
        assert_true(line_is(&world, 0, 0, "count", "3"));
        ask_approval(source, 4);
        world_settle(&world);
        char answer[256];
        struct bit id = of(hear(human), "id");
        snprintf(answer, sizeof answer, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":true}", (int)id.count,
                 (const char *)id.bytes);
        say(human, answer);
        world_settle(&world);
        assert_true(bit_is(of(hear(source), "result"), "true"));
        assert_true(line_is(&world, 0, 1, "kind", "\"approval\""));
        struct cable *cables[] = {human, source};
        finish(&world, cables, 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_disk_fails_the_group_and_no_more),
        cmocka_unit_test(no_line_is_glued_to_a_torn_one),
        cmocka_unit_test(a_renamed_file_gets_no_more),
        cmocka_unit_test(while_it_fails_nothing_is_approved),
        cmocka_unit_test(a_removed_file_is_made_again),
        cmocka_unit_test(the_first_approval_past_the_room_is_refused),
        cmocka_unit_test(answers_tell_the_truth_whatever_the_disk_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
