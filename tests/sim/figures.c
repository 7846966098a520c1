// How the hub is, as it tells: the metrics' form and their sums, and what a survey of all shards finds.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "router/methods/metrics.h"
#include "router/methods/status.h"
#include "tests/sim/naive.h"
#include "tests/sim/party.h"

#define SECOND_NS UINT64_C(1000000000)
enum { SHARDS = 3, NAME_BYTES_MAX = 128, FAMILIES_MAX = 128 };

static struct scene scene;

// Opens a hub with guests on several shards that ask and answer, one that doesn't read, and one that owes answers.
static void open_busy(void) {
    struct world_options options;
    world_defaults(&options, 11, SHARDS);
    options.faults.window_bytes = 4000;
    scene_open(&scene, &options);
    struct party *answering = party_join(&scene), *asking = party_join(&scene), *deaf = party_join(&scene),
                 *silent = party_join_lines(&scene);
    party_register(answering, "answering", "");
    party_register(deaf, "deaf", "");
    party_register(silent, "silent", "");
    scene_settle(&scene);
    for (unsigned count = 0; count < 20; count++)
        party_ask(asking, "m", 100, "\"targetAgent\":\"answering\"");
    party_ask(asking, "m", 0, "\"targetAgent\":\"silent\"");
    silent->silent = deaf->deaf = true;
    for (unsigned count = 0; count < 5; count++)
        party_tell(asking, "n", 9000, "\"targetAgent\":\"deaf\"");
    scene_settle(&scene);
}

static void close_busy(void) {
    for (unsigned at = 0; at < scene.count; at++)
        scene.parties[at].deaf = scene.parties[at].silent = false;
    scene.parties[3].silent = true; // what it was asked is over
    party_leave(&scene.parties[3]);
    scene_settle(&scene);
    scene_close(&scene);
}

// --- The format

struct reader {
    char families[FAMILIES_MAX][NAME_BYTES_MAX];
    unsigned count;
    char family[NAME_BYTES_MAX], type[NAME_BYTES_MAX];
    bool has_help;
    unsigned samples;
    double below; // of a histogram, the last bucket
};

static void read_comment(struct reader *reader, const char *line) {
    char word[8], name[NAME_BYTES_MAX], rest[NAME_BYTES_MAX];
    assert_int_equal(sscanf(line, "# %7s %127s %127[^\n]", word, name, rest), 3);
    if (strcmp(word, "HELP") == 0) {
        for (unsigned at = 0; at < reader->count; at++)
            assert_string_not_equal(reader->families[at], name); // a family stands together
        assert_true(reader->count < FAMILIES_MAX);
        strcpy(reader->families[reader->count++], name);
        strcpy(reader->family, name);
        reader->has_help = true;
        return;
    }
    assert_string_equal(word, "TYPE");
    assert_true(reader->has_help && strcmp(name, reader->family) == 0);
    strcpy(reader->type, rest);
    bool total = strlen(name) > 6 && strcmp(name + strlen(name) - 6, "_total") == 0;
    assert_int_equal(total, strcmp(rest, "counter") == 0);
    reader->has_help = false;
    reader->samples = 0;
}

static void read_sample(struct reader *reader, const char *line) {
    char name[NAME_BYTES_MAX] = "", end;
    double value;
    size_t named = strspn(line, "abcdefghijklmnopqrstuvwxyz0123456789_");
    assert_true(named > 0 && named < sizeof name);
    memcpy(name, line, named);
    assert_int_equal(strncmp(name, "patchbay_", 9), 0);
    assert_int_equal(strncmp(name, reader->family, strlen(reader->family)), 0);
    const char *labels = line + named, *after = labels;
    if (*labels == '{') {
        after = strchr(labels, '}');
        assert_non_null(after);
        after++;
    }
    assert_int_equal(sscanf(after, " %lf%c", &value, &end), 1);
    reader->samples++;
    if (strcmp(reader->type, "histogram") != 0) {
        assert_string_equal(name, reader->family);
        return;
    }
    const char *what = name + strlen(reader->family);
    if (strcmp(what, "_bucket") == 0) {
        assert_non_null(strstr(labels, "le=\""));
        bool first = strstr(labels, "le=\"1\"") || strstr(labels, "le=\"0.000001\"");
        assert_true(first || value >= reader->below);
        reader->below = value;
    } else if (strcmp(what, "_count") == 0) {
        assert_true(value == reader->below); // of le="+Inf"
    } else {
        assert_string_equal(what, "_sum");
    }
}

static void metrics_are_what_prometheus_reads(void **state) {
    (void)state;
    open_busy();
    struct text out = {0};
    struct reader reader = {0};
    metrics_write(scene.world.shards[1], &out);
    text_add(&out, "", 1);
    assert_false(out.failed);
    assert_true(out.bytes[out.length - 2] == '\n');
    for (char *line = strtok(out.bytes, "\n"); line; line = strtok(NULL, "\n"))
        if (*line == '#')
            read_comment(&reader, line);
        else
            read_sample(&reader, line);
    assert_true(reader.count > 30 && reader.samples > 0);
    text_deinit(&out);
    close_busy();
}

