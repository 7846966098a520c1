// Names of hubs: written, read, compared.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/cluster/hub_name.h"

static const char node[] = "0123456789abcdef0123456789abcdef", lesser[] = "0023456789abcdef0123456789abcdef";

static void names_are_written_and_read(void **state) {
    static const uint32_t numbers[] = {1, 9, 10, 4294967295};
    (void)state;
    for (size_t at = 0; at < sizeof numbers / sizeof *numbers; at++) {
        struct hub_name name, back;
        hub_name_write(&name, node, numbers[at]);
        assert_memory_equal(name.text, node, NODE_BYTES);
        assert_true(hub_name_read(&back, name.text, name.bytes));
        assert_int_equal(back.bytes, name.bytes);
        assert_memory_equal(back.text, name.text, name.bytes);
        assert_int_equal(back.number, numbers[at]);
    }
}

static void what_is_no_name_is_not_read(void **state) {
    static const char *const bad[] = {"",
                                      "0123456789abcdef0123456789abcdef",
                                      "0123456789abcdef0123456789abcdef-",
                                      "0123456789abcdef0123456789abcdef-0",
                                      "0123456789abcdef0123456789abcdef-01",
                                      "0123456789abcdef0123456789abcdef-4294967296",
                                      "0123456789abcdef0123456789abcdef-12345678901",
                                      "0123456789abcdef0123456789abcdef-1x",
                                      "0123456789abcdef0123456789abcdeF-1",
                                      "0123456789abcdef0123456789abcdeg-1",
                                      "0123456789abcdef0123456789abcdef_1"};
    struct hub_name name;
    (void)state;
    for (size_t at = 0; at < sizeof bad / sizeof *bad; at++)
        assert_false(hub_name_read(&name, bad[at], strlen(bad[at])));
}

static void nodes_have_an_order(void **state) {
    struct hub_name one, other;
    (void)state;
    hub_name_write(&one, lesser, 7);
    hub_name_write(&other, node, 1);
    assert_true(hub_name_compare_nodes(&one, &other) < 0);
    assert_true(hub_name_compare_nodes(&other, &one) > 0);
    hub_name_write(&other, lesser, 8);
    assert_int_equal(hub_name_compare_nodes(&one, &other), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_written_and_read),
        cmocka_unit_test(what_is_no_name_is_not_read),
        cmocka_unit_test(nodes_have_an_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
