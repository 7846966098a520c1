// A command line becomes the words that a shell would make of it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/base/argv.h"

static void the_table(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *words; // with | behind each; NULL: it has no end
    } table[] = {
        {"", ""},
        {" \t ", ""},
        {"one", "one|"},
        {"  one\ttwo  ", "one|two|"},
        {"'a b' \"c d\"", "a b|c d|"},
        {"a'b c'd\"e\"", "ab cde|"},
        {"'' \"\"", "||"},
        {"a\\ b \\' \\\\", "a b|'|\\|"},
        {"'a\\b' \"a\\b\"", "a\\b|a\\b|"},
        {"\"\\\" \\$ \\` \\\\\"", "\" $ ` \\|"},
        {"$HOME ~ * ; #no > x | `y`", "$HOME|~|*|;|#no|>|x|||`y`|"},
        {"'open", NULL},
        {"\"open", NULL},
        {"\"open\\\"", NULL},
        {"a\\", NULL},
    };
    for (size_t row = 0; row < sizeof table / sizeof *table; row++) {
        char *out = malloc(strlen(table[row].text) + 1); // no more than that
        char joined[128] = "";
        size_t count = argv_split(table[row].text, out);
        if (!table[row].words) {
            assert_int_equal(count, SIZE_MAX);
            free(out);
            continue;
        }
        assert_int_not_equal(count, SIZE_MAX);
        for (const char *at = out; count > 0; count--, at += strlen(at) + 1)
            strcat(strcat(joined, at), "|");
        assert_string_equal(joined, table[row].words);
        free(out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