// --- What they say

// The sum of all samples whose line begins so.
static double sum_of(const struct text *metrics, const char *begin) {
    double sum = 0;
    for (const char *line = metrics->bytes, *end; (end = strchr(line, '\n')); line = end + 1) {
        const char *value = memrchr(line, ' ', (size_t)(end - line));
        if (strncmp(line, begin, strlen(begin)) == 0)
            sum += strtod(value, NULL);
    }
    return sum;
}

static struct bit whole(const struct text *text) {
    return (struct bit){(const uint8_t *)text->bytes, text->length};
}

static void metrics_and_figures_say_the_same(void **state) {
    (void)state;
    open_busy();
    struct text metrics = {0}, figures = {0};
    status_write(scene.world.shards[0], &figures);
    metrics_write(scene.world.shards[2], &metrics);
    text_add(&metrics, "", 1);
    assert_true(naive_valid(whole(&figures)));
    const struct {
        const char *path, *metric;
    } same[] = {{"agents", "patchbay_agents "},
                {"connections", "patchbay_connections{"},
                {"pending", "patchbay_pending_requests{"},
                {"bytes_sent", "patchbay_sent_bytes_total{"},
                {"latency_us.count", "patchbay_latency_seconds_count{"},
                {"queue_depth_bytes.sum", "patchbay_queue_depth_bytes_sum{"}};
    for (unsigned at = 0; at < sizeof same / sizeof *same; at++)
        assert_true((double)bit_number(naive_find(whole(&figures), same[at].path)) ==
                    sum_of(&metrics, same[at].metric));
    assert_int_equal(bit_number(naive_find(whole(&figures), "by_transport.framed")), 3);
    assert_int_equal(bit_number(naive_find(whole(&figures), "by_transport.lines")), 1);
    assert_int_equal(bit_number(naive_find(whole(&figures), "pending")), 1);
    assert_true(bit_number(naive_find(whole(&figures), "latency_us.count")) > 40);
    text_deinit(&metrics);
    text_deinit(&figures);
    close_busy();
}

// --- Surveys

// The first element of an array.
static struct bit first_of(struct bit array) {
    struct naive_item item;
    size_t at = 0;
    return naive_next(array, &at, &item) ? item.value : (struct bit){0};
}

static void a_survey_is_taken_while_somebody_asks(void **state) {
    (void)state;
    open_busy();
    struct world *world = &scene.world;
    scene_pass(&scene, 3 * SECOND_NS);
    struct survey_page page;
    for (uint32_t shard = 0; shard < SHARDS; shard++)
        assert_false(survey_read(&world->shards[shard]->survey, &page)); // nobody has asked
    struct text figures = {0};
    party_ask(&scene.parties[1], "hub/stats", 0, "%s", "");
    scene_pass(&scene, 2 * SECOND_NS);
    status_write(world->shards[0], &figures);
    struct bit slow = first_of(naive_find(whole(&figures), "slowest_targets"));
    struct bit deep = first_of(naive_find(whole(&figures), "deepest_queues"));
    assert_true(bit_is(naive_find(slow, "agents"), "[\"silent\"]"));
    assert_true(bit_is(naive_find(deep, "agents"), "[\"deaf\"]"));
    assert_int_equal(bit_number(naive_find(slow, "pending")), 1);
    assert_in_range(bit_number(naive_find(slow, "oldest_ms")), 3000, 6000);
    assert_true(bit_number(naive_find(deep, "bytes")) > 20000);
    assert_int_equal(bit_number(naive_find(whole(&figures), "queued_bytes")),
                     bit_number(naive_find(deep, "bytes")));
    assert_in_range(bit_number(naive_find(whole(&figures), "surveyed_ms_ago")), 0, 1100);
    text_deinit(&figures);
    scene_pass(&scene, 60 * SECOND_NS);
    for (uint32_t shard = 0; shard < SHARDS; shard++)
        assert_false(timer_armed(&world->shards[shard]->survey.timer)); // nobody asks any more
    close_busy();
}

static void the_highest_are_ranked(void **state) {
    (void)state;
    struct survey_list list = {0};
    for (uint64_t at = 0; at < 40; at++)
        survey_rank(&list, (struct survey_row){at, at * 7 % 40, 0});
    assert_int_equal(list.count, SURVEY_ROWS_MAX);
    for (unsigned at = 0; at < SURVEY_ROWS_MAX; at++)
        assert_int_equal(list.rows[at].value, 39 - at);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics_are_what_prometheus_reads),
        cmocka_unit_test(metrics_and_figures_say_the_same),
        cmocka_unit_test(a_survey_is_taken_while_somebody_asks),
        cmocka_unit_test(the_highest_are_ranked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
