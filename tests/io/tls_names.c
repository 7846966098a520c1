// Which names of a certificate count: what a user could be known by.
#include "io/tls.h"

#include <openssl/evp.h>
#include <openssl/x509v3.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct shown {
    unsigned count;
    char names[8][64];
    const char *wanted; // at which it stops
};

static bool show(void *context, const char *name, size_t bytes) {
    struct shown *shown = context;
    assert_true(shown->count < 8 && bytes < sizeof shown->names[0]);
    memcpy(shown->names[shown->count], name, bytes);
    shown->names[shown->count++][bytes] = '\0';
    return shown->wanted && strcmp(shown->wanted, shown->names[shown->count - 1]) == 0;
}

// With these CNs in its subject, and subjectAltName as openssl's configuration spells it (NULL: none).
static X509 *make(const char *const *common_names, const char *alternatives) {
    X509 *certificate = X509_new();
    assert_non_null(certificate);
    for (; *common_names; common_names++)
        assert_int_equal(X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                                                    (const unsigned char *)*common_names, -1, -1, 0),
                         1);
    if (!alternatives)
        return certificate;
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, alternatives);
    assert_non_null(extension);
    assert_int_equal(X509_add_ext(certificate, extension, -1), 1);
    X509_EXTENSION_free(extension);
    return certificate;
}

static void all_alternatives_and_no_common_name(void **state) {
    (void)state;
    X509 *certificate =
        make((const char *[]){"nobody", NULL},
             "DNS:*.example,email:a@b.example,URI:spiffe://x/y,IP:127.0.0.1,IP:::1,RID:1.2.3");
    static const char *const expected[] = {"*.example", "a@b.example", "spiffe://x/y", "127.0.0.1", "::1"};
    struct shown shown = {0};
    assert_false(tls_names_visit(certificate, show, &shown));
    assert_int_equal(shown.count, 5);
    for (unsigned index = 0; index < 5; index++)
        assert_string_equal(shown.names[index], expected[index]);
    shown = (struct shown){.wanted = "a@b.example"};
    assert_true(tls_names_visit(certificate, show, &shown));
    assert_int_equal(shown.count, 2);
    X509_free(certificate);
}

static void the_last_common_name_where_there_is_nothing_else(void **state) {
    (void)state;
    X509 *certificate = make((const char *[]){"first", "l\xc3\xa4st", NULL}, NULL);
    struct shown shown = {0};
    assert_false(tls_names_visit(certificate, show, &shown));
    assert_int_equal(shown.count, 1);
    assert_string_equal(shown.names[0], "l\xc3\xa4st");
    X509_free(certificate);
    certificate = make((const char *[]){NULL}, NULL);
    shown = (struct shown){0};
    assert_false(tls_names_visit(certificate, show, &shown));
    assert_int_equal(shown.count, 0);
    X509_free(certificate);
}

static void add_names(X509 *certificate, GENERAL_NAMES *names) {
    assert_int_equal(X509_add1_ext_i2d(certificate, NID_subject_alt_name, names, 0, X509V3_ADD_APPEND), 1);
    GENERAL_NAMES_free(names);
}

static void no_name_with_a_zero_byte(void **state) {
    (void)state;
    static const char name[] = "ci\0.attacker.example";
    X509 *certificate = make((const char *[]){"ci", NULL}, NULL);
    GENERAL_NAMES *names = GENERAL_NAMES_new();
    GENERAL_NAME *one = GENERAL_NAME_new();
    ASN1_IA5STRING *text = ASN1_IA5STRING_new();
    assert_int_equal(ASN1_STRING_set(text, name, sizeof name - 1), 1);
    GENERAL_NAME_set0_value(one, GEN_DNS, text);
    assert_true(sk_GENERAL_NAME_push(names, one) > 0);
    add_names(certificate, names);
    struct shown shown = {0};
    assert_false(tls_names_visit(certificate, show, &shown));
    assert_int_equal(shown.count, 0); // nor its CN, since it has another name
    X509_free(certificate);
}

// A name that can't be read, or is there twice, isn't taken for none.
static void no_common_name_in_the_place_of_what_is_unclear(void **state) {
    (void)state;
    X509 *certificate = make((const char *[]){"ci", NULL}, "DNS:a");
    GENERAL_NAMES *names = GENERAL_NAMES_new();
    add_names(certificate, names);
    struct shown shown = {0};
    assert_false(tls_names_visit(certificate, show, &shown));
    assert_int_equal(shown.count, 0);
    X509_free(certificate);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_alternatives_and_no_common_name),
        cmocka_unit_test(the_last_common_name_where_there_is_nothing_else),
        cmocka_unit_test(no_name_with_a_zero_byte),
        cmocka_unit_test(no_common_name_in_the_place_of_what_is_unclear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
