// The request that an id of a cancel means: the latest request of that value which isn't cancelled. The rule
// holds in short lists and in long ones, and in long ones without going through them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/base/limits.h"
#include "core/base/memory.h"
#include "core/requests/pending.h"
#include "core/requests/request_index.h"
#include "tests/core/base/account.h"

enum { LONG = 50000 };

struct source {
    struct pending_table table;
    struct request_index request_index;
};

static void source_init(struct source *source) {
    pending_table_init(&source->table, 0, account());
    request_index_init(&source->request_index);
}

static void end(struct source *source, struct pending *pending) {
    request_index_remove(pending);
    pending_end(&source->table, pending);
}

static void source_deinit(struct source *source) {
    while (!list_empty(&source->request_index.requests))
        end(source, list_entry(source->request_index.requests.next, struct pending, by_source));
    request_index_deinit(&source->request_index);
    pending_table_deinit(&source->table);
}

static struct pending *ask(struct source *source, const char *id) {
    struct pending *pending = pending_add(&source->table, id, (uint32_t)strlen(id));
    assert_non_null(pending);
    request_index_add(&source->request_index, pending);
    return pending;
}

static void ask_numbers(struct source *source, unsigned first, unsigned count) {
    char id[16];
    for (unsigned number = first; number < first + count; number++) {
        snprintf(id, sizeof id, "%u", number);
        ask(source, id);
    }
}

static struct pending *find(struct source *source, const char *id) {
    uint8_t text[1024] = {0};
    size_t bytes = strlen(id);
    assert_true(bytes + BUFFER_SLACK_BYTES <= sizeof text);
    memcpy(text, id, bytes);
    return request_index_find(&source->request_index, text, (struct span){0, (uint32_t)bytes}, &TABLE_KEY,
                              account());
}

static void meanings(struct source *source) {
    static const struct {
        const char *asked, *cancelled;
        bool same;
    } cases[] = {
        {"\"a\"", "\"\\u0061\"", true},
        {"\"\\u0061b\"", "\"ab\"", true},
        {"\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\"", true},
        {"\"7000000\"", "7000000", false},
        {"8000000", "8000000.0", true},
        {"8.1e6", "8100000", true},
        {"-0", "0.0", true},
        {"-7", "-7", true},
        {"-8", "-8.0", true},
        {"-8000000", "8000000", false},
        {"-8.1e6", "-8100000", true},
        {"0.5", "50e-2", true},
        {"9007199254740993", "9007199254740993.0", true},
        {"9007199254740993", "9007199254740992.0", false},
        {"1e400", "1e400", true},
        {"1e401", "10e400", true},
        {"9007199254740993", "9007199254740993", true},
        {"\"\\ud800\"", "\"\\ud800\"", true},
        {"\"\\ud800\"", "\"\\ufffd\"", true}, // half of a pair, and what stands for it
        {"\"\"", "\"\"", true},
    };
    for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
        struct pending *pending = ask(source, cases[index].asked);
        assert_ptr_equal(find(source, cases[index].cancelled), cases[index].same ? pending : NULL);
        end(source, pending);
        assert_null(find(source, cases[index].cancelled));
    }
}

static void ids_match_by_value_in_short_lists_and_long_ones(void **state) {
    (void)state;
    struct source source;
    source_init(&source);
    meanings(&source);
    ask_numbers(&source, 1, LONG);
    meanings(&source);
    source_deinit(&source);
}

static void latest_of_several(struct source *source) {
    struct pending *first = ask(source, "\"x\""), *second = ask(source, "\"\\u0078\"");
    assert_ptr_equal(find(source, "\"x\""), second);
    struct pending *third = ask(source, "\"x\"");
    assert_ptr_equal(find(source, "\"x\""), third);
    end(source, third);
    request_index_cancel(second);
    assert_ptr_equal(find(source, "\"x\""), first);
    request_index_cancel(first);
    assert_null(find(source, "\"x\""));
    end(source, first);
    end(source, second);
}

