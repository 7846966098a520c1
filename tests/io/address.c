#include "io/address.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

// 107 bytes of path and a zero fill the kernel's field.
#define PATH_10  "/234567890"
#define PATH_100 PATH_10 PATH_10 PATH_10 PATH_10 PATH_10 PATH_10 PATH_10 PATH_10 PATH_10 PATH_10

static void good_uris_come_back(void **state) {
    (void)state;
    static const struct {
        const char *uri, *back;
        bool local;
    } CASES[] = {
        {"tcp://127.0.0.1:7411", NULL, true},
        {"tcp://127.255.0.1:0", NULL, true},
        {"tcp://localhost:7411", "tcp://127.0.0.1:7411", true},
        {"tcp://128.0.0.1:1", NULL, false},
        {"tcp://126.0.0.1:1", NULL, false},
        {"tcp://0.0.0.0:65535", NULL, false},
        {"tcp://10.1.2.3:00080", "tcp://10.1.2.3:80", false},
        {"tcp://[::1]:7411", NULL, true},
        {"tcp://[::]:1", NULL, false},
        {"tcp://[2001:DB8::1]:443", "tcp://[2001:db8::1]:443", false},
        {"tcp://[::ffff:127.0.0.1]:1", NULL, false},
        {"unix:///run/patchbay.sock", NULL, true},
        {"unix:///a b%20c", NULL, true},
        {"unix:///run/a?mode=0660&group=staff", "unix:///run/a", true},
        {"unix-lines:///run/a?group=7", "unix-lines:///run/a", true},
        {"unix://" PATH_100 "/234567", NULL, true},
        {"tcp-lines://127.0.0.1:7411", NULL, true},
        {"tcp-lines://localhost:7411", "tcp-lines://127.0.0.1:7411", true},
        {"tcp-lines://[2001:DB8::1]:443", "tcp-lines://[2001:db8::1]:443", false},
        {"tcp-abcdefghijklmno://0.0.0.0:1", NULL, false},
        {"unix-lines:///run/patchbay.sock", NULL, true},
        {"http://localhost:7412", "http://127.0.0.1:7412", true},
        {"ws://[::]:80", NULL, false},
        {"unix-lines://" PATH_100 "/234567", NULL, true},
        {"unix:///tcp-lines://127.0.0.1:1", NULL, true},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct address address;
        char out[256];
        const char *back = CASES[i].back ? CASES[i].back : CASES[i].uri;
        if (address_parse(&address, CASES[i].uri) != 0)
            fail_msg("%s", CASES[i].uri);
        assert_int_equal(address_format(&address, out, sizeof out), strlen(back));
        assert_string_equal(out, back);
        assert_int_equal(address_is_local(&address), CASES[i].local);
    }
}

// How it is spoken there is what stands between the scheme's hyphen and the colon, whether there is such a way
// or not.
static void the_scheme_names_the_transport(void **state) {
    (void)state;
    static const struct {
        const char *uri, *transport;
        bool secure;
    } CASES[] = {
        {"tls://127.0.0.1:1", "", true},       {"tls-lines://[::1]:1", "lines", true},
        {"https://127.0.0.1:1", "http", true}, {"wss://127.0.0.1:1", "ws", true},
        {"ws://127.0.0.1:1", "ws", false},     {"tcp://127.0.0.1:1", "", false},
        {"unix:///a-lines://b", "", false},    {"tcp-lines://127.0.0.1:1", "lines", false},
        {"unix-lines:///a", "lines", false},   {"tcp-x://127.0.0.1:1", "x", false},
        {"http://127.0.0.1:1", "http", false}, {"unix-abcdefghijklmno:///a", "abcdefghijklmno", false},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct address address;
        assert_int_equal(address_parse(&address, CASES[i].uri), 0);
        assert_string_equal(address.transport, CASES[i].transport);
        assert_int_equal(address.secure, CASES[i].secure);
        char again[64];
        address_format(&address, again, sizeof again);
        assert_string_equal(again, CASES[i].uri);
    }
}

