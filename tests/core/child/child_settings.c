// Settings of a section, key by key.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/child/child_settings.h"

static struct child_settings *fresh(void) {
    struct child_settings *settings = child_settings_create("name");
    assert_non_null(settings);
    return settings;
}

static void defaults(void **state) {
    (void)state;
    struct child_settings *settings = fresh();
    assert_string_equal(child_settings_finish(settings), "a command");
    assert_null(child_settings_set(settings, "command", "a b"));
    assert_null(child_settings_finish(settings));
    assert_int_equal(settings->protocol, CHILD_PLAIN);
    assert_false(settings->lines || settings->on_demand || settings->each);
    assert_int_equal(settings->instances, 1);
    assert_int_equal(settings->instances_max, 64);
    assert_int_equal(settings->start_ms, 10000);
    assert_int_equal(settings->stop_ms, 5000);
    assert_int_equal(settings->end_ms, 2000);
    assert_int_equal(settings->idle_ms, 0);
    assert_int_equal(settings->restart.healthy_ms, 60000);
    assert_int_equal(settings->restart.delay_ms, 100);
    assert_int_equal(settings->restart.delay_max_ms, 30000);
    assert_int_equal(settings->restart.limit, 8);
    assert_int_equal(settings->level, GOVERNANCE_AUTONOMOUS);
    assert_int_equal(settings->command_words, 2);
    assert_memory_equal(settings->command.bytes, "a\0b", 4);
    static const char passed[] = "PHOME\0PLANG\0PLOGNAME\0PPATH\0PSHELL\0PTERM\0PTMPDIR\0PUSER";
    assert_int_equal(settings->variable_count, 8);
    assert_int_equal(settings->variables.length, sizeof passed);
    assert_memory_equal(settings->variables.bytes, passed, sizeof passed);
    child_settings_drop(settings);
}

static void of_mcp(void **state) {
    (void)state;
    struct child_settings *settings = fresh();
    assert_null(child_settings_set(settings, "protocol", "mcp"));
    assert_null(child_settings_set(settings, "command", "x/a=b c=d"));
    assert_null(child_settings_finish(settings));
    assert_true(settings->lines);
    assert_int_equal(settings->start_ms, 60000);
    assert_false(settings->asks_clients);
    assert_null(child_settings_set(settings, "ask-clients", "yes"));
    assert_true(settings->asks_clients);
    child_settings_drop(settings);
    settings = fresh();
    assert_string_equal(child_settings_set(settings, "cancel", "mcp"), "lsp or acp");
    assert_string_equal(child_settings_set(settings, "ask-clients", "1"), "yes or no");
    child_settings_drop(settings);
}

static void variables_and_lists(void **state) {
    (void)state;
    struct child_settings *settings = fresh();
    struct text capabilities;
    assert_null(child_settings_set(settings, "pass", "A, B"));
    assert_null(child_settings_set(settings, "set C", "d = e ; f"));
    assert_null(child_settings_set(settings, "secret\tG", "/h"));
    static const char variables[] = "PA\0PB\0SC=d = e ; f\0FG=/h";
    assert_int_equal(settings->variables.length, sizeof variables);
    assert_memory_equal(settings->variables.bytes, variables, sizeof variables);
    assert_null(child_settings_set(settings, "methods", "a/b, c\"d"));
    assert_null(child_settings_set(settings, "tools", "lint"));
    text_init(&capabilities);
    child_settings_capabilities(settings, &capabilities);
    text_add(&capabilities, "", 1);
    assert_string_equal(capabilities.bytes, "{\"methods\":[\"a/b\",\"c\\\"d\"],\"tools\":[\"lint\"]}");
    text_deinit(&capabilities);
    child_settings_drop(settings);
}

static void what_is_refused(void **state) {
    (void)state;
    static const char *const table[][2] = {
        {"comand", "x"},
        {"command", ""},
        {"command", "'x"},
        {"command", "A='x y' z"},
        {"protocol", "lsp"},
        {"framing", "json"},
        {"start", "later"},
        {"instances", "0"},
        {"instances", "65"},
        {"instances", "many"},
        {"max-instances", "-1"},
        {"max-instances", "0"},
        {"idle", "5"},
        {"start-timeout", "off"},
        {"start-timeout", "0ms"},
        {"restart-limit", "8.5"},
        {"level", "strict"},
        {"set", "x"},
        {"set A B", "x"},
        {"set A=B", "x"},
        {"secret A", ""},
        {"pass", "A=B"},
        {"settle", "x"},
        {"restart-delay", "20us"},
        {"directory", ""},
        {"max-instances", "256"},
    };
    for (size_t row = 0; row < sizeof table / sizeof *table; row++) {
        struct child_settings *settings = fresh();
        assert_non_null(child_settings_set(settings, table[row][0], table[row][1]));
        child_settings_drop(settings);
    }
    assert_null(child_settings_create("no name"));
    assert_null(child_settings_create(""));
}

static void a_key_is_given_once(void **state) {
    (void)state;
    struct child_settings *settings = fresh();
    assert_null(child_settings_set(settings, "command", "x"));
    assert_null(child_settings_set(settings, "set A", "command"));
    assert_null(child_settings_set(settings, "secret B", "/b"));
    assert_null(child_settings_set(settings, "set pass", "x"));
    static const char *const again[] = {"command", "set A", "set\t A", "secret A", "set B", "secret B"};
    for (size_t index = 0; index < sizeof again / sizeof *again; index++)
        assert_string_equal(child_settings_set(settings, again[index], "x"), "a key that is given once");
    assert_null(child_settings_set(settings, "pass", "A"));
    assert_null(child_settings_set(settings, "set a", ""));
    assert_null(child_settings_finish(settings));
    child_settings_drop(settings);
}

static void what_is_the_same(void **state) {
    (void)state;
    struct child_settings *one = fresh(), *other = fresh();
    assert_null(child_settings_set(one, "command", "x"));
    assert_null(child_settings_set(other, "command", "x"));
    assert_true(child_settings_same(one, other));
    assert_null(child_settings_set(other, "set A", "b"));
    assert_false(child_settings_same(one, other));
    assert_null(child_settings_set(one, "set A", "c"));
    assert_false(child_settings_same(one, other));
    one->next = other;
    child_settings_drop_all(one);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(defaults),
                                       cmocka_unit_test(of_mcp),
                                       cmocka_unit_test(variables_and_lists),
                                       cmocka_unit_test(what_is_refused),
                                       cmocka_unit_test(a_key_is_given_once),
                                       cmocka_unit_test(what_is_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
