// Fields of a head: methods, targets, fields given, repeated and absent, lists, media types, and the
// parameters of a query.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/wire/http.h"
#include "core/wire/http_request.h"

static const struct unit_limits usual_limits = {.header_bytes_max = 8192, .body_bytes_max = 100};

#define HOST "Host: a\r\n"

static uint8_t head[8192];
static struct unit unit;
static struct http_request request;

static void read_head(const char *text) {
    size_t bytes = strlen(text);
    assert_true(bytes <= sizeof head);
    memcpy(head, text, bytes);
    unit_begin(&unit);
    assert_int_not_equal(http_scan(&unit, head, bytes, &usual_limits), UNIT_BAD);
    assert_int_equal(unit.body_at, bytes);
    http_read(head, &unit, &request);
}

static void assert_span(struct span span, const char *text) {
    assert_int_equal(span.bytes, strlen(text));
    assert_memory_equal(head + span.at, text, span.bytes);
    assert_true(http_span_is(head, span, text));
}

static void reads_methods(void **state) {
    (void)state;
    static const struct {
        const char *text;
        enum http_method method;
        const char *name;
    } rows[] = {
        {"GET / HTTP/1.1\r\n" HOST "\r\n", HTTP_GET, "GET"},
        {"\r\nHEAD / HTTP/1.1\r\n" HOST "\r\n", HTTP_HEAD, "HEAD"},
        {"POST / HTTP/1.1\r\n" HOST "\r\n", HTTP_POST, "POST"},
        {"OPTIONS / HTTP/1.1\r\n" HOST "\r\n", HTTP_OPTIONS, "OPTIONS"},
        {"get / HTTP/1.1\r\n" HOST "\r\n", HTTP_OTHER_METHOD, "get"},
        {"GETS / HTTP/1.1\r\n" HOST "\r\n", HTTP_OTHER_METHOD, "GETS"},
        {"PUT / HTTP/1.1\r\n" HOST "\r\n", HTTP_OTHER_METHOD, "PUT"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        read_head(rows[i].text);
        assert_int_equal(request.method, rows[i].method);
        assert_span(request.line.method, rows[i].name);
    }
}

static void reads_targets(void **state) {
    (void)state;
    static const struct {
        const char *text, *path, *query, *authority;
    } rows[] = {
        {"GET / HTTP/1.1\r\n" HOST "\r\n", "/", "", ""},
        {"GET /rpc HTTP/1.1\r\n" HOST "\r\n", "/rpc", "", ""},
        {"GET /rpc? HTTP/1.1\r\n" HOST "\r\n", "/rpc", "", ""},
        {"GET /events?pattern=a&pattern=b?c HTTP/1.1\r\n" HOST "\r\n", "/events", "pattern=a&pattern=b?c",
         ""},
        {"OPTIONS * HTTP/1.1\r\n" HOST "\r\n", "*", "", ""},
        {"GET http://A/rpc?x HTTP/1.1\r\n" HOST "\r\n", "/rpc", "x", "A"},
        {"GET http://a HTTP/1.1\r\n" HOST "\r\n", "/", "", "a"},
        {"\r\nGET http://a?x=/ HTTP/1.1\r\n" HOST "\r\n", "/", "x=/", "a"},
        {"GET //a/b HTTP/1.1\r\n" HOST "\r\n", "//a/b", "", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        read_head(rows[i].text);
        assert_span(request.line.path, rows[i].path);
        assert_span(request.line.query, rows[i].query);
        assert_span(request.line.authority, rows[i].authority);
    }
}

static void reads_authorities(void **state) {
    (void)state;
    static const struct {
        const char *text, *host;
        uint32_t port;
    } rows[] = {
        {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "a", 0},
        {"GET / HTTP/1.1\r\nHost: a:\r\n\r\n", "a", 0},
        {"GET / HTTP/1.1\r\nHost: localhost:7412\r\n\r\n", "localhost", 7412},
        {"GET / HTTP/1.1\r\nHost: [::1]:65535\r\n\r\n", "[::1]", 65535},
        {"GET / HTTP/1.1\r\nhost:127.0.0.1:80 \r\n\r\n", "127.0.0.1", 80},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        read_head(rows[i].text);
        assert_span(request.authority.host, rows[i].host);
        assert_int_equal(request.authority.port, rows[i].port);
    }
}

static void stays_or_closes(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool keep_alive, is_1_0;
    } rows[] = {
        {"GET / HTTP/1.1\r\n" HOST "\r\n", true, false},
        {"GET / HTTP/1.2\r\n" HOST "\r\n", true, false},
        {"GET / HTTP/1.0\r\n" HOST "\r\n", false, true},
        {"GET / HTTP/1.0\r\n" HOST "Connection: keep-alive\r\n\r\n", false, true},
        {"GET / HTTP/1.1\r\n" HOST "Connection: keep-alive\r\n\r\n", true, false},
        {"GET / HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n", false, false},
        {"GET / HTTP/1.1\r\n" HOST "Connection: Upgrade , CLOSE\t,\r\n\r\n", false, false},
        {"GET / HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nConnection: close\r\n\r\n", false, false},
        {"GET / HTTP/1.1\r\n" HOST "Connection: closed, a close\r\n\r\n", true, false},
        {"GET / HTTP/1.1\r\n" HOST "Connections: close\r\nXonnection: close\r\n\r\n", true, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        read_head(rows[i].text);
        assert_int_equal(request.keep_alive, rows[i].keep_alive);
        assert_int_equal(request.is_1_0, rows[i].is_1_0);
    }
}

static const char *const names[] = {
#define X(name, text) [name] = (text),
    HTTP_FIELDS(X)
#undef X
};

// Each field alone, in either case, and twice.
static void finds_every_field(void **state) {
    (void)state;
    for (unsigned field = 0; field < HTTP_FIELDS_COUNT; field++) {
        char name[40], text[400];
        strcpy(name, names[field]);
        for (char *byte = name; *byte && field % 2; byte++)
            *byte = (char)(*byte >= 'a' && *byte <= 'z' ? *byte - 0x20 : *byte);
        bool host = field == HTTP_HOST;
        snprintf(text, sizeof text, "GET / HTTP/1.1\r\n%s%s: one \r\n\r\n", host ? "" : HOST, name);
        read_head(text);
        assert_int_equal(request.present, 1u << field | 1u << HTTP_HOST);
        assert_int_equal(request.repeated, 0);
        assert_span(request.fields[field], "one");
        if (host || field == HTTP_CONTENT_TYPE) // may come once only
            continue;
        snprintf(text, sizeof text, "GET / HTTP/1.1\r\n%s:one\r\n" HOST "%s:\ttwo\r\n\r\n", name,
                 names[field]);
        read_head(text);
        assert_int_equal(request.repeated, 1u << field);
        assert_true(http_has_field(&request, field) && http_repeated(&request, field));
        assert_span(request.fields[field], "one");
        assert_true(http_lists(head, &unit, field, "one") && http_lists(head, &unit, field, "two"));
        assert_false(http_lists(head, &unit, field, "three") || http_lists(head, &unit, HTTP_HOST, "one"));
    }
    read_head("GET / HTTP/1.1\r\n" HOST "Origin2: a\r\nHos: b\r\nCookie: c\r\nOrigin:\r\n\r\n");
    assert_int_equal(request.present, 1u << HTTP_ORIGIN | 1u << HTTP_HOST);
    assert_int_equal(request.fields[HTTP_ORIGIN].bytes, 0);
}

static void judges_media_types(void **state) {
    (void)state;
    static const struct {
        const char *value;
        bool is;
    } rows[] = {
        {"application/json", true},
        {"Application/JSON", true},
        {"application/json ; charset=\"UTF-8\"", true},
        {"application/json;v=1", true},
        {"application/json; charset=latin1", false},
        {"application/json; charset=\"utf-8", false},
        {"application/jsonx", false},
        {"application/jso", false},
        {"text/plain; application/json", false},
        {"application/json, text/plain", false},
        {"", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct span value = {0, (uint32_t)strlen(rows[i].value)};
        assert_int_equal(http_media_type_is((const uint8_t *)rows[i].value, value, "application/json"),
                         rows[i].is);
    }
}

// Walks a query and writes what it finds: name=value; or ! for one that can't be read.
static void walk(const char *query, uint32_t capacity, char *out) {
    size_t bytes = strlen(query);
    uint8_t *text = malloc(bytes + 1); // so that a read past it is found
    char *decoded = malloc(capacity + 1);
    struct http_parameter parameter;
    uint32_t at = 0;
    memcpy(text, query, bytes);
    for (;;) {
        enum http_parameter_step step =
            http_parameter_next(text, (struct span){0, (uint32_t)bytes}, &at, decoded, capacity, &parameter);
        if (step == HTTP_PARAMETERS_END)
            break;
        if (step == HTTP_PARAMETER)
            out += sprintf(out, "%.*s=%.*s;", (int)parameter.name_bytes, parameter.name,
                           (int)parameter.value_bytes, parameter.value);
        else
            out += sprintf(out, "%c", step == HTTP_PARAMETER_BAD ? '!' : '>');
    }
    *out = '\0';
    assert_int_equal(at, bytes);
    free(text);
    free(decoded);
}

static void decodes_parameters(void **state) {
    (void)state;
    static const struct {
        const char *query, *found;
    } rows[] = {
        {"", ""},
        {"&&", ""},
        {"a=b", "a=b;"},
        {"a", "a=;"},
        {"a=", "a=;"},
        {"=b", "=b;"},
        {"=", "=;"},
        {"a=b=c", "a=b=c;"},
        {"&a=b&&c=d&", "a=b;c=d;"},
        {"pattern=build-*&pattern=%2A", "pattern=build-*;pattern=*;"},
        {"a=1%202+3%2B4", "a=1 2 3+4;"},
        {"%61%3d=%26%3D", "a==&=;"},
        {"a=%c3%A9", "a=\xc3\xa9;"},
        {"a=%&b=c", "!b=c;"},
        {"a=%2&b=c", "!b=c;"},
        {"a=%zz", "!"},
        {"a=%2z", "!"},
        {"a=%%41", "!"},
        {"%=a", "!"},
        {"a=%00", "!"},
        {"%00", "!"},
        {"a=%c3", "!"},
        {"a=%c3&b=%a9", "!!"},
        {"%c3=%a9", "!"},
        {"a=%ed%a0%80", "!"},
        {"a=%c0%80", "!"},
        {"a=12345678901234567", "a=12345678901234567;"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char found[100];
        walk(rows[i].query, (uint32_t)strlen(rows[i].query), found);
        assert_string_equal(found, rows[i].found);
    }
}

static void keeps_to_the_capacity(void **state) {
    (void)state;
    char found[100];
    walk("ab=cd&e=f", 4, found);
    assert_string_equal(found, "ab=cd;e=f;");
    walk("ab=cd&e=f", 3, found);
    assert_string_equal(found, ">e=f;");
    walk("ab=cd&e=f", 1, found);
    assert_string_equal(found, ">>");
    walk("=%41&a", 0, found);
    assert_string_equal(found, ">>");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_methods),      cmocka_unit_test(reads_targets),
        cmocka_unit_test(reads_authorities),  cmocka_unit_test(stays_or_closes),
        cmocka_unit_test(finds_every_field),  cmocka_unit_test(judges_media_types),
        cmocka_unit_test(decodes_parameters), cmocka_unit_test(keeps_to_the_capacity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