static void bad_uris_are_refused(void **state) {
    (void)state;
    static const char *CASES[] = {
        "",
        "tcp",
        "tcp:",
        "tcp://",
        "tcp://:1",
        "tcp://127.0.0.1",
        "tcp://127.0.0.1:",
        "tcp://127.0.0.1:65536",
        "tcp://127.0.0.1:99999",
        "tcp://127.0.0.1:000080",
        "tcp://127.0.0.1:18446744073709551617",
        "tcp://127.0.0.1:-1",
        "tcp://127.0.0.1:+1",
        "tcp://127.0.0.1: 1",
        "tcp://127.0.0.1:1 ",
        "tcp://127.0.0.1:1/",
        "tcp://127.0.0.1:1:1",
        "tcp://127.0.0.1:0x1",
        "tcp://127.0.0:1",
        "tcp://127.0.0.1.1:1",
        "tcp://127.0.0.256:1",
        "tcp:// 127.0.0.1:1",
        "tcp://example.com:1",
        "tcp://localhos:1",
        "tcp://localhost.:1",
        "tcp://0123456789012345678901234567890123456789012345678901234567890123456789:1",
        "tcp://::1:1",
        "tcp://[::1]",
        "tcp://[::1]:",
        "tcp://[::1]1",
        "tcp://[::1:1",
        "tcp://[]:1",
        "tcp://[127.0.0.1]:1",
        "tcp://[localhost]:1",
        "tcp://[fe80::1%lo]:1",
        "tcp://[:::1]:1",
        "https://127.0.0.1",
        "127.0.0.1:1",
        "unix:",
        "unix://",
        "unix:///",
        "unix:///run/",
        "unix:///a?",
        "unix:///a?b",
        "unix:///a/?mode=0660",
        "unix:///a?mode=",
        "unix:///a?mode=066",
        "unix:///a?mode=0680",
        "unix:///a?mode=00660",
        "unix:///a?mode=1660",
        "unix:///a?mode=0060",
        "unix:///a?mode=0660&mode=0660",
        "unix:///a?mode=0660&",
        "unix:///a?group=",
        "unix:///a?group=a&group=a",
        "unix:///a?group=012345678901234567890123456789012",
        "tcp://127.0.0.1:1?mode=0660",
        "unix://run/patchbay.sock",
        "unix:/run/patchbay.sock",
        "tcp-://127.0.0.1:1",
        "tcp-lines:127.0.0.1:1",
        "tcp-lines:/127.0.0.1:1",
        "tcp-lines",
        "tcp-lines://",
        "tcp-lines://127.0.0.1",
        "tcp-Lines://127.0.0.1:1",
        "tcp-lines1://127.0.0.1:1",
        "tcp--lines://127.0.0.1:1",
        "tcp-lines-://127.0.0.1:1",
        "tcp-li nes://127.0.0.1:1",
        "tcp_lines://127.0.0.1:1",
        "tcplines://127.0.0.1:1",
        "tcp4://127.0.0.1:1",
        "tcp-abcdefghijklmnop://127.0.0.1:1",
        "lines://127.0.0.1:1",
        "-lines://127.0.0.1:1",
        "http://nothing",
        "https://127.0.0.1:99999",
        "unix-lines://",
        "unix-lines:///",
        "unix-lines://run/patchbay.sock",
        "unix-:///run/patchbay.sock",
        "unix-lines://" PATH_100 "/2345678",
        "unix://" PATH_100 "/2345678",
        "unix://" PATH_100 PATH_100 PATH_100,
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct address address;
        if (address_parse(&address, CASES[i]) != -EINVAL)
            fail_msg("%s", CASES[i]);
        assert_memory_equal(&address, (&(struct address){0}), sizeof address);
    }
}

static void whose_a_file_is(void **state) {
    (void)state;
    static const struct {
        const char *uri, *group;
        mode_t mode;
    } CASES[] = {
        {"unix:///a", "", 0},
        {"unix:///a?mode=0660&group=staff", "staff", 0660},
        {"unix:///a?group=100&mode=666", "100", 0666},
        {"unix:///a?mode=0600", "", 0600},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct address address;
        assert_int_equal(address_parse(&address, CASES[i].uri), 0);
        assert_int_equal(address.mode, CASES[i].mode);
        assert_string_equal(address.group, CASES[i].group);
    }
}