static void the_latest_is_meant_and_none_twice(void **state) {
    (void)state;
    struct source source;
    source_init(&source);
    latest_of_several(&source);
    struct pending *before = ask(&source, "\"y\""), *later = ask(&source, "\"y\"");
    ask_numbers(&source, 1, LONG);
    assert_ptr_equal(find(&source, "\"y\""), later); // filed from the list
    request_index_cancel(later);
    assert_ptr_equal(find(&source, "\"y\""), before);
    latest_of_several(&source);
    source_deinit(&source);
}

static void a_table_goes_when_the_list_is_empty(void **state) {
    (void)state;
    struct source source;
    source_init(&source);
    ask_numbers(&source, 1, LONG);
    assert_non_null(find(&source, "1"));
    assert_non_null(source.request_index.table);
    while (!list_empty(&source.request_index.requests))
        end(&source, list_entry(source.request_index.requests.next, struct pending, by_source));
    for (unsigned turn = 0; turn < 3 * LONG; turn++) {
        struct pending *pending = ask(&source, "\"one at a time\"");
        assert_ptr_equal(find(&source, "\"one at a time\""), pending);
        end(&source, pending);
    }
    assert_null(source.request_index.table);
    source_deinit(&source);
}

// Looked through one by one, each list of this length takes more than a millisecond.
static void a_long_list_is_not_gone_through(void **state) {
    (void)state;
    struct source source;
    source_init(&source);
    ask_numbers(&source, 1, LONG);
    for (unsigned turn = 0; turn < 4 * LONG; turn++)
        assert_null(find(&source, "\"nobody's\""));
    while (!list_empty(&source.request_index.requests))
        end(&source, list_entry(source.request_index.requests.next, struct pending, by_source));
    for (unsigned count = 0; count < LONG; count++)
        request_index_cancel(ask(&source, "\"the same\""));
    for (unsigned turn = 0; turn < 4 * LONG; turn++)
        assert_null(find(&source, "\"the same\""));
    source_deinit(&source);
}

static void without_memory_for_a_table_requests_are_found(void **state) {
    (void)state;
    struct source source;
    source_init(&source);
    ask_numbers(&source, 1, LONG);
    memory_fail_after(0);
    assert_non_null(find(&source, "1"));
    assert_null(source.request_index.table);
    memory_fail_after(UINT64_MAX);
    assert_non_null(find(&source, "2"));
    assert_non_null(source.request_index.table);
    struct pending *others[2 * LONG]; // more than the table is for: it has no memory to grow
    for (size_t index = 0; index < sizeof others / sizeof *others; index++)
        others[index] = pending_add(&source.table, "\"other\"", 7);
    memory_fail_after(0);
    for (size_t index = 0; index < sizeof others / sizeof *others; index++)
        request_index_add(&source.request_index, others[index]);
    memory_fail_after(UINT64_MAX);
    assert_ptr_equal(find(&source, "\"other\""), others[2 * LONG - 1]);
    char id[16];
    for (unsigned number = 1; number <= LONG; number += 1000) {
        snprintf(id, sizeof id, "%u", number);
        assert_non_null(find(&source, id));
    }
    source_deinit(&source);
}

// As those of a source that has left do.
static void requests_may_end_in_another_list(void **state) {
    (void)state;
    struct source source;
    struct list elsewhere;
    list_init(&elsewhere);
    source_init(&source);
    ask_numbers(&source, 1, LONG);
    assert_non_null(find(&source, "1"));
    list_move_all(&source.request_index.requests, &elsewhere);
    while (!list_empty(&elsewhere))
        end(&source, list_entry(elsewhere.next, struct pending, by_source));
    assert_null(source.request_index.table);
    source_deinit(&source);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_match_by_value_in_short_lists_and_long_ones),
        cmocka_unit_test(the_latest_is_meant_and_none_twice),
        cmocka_unit_test(a_table_goes_when_the_list_is_empty),
        cmocka_unit_test(a_long_list_is_not_gone_through),
        cmocka_unit_test(requests_may_end_in_another_list),
        cmocka_unit_test(without_memory_for_a_table_requests_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
