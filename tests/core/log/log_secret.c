// Credentials in a line, by their form and by what they are, wherever they stand and however they are cut.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/log/log_secret.h"

static void credentials_by_their_form(void **state) {
    (void)state;
    static const struct {
        const char *before, *after;
    } table[] = {
        {"nats://user:pass@host:4222", "nats://***@host:4222"},
        {"a nats://u:p@h1,nats://u:p@h2/x b", "a nats://***@h2/x b"},
        {"tls://u:p/w?d#@d@host", "tls://***@host"},
        {"HTTP://x@y http://z@w", "HTTP://*@y http://*@w"},
        {"tcp://127.0.0.1:7411 a@b", "tcp://127.0.0.1:7411 a@b"},
        {"'unix:///run/a@b'", "'unix://***@b'"},
        {"://", "://"},
        {"Authorization: Bearer abcdefgh", "Authorization: Bearer ***"},
        {"a bearer of news", "a bearer of news"},
        {"Authorization: Bearer  abcdefgh", "Authorization: Bearer  ***"},
        {"bearer\tabcdefgh", "bearer\t***"},
        {"Bearer \x1b[1mabcdefgh\x1b[0m", "Bearer \x1b[1m***\x1b[0m"},
        {"\x1b[36mghp_0123456789abcdef\x1b[0m", "\x1b[36m***\x1b[0m"},
        {"Authorization: Basic  dTpzM2NyZXQ=", "Authorization: Basic  ***"},
        {"http://a://b c://d@e", "http://a://b c://*@e"},
        {"http://a/sk-0123456789abcdefghijklmnop b://c:d@e", "http://a/*** b://***@e"},
        {"Authorization: Basic dTpzM2NyZXQ=\"", "Authorization: Basic ***\""},
        {"basic authentication", "basic authentication"},
        {"jwt eyJhbGciOiJFZERTQSJ9.eyJzdWIi.c2ln,", "jwt ***,"},
        {"keyJournal eyJ", "keyJournal eyJ"},
        {"pb_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopq", "***"},
        {"pb_short", "pb_short"},
        {"ghp_0123456789abcdef, (github_pat_0123456789abcdef)", "***, (***)"},
        {"sk-ant-0123456789abcdef glpat-0123456789abcd", "*** ***"},
        {"task-0123456789abcdefgh disk-0123456789abcdefgh sk-short",
         "task-0123456789abcdefgh disk-0123456789abcdefgh sk-short"},
        {"seed SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY.", "seed ***."},
        {"SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VYA",
         "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VYA"},
    };
    for (size_t at = 0; at < sizeof table / sizeof *table; at++) {
        char text[256];
        strcpy(text, table[at].before);
        text[log_hide_credentials(text, strlen(text))] = '\0';
        assert_string_equal(text, table[at].after);
    }
}