static void assert_cuts(const char *uri) {
    struct address address;
    char out[40];
    assert_int_equal(address_parse(&address, uri), 0);
    for (size_t capacity = 0; capacity < sizeof out; capacity++) {
        size_t length = strlen(uri), expected = capacity == 0        ? 0
                                                : capacity <= length ? capacity - 1
                                                                     : length;
        memset(out, '#', sizeof out);
        assert_int_equal(address_format(&address, out, capacity), expected);
        assert_memory_equal(out, uri, expected);
        if (capacity > 0)
            assert_int_equal(out[expected], '\0');
        for (size_t i = capacity; i < sizeof out; i++)
            assert_int_equal(out[i], '#');
    }
}

static void a_host_and_a_port_make_an_address(void **state) {
    static const struct {
        const char *host;
        bool is_v6;
        const char *uri; // NULL: it is none
    } cases[] = {{"127.0.0.1", false, "tcp://127.0.0.1:4222"},
                 {"localhost", false, "tcp://127.0.0.1:4222"},
                 {"::1", true, "tcp://[::1]:4222"},
                 {"nats.example", false, NULL},
                 {"::1", false, NULL},
                 {"127.0.0.1", true, NULL},
                 {"256.0.0.1", false, NULL}};
    (void)state;
    for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
        struct address address;
        char uri[64];
        bool good = address_place(&address, cases[index].host, cases[index].is_v6, 4222);
        assert_int_equal(good, cases[index].uri != NULL);
        assert_int_equal(address.bytes > 0, good);
        assert_int_equal(address_is_local(&address), good);
        if (good) {
            address_format(&address, uri, sizeof uri);
            assert_string_equal(uri, cases[index].uri);
        }
    }
}

static void format_cuts_to_its_capacity(void **state) {
    (void)state;
    assert_cuts("tcp://127.0.0.1:7411");
    assert_cuts("tcp-lines://127.0.0.1:7411");
    assert_cuts("unix-lines:///run/hub.sock");
}

// Addresses that accept gives for a client without a name of its own, and a path that fills the field without
// a zero.
static void unix_addresses_as_the_kernel_gives_them(void **state) {
    (void)state;
    struct address address = {.storage.ss_family = AF_UNIX, .bytes = sizeof(sa_family_t)};
    struct sockaddr_un *un = (struct sockaddr_un *)&address.storage;
    char out[256];
    memset(&address.storage, 'x', sizeof address.storage);
    un->sun_family = AF_UNIX;
    assert_int_equal(address_format(&address, out, sizeof out), 7);
    assert_string_equal(out, "unix://");
    address.bytes = sizeof *un;
    assert_int_equal(address_format(&address, out, sizeof out), 7 + sizeof un->sun_path);
}

static void the_default_follows_the_environment(void **state) {
    (void)state;
    char uri[256], expected[64];
    struct address address;
    setenv("XDG_RUNTIME_DIR", "/run/user/1000", 1);
    assert_int_equal(address_default_unix(uri, sizeof uri), 0);
    assert_string_equal(uri, "unix:///run/user/1000/patchbay.sock");
    if (geteuid() == 0)
        snprintf(expected, sizeof expected, "unix:///run/patchbay/patchbay.sock");
    else
        snprintf(expected, sizeof expected, "unix:///tmp/patchbay-%u/patchbay.sock", (unsigned)geteuid());
    static const char *NONE[] = {NULL, "", "relative"};
    for (int i = 0; i < 3; i++) {
        if (NONE[i])
            setenv("XDG_RUNTIME_DIR", NONE[i], 1);
        else
            unsetenv("XDG_RUNTIME_DIR");
        assert_int_equal(address_default_unix(uri, sizeof uri), 0);
        assert_string_equal(uri, expected);
        assert_int_equal(address_parse(&address, uri), 0);
    }
    assert_int_equal(address_default_unix(uri, strlen(expected) + 1), 0);
    assert_int_equal(address_default_unix(uri, strlen(expected)), -ENAMETOOLONG);
    setenv("XDG_RUNTIME_DIR", PATH_100, 1);
    assert_int_equal(address_default_unix(uri, sizeof uri), -ENAMETOOLONG);
    unsetenv("XDG_RUNTIME_DIR");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_uris_come_back),
        cmocka_unit_test(whose_a_file_is),
        cmocka_unit_test(the_scheme_names_the_transport),
        cmocka_unit_test(bad_uris_are_refused),
        cmocka_unit_test(a_host_and_a_port_make_an_address),
        cmocka_unit_test(format_cuts_to_its_capacity),
        cmocka_unit_test(unix_addresses_as_the_kernel_gives_them),
        cmocka_unit_test(the_default_follows_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
