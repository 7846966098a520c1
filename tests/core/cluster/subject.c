// Names as tokens of subjects, and back.
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/cluster/subject.h"

static void assert_token(const char *name, const char *token) {
    char out[SUBJECT_NAME_BYTES_MAX], back[SUBJECT_NAME_BYTES_MAX];
    size_t bytes = subject_escape(out, name, strlen(name));
    assert_int_equal(bytes, strlen(token));
    assert_memory_equal(out, token, bytes);
    assert_int_equal(subject_unescape(back, sizeof back, (const uint8_t *)out, bytes), strlen(name));
    assert_memory_equal(back, name, strlen(name));
}

static void names_become_tokens(void **state) {
    (void)state;
    assert_token("test-agent", "test-agent");
    assert_token("a.b", "a_2Eb");
    assert_token("governance/approval", "governance_2Fapproval");
    assert_token("_", "_5F");
    assert_token("* >", "_2A_20_3E");
    assert_token("\xc3\xa9", "_C3_A9");
}

static void each_byte_comes_back(void **state) {
    (void)state;
    for (unsigned byte = 0; byte < 256; byte++) {
        char name = (char)byte, out[SUBJECT_NAME_BYTES_MAX], back;
        size_t bytes = subject_escape(out, &name, 1);
        assert_true(bytes == 1 || bytes == 3);
        assert_int_equal(subject_unescape(&back, 1, (const uint8_t *)out, bytes), 1);
        assert_int_equal((uint8_t)back, byte);
        assert_null(memchr(out, '.', bytes));
    }
}

// Names are judged many bytes at a time.
static void each_byte_comes_back_from_each_place(void **state) {
    enum { BYTES_MAX = 40 };
    (void)state;
    for (unsigned byte = 1; byte < 256; byte++)
        for (size_t count = 1; count <= BYTES_MAX; count++)
            for (size_t at = 0; at < count; at++) {
                char name[BYTES_MAX], out[SUBJECT_NAME_BYTES_MAX], back[BYTES_MAX];
                bool plain = byte < 128 && (isalnum((int)byte) || byte == '-');
                memset(name, 'n', sizeof name);
                name[at] = (char)byte;
                size_t bytes = subject_escape(out, name, count);
                assert_int_equal(bytes, plain ? count : count + 2);
                assert_int_equal(subject_unescape(back, sizeof back, (const uint8_t *)out, bytes), count);
                assert_memory_equal(back, name, count);
                assert_true(plain ||
                            subject_unescape(back, sizeof back, (const uint8_t *)name, count) == SIZE_MAX);
            }
}

static void what_is_too_long_has_no_token(void **state) {
    static char name[SUBJECT_NAME_BYTES_MAX + 1], out[SUBJECT_NAME_BYTES_MAX];
    (void)state;
    memset(name, 'a', sizeof name);
    assert_int_equal(subject_escape(out, name, SUBJECT_NAME_BYTES_MAX), SUBJECT_NAME_BYTES_MAX);
    assert_int_equal(subject_escape(out, name, sizeof name), 0);
    name[0] = '.';
    assert_int_equal(subject_escape(out, name, SUBJECT_NAME_BYTES_MAX - 2), SUBJECT_NAME_BYTES_MAX);
    assert_int_equal(subject_escape(out, name, SUBJECT_NAME_BYTES_MAX - 1), 0);
    assert_int_equal(subject_escape(out, "", 0), 0);
}

static void other_spellings_mean_nothing(void **state) {
    static const char *const bad[] = {"a.b", "_2e", "_2", "_", "_41", "_2Gx", "a b", "_GG", "\xc3"};
    char out[16];
    (void)state;
    for (size_t at = 0; at < sizeof bad / sizeof *bad; at++)
        assert_true(subject_unescape(out, sizeof out, (const uint8_t *)bad[at], strlen(bad[at])) == SIZE_MAX);
    assert_true(subject_unescape(out, 2, (const uint8_t *)"abc", 3) == SIZE_MAX);
}

static struct subject read_back(const char *cluster, const char *text, size_t bytes) {
    struct subject subject;
    subject_read(cluster, (const uint8_t *)text, (struct span){0, (uint32_t)bytes}, &subject);
    return subject;
}

static void subjects_of_names_are_written_and_read(void **state) {
    static const struct realm realm = {.text = {'1', '-', 'a'}, .bytes = 3};
    static const char *const kinds[] = {"agent.",   "can.",   "tool.",   "method.",
                                        "command.", "event.", "notice.", "name."};
    char out[SUBJECT_BYTES_MAX];
    (void)state;
    for (unsigned kind = 0; kind <= SUBJECT_NAME; kind++) {
        size_t bytes = subject_write(out, "c_1", &realm, (enum subject_kind)kind, "x-1", 3);
        assert_memory_equal(out, "patchbay.c_1.1-a.", 17);
        assert_memory_equal(out + 17, kinds[kind], strlen(kinds[kind]));
        struct subject subject = read_back("c_1", out, bytes);
        assert_int_equal(subject.kind, kind);
        assert_memory_equal(out + subject.realm.at, "1-a", subject.realm.bytes);
        assert_int_equal(subject.token.bytes, 3);
        assert_memory_equal(out + subject.token.at, "x-1", 3);
        assert_int_equal(read_back("c_", out, bytes).kind, SUBJECT_KINDS_COUNT);
        assert_int_equal(read_back("c_1", out, bytes - 4).kind, SUBJECT_KINDS_COUNT); // without a name
    }
}

