// The files of the status page are in the program, and what they name is there.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "router/features/page/page.h"

static struct page_file find(const char *path) {
    return page_find(path, strlen(path));
}

static bool holds(struct page_file file, const char *text) {
    return memmem(file.bytes, file.count, text, strlen(text)) != NULL;
}

static void a_path_finds_its_file(void **state) {
    (void)state;
    struct page_file page = find("/");
    assert_string_equal(page.type, "text/html; charset=utf-8");
    assert_int_equal(strncmp((const char *)page.bytes, "<!doctype html>", 15), 0);
    assert_int_equal(page.bytes[page.count - 1], '\n');
    assert_true(holds(page, "</html>\n"));
    assert_string_equal(find("/status.css").type, "text/css; charset=utf-8");
    assert_string_equal(find("/status.js").type, "text/javascript; charset=utf-8");
    assert_string_equal(find("/status.svg").type, "image/svg+xml");
}

static void any_other_path_finds_none(void **state) {
    (void)state;
    const char *const paths[] = {"",           "//",         "/status", "/status.css/", "/../status.css",
                                 "status.css", "/Status.css"};
    for (size_t at = 0; at < sizeof paths / sizeof *paths; at++)
        assert_null(find(paths[at]).bytes);
    assert_null(page_find("/status.css", 10).bytes);
}

// A script or style that stood in the page would not run under its policy, nor would one of another host.
static void the_page_is_as_its_policy_wants(void **state) {
    (void)state;
    const char *const parts[] = {"/status.css", "/status.js", "/status.svg"};
    struct page_file page = find("/");
    for (size_t at = 0; at < sizeof parts / sizeof *parts; at++) {
        char quoted[32];
        snprintf(quoted, sizeof quoted, "\"%s\"", parts[at]);
        assert_true(holds(page, quoted));
    }
    assert_false(holds(page, "style="));
    assert_false(holds(page, "<style"));
    assert_false(holds(page, "http:"));
    assert_false(holds(page, "https:"));
    const char *const scripts[] = {"./status-approvals.js", "./status-charts.js",   "./status-figures.js",
                                   "./status-link.js",      "./status-requests.js", "./status-view.js"};
    for (size_t at = 0; at < sizeof scripts / sizeof *scripts; at++) {
        assert_true(holds(find("/status.js"), scripts[at]));
        assert_non_null(find(scripts[at] + 1).bytes);
        assert_false(holds(find(scripts[at] + 1), "innerHTML"));
    }
    assert_false(holds(find("/status.js"), "innerHTML"));
    assert_null(strstr(PAGE_POLICY, "unsafe"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_finds_its_file),
        cmocka_unit_test(any_other_path_finds_none),
        cmocka_unit_test(the_page_is_as_its_policy_wants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
