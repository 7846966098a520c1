// Lines of an INI text: what each is, and that nothing that stands in a file leads out of it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/wire/ini.h"

// Writes what the lines are, one word a line: "3[name]", "4key=value", "5!", and "6[!" of a section that is none.
static const char *lines_of(const char *text, size_t bytes, bool is_bounded) {
    static char out[4096];
    char *copy = malloc(bytes + 1);
    struct ini ini;
    struct ini_line line;
    size_t used = 0;
    memcpy(copy, text, bytes);
    ini_begin(&ini, copy, bytes, is_bounded);
    out[0] = '\0';
    for (ini_next(&ini, &line); line.kind != INI_END; ini_next(&ini, &line)) {
        const char *between = used ? " " : "";
        if (line.kind == INI_SECTION)
            used +=
                (size_t)snprintf(out + used, sizeof out - used, "%s%u[%s]", between, line.number, line.key);
        else if (line.kind == INI_KEY)
            used += (size_t)snprintf(out + used, sizeof out - used, "%s%u%s=%s", between, line.number,
                                     line.key, line.value);
        else
            used += (size_t)snprintf(out + used, sizeof out - used, "%s%u%s!", between, line.number,
                                     line.is_section ? "[" : "");
        assert_true(used < sizeof out);
        assert_true(line.kind != INI_FAULT || line.expected);
    }
    free(copy);
    return out;
}

static const char *all(const char *text) {
    return lines_of(text, strlen(text), true);
}

static void each_line_is_one_thing(void **state) {
    (void)state;
    assert_string_equal(all(""), "");
    assert_string_equal(all("\n\n; a\n # b\n\t;\n"), "");
    assert_string_equal(all("a=b"), "1a=b");
    assert_string_equal(all("a = b c \r\n\r\n d\t=\te\r\n"), "1a=b c 3d=e");
    assert_string_equal(all("[child x]\na=\n[ y ] ; why\n"), "1[child x] 2a= 3[y]");
    assert_string_equal(all("a = b = c\n"), "1a=b = c");
    assert_string_equal(all("\xef\xbb\xbf"
                            "a=b\n"),
                        "1a=b");
    assert_string_equal(all("a = [b]\n"), "1a=[b]");
}

static void what_is_none_is_a_fault_and_the_next_is_read(void **state) {
    (void)state;
    assert_string_equal(all("a\nb=c\n"), "1! 2b=c");
    assert_string_equal(all("=a\n[b\n[\n]\nc=d"), "1! 2[! 3[! 4! 5c=d");
    assert_string_equal(all("a ; = b\n"), "1!");
    assert_string_equal(all("[a ; b]\nc=d\n"), "1[! 2c=d");
    assert_string_equal(all("a=\xff\nb=c"), "1! 2b=c");
    assert_string_equal(all("a=\xe2\x82\n"), "1!");
    assert_string_equal(all(" [a\xff]\nb=c"), "1[! 2b=c");
    assert_string_equal(lines_of("[a\0]\nb=c", 8, true), "1[! 2b=c");
    assert_string_equal(lines_of("a=b\0c\nd=e\n", 10, true), "1! 2d=e");
    assert_string_equal(lines_of("\0=b\n", 4, true), "1!");
}

static void a_comment_may_hold_anything(void **state) {
    (void)state;
    assert_string_equal(lines_of("; \0\xff\n#\0\na=b\n", 12, true), "3a=b");
    char *text = malloc(20000);
    memset(text, 'x', 20000);
    text[0] = ';';
    assert_string_equal(lines_of(text, 20000, true), "");
    text[0] = 'a';
    text[1] = '=';
    assert_string_equal(lines_of(text, INI_LINE_BYTES_MAX + 1, true), "1!");
    free(text);
}

static void a_line_of_any_length(void **state) {
    struct ini ini;
    struct ini_line line;
    (void)state;
    for (int more = 0; more < 2; more++) {
        size_t bytes = INI_LINE_BYTES_MAX + (size_t)more;
        char *text = malloc(bytes + 1);
        memset(text, 'x', bytes);
        text[1] = '=';
        ini_begin(&ini, text, bytes, true);
        ini_next(&ini, &line);
        assert_int_equal(line.kind, more ? INI_FAULT : INI_KEY);
        memset(text, 'x', bytes);
        text[1] = '=';
        ini_begin(&ini, text, bytes, false);
        ini_next(&ini, &line);
        assert_int_equal(strlen(line.value), bytes - 2);
        free(text);
    }
}

static void a_comment_behind_a_value_is_cut(void **state) {
    static const struct {
        const char *value, *left;
    } cases[] = {{"a ; b", "a"}, {"a;b", "a;b"},    {"a\t;b", "a"}, {"; a", ""},
                 {"", ""},       {"a;b ;c", "a;b"}, {"a b", "a b"}, {"a ;", "a"}};
    (void)state;
    for (size_t at = 0; at < sizeof cases / sizeof *cases; at++) {
        char value[16];
        strcpy(value, cases[at].value);
        ini_cut_comment(value);
        assert_string_equal(value, cases[at].left);
    }
}

static void quotes_hold_a_comment(void **state) {
    static const struct {
        const char *value, *left;
    } cases[] = {{"\"a ; b\"", "a ; b"}, {"\"a\" ; b", "a"},
                 {"\"a\" b", "\"a\" b"}, {"\"a", "\"a"},
                 {"\"\"", ""},           {"\"a \" ;b\" ;c", "a \" ;b"},
                 {"a\" ;b", "a\""},      {"", ""}};
    (void)state;
    for (size_t at = 0; at < sizeof cases / sizeof *cases; at++) {
        char value[24];
        strcpy(value, cases[at].value);
        assert_string_equal(ini_unquote(value), cases[at].left);
    }
}

// Whatever comes: numbers rise, texts lie in the text, and the end comes.
static void hostile_texts(void **state) {
    static const char bytes[] = "[]=;# \t\r\n\0ab\xff\xc3\xa9";
    uint64_t seed = 42;
    (void)state;
    for (int run = 0; run < 20000; run++) {
        char text[41];
        size_t count = (size_t)run % 40;
        for (size_t at = 0; at < count; at++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            text[at] = bytes[(seed >> 33) % (sizeof bytes - 1)];
        }
        struct ini ini;
        struct ini_line line;
        uint32_t last = 0;
        ini_begin(&ini, text, count, run % 2);
        for (ini_next(&ini, &line); line.kind != INI_END; ini_next(&ini, &line)) {
            assert_true(line.number > last && line.number <= count + 1);
            last = line.number;
            if (line.kind == INI_FAULT)
                continue;
            assert_true(line.key >= text && line.key + strlen(line.key) <= text + count);
            assert_true(line.kind == INI_SECTION ||
                        (line.value > line.key && line.value + strlen(line.value) <= text + count));
            if (line.kind == INI_KEY)
                ini_cut_comment(line.value);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_line_is_one_thing),
        cmocka_unit_test(what_is_none_is_a_fault_and_the_next_is_read),
        cmocka_unit_test(a_comment_may_hold_anything),
        cmocka_unit_test(a_line_of_any_length),
        cmocka_unit_test(a_comment_behind_a_value_is_cut),
        cmocka_unit_test(quotes_hold_a_comment),
        cmocka_unit_test(hostile_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