static void values_by_their_name(void **state) {
    (void)state;
    static const struct {
        const char *before, *after;
    } table[] = {
        {"password=hunter2 user=bob", "password=*** user=bob"},
        {"DB_PASSWORD = 'two words', x", "DB_PASSWORD = '***', x"},
        {"{\"access_token\": \"abcd\", \"user\": \"bob\"}", "{\"access_token\": \"***\", \"user\": \"bob\"}"},
        {"\"{\\\"apiKey\\\":\\\"abcd\\\"}\"", "\"{\\\"apiKey\\\":\\\"***\\\"}\""},
        {"GET /x?api-key=abcd&b=1", "GET /x?api-key=***&b=1"},
        {"--secret-key=abcd --port=8080", "--secret-key=*** --port=8080"},
        {"token: abcdef", "token: ***"},
        {"Authorization: Token abcdef", "Authorization: Token ***"},
        {"authorization: abcdef from here", "authorization: ***"},
        {"Proxy-Authorization: Bearer ***", "Proxy-Authorization: Bearer ***"},
        {"`token`: abcdef", "`token`: ***"},
        {"token: `two words`, x", "token: `***`, x"},
        {"can't reach u:abcd@host:1, (u:p@h)", "can't reach ***@host:1, (***@h)"},
        {"at 10:20:30 a@b npm:@a/b@1 node:20@sha256:abcd", "at 10:20:30 a@b npm:@a/b@1 node:20@sha256:abcd"},
        {"tokens: 12345, max_tokens=4096", "tokens: 12345, max_tokens=4096"},
        {"password: on", "password: on"},
        {"the password was wrong", "the password was wrong"},
        {"password=", "password="},
        {"=", "="},
        {"Bearer: abcd, bearer=abcd", "Bearer: ***, bearer=***"},
        {"authorization: basic  abcd", "authorization: basic  ***"},
        {"Authorization: Digest username=\"a\", response=\"b\"", "Authorization: Digest ***"},
        {"{\"authorization\":[\"Bearer abcd\"]}", "{\"authorization\":[***]}"},
        {"Set-Cookie: a=b; c=d", "Set-Cookie: ***"},
        {"token=\x1b[1mabcd\x1b[0m x", "token=\x1b[1m***\x1b[0m x"},
        {"\x1b[36mtoken\x1b[0m=abcd\x1b[1mef", "\x1b[36mtoken\x1b[0m=***"},
        {"token=\"abcd\\\"rest\" x", "token=\"***\" x"},
        {"password='it\\'s here' x", "password='***' x"},
        {"token=\"abcd\\\\\" x", "token=\"***\" x"},
        {"password=b'abcd', token=u'abcd'", "password=b'***', token=u'***'"},
        {"token=[\"abcd\"] x", "token=[***] x"},
        {"token={\"value\":\"a}bcd\"} x", "token={***} x"},
        {"token: (abcd x", "token: (***"},
        {"token=abcdefg,hijk x", "token=*** x"},
        {"\"api_key\" => \"abcd\"", "\"api_key\" => \"***\""},
        {"token := \"abcd\", token == abcd", "token := \"***\", token == ***"},
        {"password -> abcd", "password -> ***"},
        {"pwd=abcd passcode: 1234", "pwd=*** passcode: ***"},
        {"<password>two words</password>", "<password>***</password>"},
        {"run --token abcd --api-key\tabcd --token --x", "run --token *** --api-key\t*** --token --x"},
        {"access_token%3Dabcd%26", "access_token%3D***"},
        {"%22token%22%3A%22abcd", "%22token%22%3A%22***"},
        {"headers[\"token\"] = abcd", "headers[\"token\"] = ***"},
        {"token\xef\xbc\x9d"
         "abcd",
         "token\xef\xbc\x9d***"},
        {"the token is new, a > b, a -> b", "the token is new, a > b, a -> b"},
        {"token=\"", "token=\""},
    };
    for (size_t at = 0; at < sizeof table / sizeof *table; at++) {
        char text[256];
        strcpy(text, table[at].before);
        text[log_hide_named(text, strlen(text))] = '\0';
        assert_string_equal(text, table[at].after);
        text[log_hide_named(text, strlen(text))] = '\0'; // what is hidden stays so
        assert_string_equal(text, table[at].after);
    }
}

static void a_secret_that_is_known(void **state) {
    (void)state;
    static const struct {
        const char *before, *secret, *after;
    } table[] = {
        {"a s3cret b s3crets3cret", "s3cret", "a *** b ******"},
        {"on", "on", "on"},
        {"it ends in s3cr", "s3cret", "it ends in ***"},
        {"it ends in s3c", "s3cret", "it ends in s3c"},
        {"s3cret", "s3cret", "***"},
        {"", "s3cret", ""},
        {"{\"key\": \"a\\\"\\\\\\n\\u00e9\"}", "a\"\\\n\xc3\xa9", "{\"key\": \"***\"}"},
        {"?a%22%5c%C3%A9&", "a\"\\\xc3\xa9", "?***&"},
        {"aaaaaaaaa", "aaaa", "*********"},
    };
    for (size_t at = 0; at < sizeof table / sizeof *table; at++) {
        char text[64];
        strcpy(text, table[at].before);
        text[log_hide_secret(text, strlen(text), table[at].secret, strlen(table[at].secret), true)] = '\0';
        if (strcmp(table[at].secret, "aaaa") == 0)
            assert_string_equal(text, "******a");
        else
            assert_string_equal(text, table[at].after);
    }
}

// Nothing is read or written outside, however short the text is.
static void each_beginning(void **state) {
    (void)state;
    const char *all = "x nats://u:p@h Bearer abcdefghijk eyJabcdefghijklmnopqrstuvw \"password\": \"abcd\" "
                      "authorization: token abcd s3cret Bearer  \x1b[1mabcdefghijk\x1b[0m token=b'a\\'bcd' "
                      "--token abcd token=[\"abcd\", (a)] <password>a b</password> %22token%22%3A%22abcd";
    for (size_t bytes = 0; bytes <= strlen(all); bytes++) {
        char *text = malloc(bytes + 1);
        assert_non_null(text);
        memcpy(text, all, bytes);
        size_t left = log_hide_credentials(text, bytes);
        assert_true(left <= bytes);
        left = log_hide_named(text, left);
        assert_true(left <= bytes);
        left = log_hide_secret(text, left, "s3cret", 6, true);
        assert_true(left <= bytes);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(credentials_by_their_form),
        cmocka_unit_test(values_by_their_name),
        cmocka_unit_test(a_secret_that_is_known),
        cmocka_unit_test(each_beginning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