static void subjects_of_hubs_are_written_and_read(void **state) {
    char out[SUBJECT_BYTES_MAX];
    struct hub_name hub;
    (void)state;
    hub_name_write(&hub, "0123456789abcdef0123456789abcdef", 12);
    for (unsigned kind = SUBJECT_ANSWER; kind <= SUBJECT_GONE; kind++) {
        uint64_t number = kind == SUBJECT_ANSWER || kind == SUBJECT_HELD ? UINT64_C(9007199254740993) : 0;
        size_t bytes = subject_write_hub(out, "c", &hub, (enum subject_kind)kind, number);
        assert_memory_equal(out, "patchbay.c.hub.0123456789abcdef0123456789abcdef-12.", 51);
        struct subject subject = read_back("c", out, bytes);
        assert_int_equal(subject.kind, kind);
        assert_int_equal(subject.number, number);
        assert_int_equal(subject.hub.bytes, hub.bytes);
        assert_memory_equal(out + subject.hub.at, hub.text, hub.bytes);
    }
    for (unsigned kind = SUBJECT_HUBS_BEAT; kind < SUBJECT_KINDS_COUNT; kind++) {
        size_t bytes = subject_write_hub(out, "c", NULL, (enum subject_kind)kind, 0);
        assert_memory_equal(out, "patchbay.c.hubs.", 16);
        assert_int_equal(read_back("c", out, bytes).kind, kind);
    }
}

static void answers_to_a_hub_have_numbers(void **state) {
    char out[SUBJECT_BYTES_MAX], expected[SUBJECT_BYTES_MAX];
    struct answer_subject answers, others;
    struct hub_name hub;
    (void)state;
    hub_name_write(&hub, "0123456789abcdef0123456789abcdef", 12);
    answer_subject_write(&answers, "c", &hub);
    hub_name_write(&hub, "0123456789abcdef0123456789abcdef", 13);
    answer_subject_write(&others, "c", &hub);
    uint32_t bytes = (uint32_t)answer_subject_put(&others, UINT64_C(9007199254740993), out);
    assert_int_equal(bytes,
                     subject_write_hub(expected, "c", &hub, SUBJECT_ANSWER, UINT64_C(9007199254740993)));
    assert_memory_equal(out, expected, bytes);
    struct span all = {0, bytes}, none = {0, others.bytes}, less = {0, others.bytes - 1};
    assert_int_equal(answer_subject_number(&others, (uint8_t *)out, all), UINT64_C(9007199254740993));
    assert_int_equal(answer_subject_number(&answers, (uint8_t *)out, all), 0);
    assert_int_equal(answer_subject_number(&others, (uint8_t *)out, none), 0);
    assert_int_equal(answer_subject_number(&others, (uint8_t *)out, less), 0);
    out[others.bytes] = '0'; // hubs write no zero before a number
    assert_int_equal(answer_subject_number(&others, (uint8_t *)out, all), 0);
}

static void other_subjects_are_none(void **state) {
    static const char *const bad[] = {"patchbay.c",
                                      "patchbay.c.",
                                      "patchbay.d.1.agent.x",
                                      "patchbay.c.1.agent",
                                      "patchbay.c.1.agent.",
                                      "patchbay.c.1.none.x",
                                      "patchbay.c.1.agent.x.y",
                                      "patchbay.c.hub.H",
                                      "patchbay.c.hub.H.x",
                                      "patchbay.c.hub..answer.1",
                                      "patchbay.c.hub.H.taken.1",
                                      "patchbay.c.hub.H.answer.01",
                                      "patchbay.c.hub.H.answer.x",
                                      "patchbay.c.hubs",
                                      "patchbay.c.hubs.beat.x",
                                      "patchbay.c.hubs.x",
                                      "$SRV.PING",
                                      "x"};
    (void)state;
    for (size_t at = 0; at < sizeof bad / sizeof *bad; at++)
        assert_int_equal(read_back("c", bad[at], strlen(bad[at])).kind, SUBJECT_KINDS_COUNT);
}

static void clusters_have_names(void **state) {
    static char name[CLUSTER_NAME_BYTES_MAX + 2];
    (void)state;
    assert_true(subject_is_cluster("prod_1-A"));
    assert_false(subject_is_cluster(""));
    assert_false(subject_is_cluster("a.b"));
    assert_false(subject_is_cluster("a b"));
    memset(name, 'a', CLUSTER_NAME_BYTES_MAX);
    assert_true(subject_is_cluster(name));
    name[CLUSTER_NAME_BYTES_MAX] = 'a';
    assert_false(subject_is_cluster(name));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_become_tokens),
        cmocka_unit_test(each_byte_comes_back),
        cmocka_unit_test(each_byte_comes_back_from_each_place),
        cmocka_unit_test(what_is_too_long_has_no_token),
        cmocka_unit_test(other_spellings_mean_nothing),
        cmocka_unit_test(subjects_of_names_are_written_and_read),
        cmocka_unit_test(subjects_of_hubs_are_written_and_read),
        cmocka_unit_test(answers_to_a_hub_have_numbers),
        cmocka_unit_test(other_subjects_are_none),
        cmocka_unit_test(clusters_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
