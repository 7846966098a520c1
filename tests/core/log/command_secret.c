// Secrets in a command line, whatever quotes they stand in.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/base/argv.h"
#include "core/log/log_secret.h"

// The command without its secrets: a C string, for the caller to deinit.
static struct text hide(const char *command) {
    struct text shown = {0};
    log_hide_command(command, &shown);
    text_add(&shown, "", 1);
    assert_false(shown.failed);
    return shown;
}

static void the_table(void **state) {
    (void)state;
    static const struct {
        const char *before, *after; // NULL: the same
    } table[] = {
        {"prog --token=abcd -v", "prog --token=*** -v"},
        {"prog --token abcd -v", "prog --token *** -v"},
        {"prog --token\t \tabcd\t-v", "prog --token\t \t***\t-v"},
        {"--token=ab\"x\"", "--token=***"},
        {"--token se\\ x y", "--token *** y"},
        {"--token a'b c'\"d\\\"e\"f y", "--token *** y"},
        {"--to'ken' abcd", "--to'ken' ***"},
        {"--to\\ken=abcd", "--token=***"},
        {"\"--token\" abcd", "\"--token\" ***"},
        {"--token=\\\"abcd\\\" y", "--token=*** y"},
        {"prog --db-password=\"two words\" x", "prog --db-password=*** x"},
        {"prog --db-password 'two words' x", "prog --db-password *** x"},
        {"prog '--api-key=two words' x", "prog --api-key=*** x"},
        {"-H \"X-Api-Key: x\" y", "-H 'X-Api-Key: ***' y"},
        {"-H X-Api-Key:x", "-H X-Api-Key:***"},
        {"-H X-Api-Key: x y", "-H X-Api-Key: *** y"},
        {"-H 'Authorization: Bearer x y'", "-H 'Authorization: ***'"},
        {"Authorization: Bearer x y", "Authorization: *** *** y"},
        {"--auth Token x y", "--auth *** *** y"},
        {"Bearer abcd\\ efgh y", "Bearer *** y"},
        {"--bearer x", "--bearer ***"},
        {"--auth=x --pass x --pwd=x", "--auth=*** --pass *** --pwd=***"},
        {"--basic-auth u:p --cookie a=b --jwt e", "--basic-auth *** --cookie *** --jwt ***"},
        {"prog --pat x --github-pat=x GIT_PAT=x", "prog --pat *** --github-pat=*** GIT_PAT=***"},
        {"prog --compat x --format x", NULL},
        {"env SSHPASS=x MYSQL_PWD=x dbPass=x prog", "env SSHPASS=*** MYSQL_PWD=*** dbPass=*** prog"},
        {"--token -abcd", "--token ***"},
        {"--token --password abcd", "--token *** ***"},
        {"--config '{\"token\": \"abcd\"}'", "--config '{\"token\": ***'"},
        {"--config \"{\\\"it's\\\": 1, \\\"apiKey\\\":\\\"abcd\\\"}\"",
         "--config '{\"it'\\''s\": 1, \"apiKey\":***'"},
        {"sh -c \"prog --token abcd; prog -x\" y", "sh -c 'prog --token ***' y"},
        {"sh -c \"'--token' 'abcd'\" y", "sh -c ''\\''--token'\\'' ***' y"},
        {"sh -c \"TOKEN=abcd prog\" --secret=abcd", "sh -c TOKEN=*** --secret=***"},
        {"env TOKEN=abcd,efgh;ijkl prog", "env TOKEN=*** prog"},
        {"prog --token=\"abcd", "prog --token=***"},
        {"prog --token abcd\\", "prog --token ***"},
        {"prog nats://u:p\\ w'x'@host y", "prog nats://***@host y"},
        {"prog nats://u@host", "prog nats://***@host"},
        {"prog ht\"tp://u:p@h\"/?token=abcd", "prog http://***@h/?token=***"},
        // -u and --user take a name and a password.
        {"curl -u u:abcd https://h", "curl -u *** https://h"},
        {"curl -sSu \"u:two words\" x", "curl -sSu *** x"},
        {"curl -uu:abcd --user=u:abcd x", "curl -uu:*** --user=*** x"},
        {"curl -U u:abcd --proxy-user u:abcd x", "curl -U *** --proxy-user *** x"},
        {"sh -c 'curl -u u:abcd https://h' y", "sh -c 'curl -u ***' y"},
        {"sh -c 'curl -uu:abcd https://h' y", "sh -c 'curl -uu:***' y"},
        {"PROXY_USER=u:abcd prog", "PROXY_USER=*** prog"},
        {"prog u:abcd@h:1/x --url=u:abcd@h y", "prog ***@h:1/x --url=***@h y"},
        {"sh -c 'prog u:abcd@h' y", "sh -c 'prog ***@h' y"},
        // No shell runs, but a command may be written as for one.
        {"prog --token=`echo abcd` x", "prog --token=*** *** x"},
        {"prog --token `echo a abcd` x", "prog --token *** *** *** x"},
        {"prog --token=$(echo abcd) x", "prog --token=*** *** x"},
        {"prog --token=`abcd` x", "prog --token=*** x"},
        {"prog '{`token`: abcd}'", "prog '{`token`: ***'"},
        // A name in the plural has a list, or is a number.
        {"prog --tokens=ab,cd --api-keys ab,cd", "prog --tokens=*** --api-keys ***"},
        {"prog --token= abcd x", "prog --token= *** x"},
        // No secret is in these.
        {"docker run -u 1000:1000 --user 0:0 -u1:1 node:20@sha256:abcd --user bob", NULL},
        {"prog -u bob npm:@a/b@1 host:80 a@b", NULL},
        {"env API_KEY= prog", NULL},
        {"", ""},
        {" \t", " \t"},
        {" a\\ b  'c d'\t\"e\\\"f\" '' \n", " a\\ b  'c d'\t\"e\\\"f\" '' \n"},
        {"prog --token= --verbose", "prog --token= --verbose"},
        {"prog --mode=token serve", "prog --mode=token serve"},
        {"prog --token '' x", "prog --token '' x"},
        {"prog --token-file /etc/token --max-tokens 4096 --tokens=4096",
         "prog --token-file /etc/token --max-tokens 4096 --tokens=4096"},
        {"prog --token = abcd x", "prog --token = *** x"},
        {"prog --token : abcd x", "prog --token : *** x"},
        {"prog --token -- abcd x", "prog --token -- *** x"},
        {"prog print-token hello", "prog print-token hello"},
        {"sh -c 'print-token hello'", "sh -c 'print-token hello'"},
        {"--token", "--token"},
        {"--token ", "--token "},
        {"'token='", "'token='"},
        {"'open", "'open"},
    };
    for (size_t row = 0; row < sizeof table / sizeof *table; row++) {
        const char *after = table[row].after ? table[row].after : table[row].before;
        struct text once = hide(table[row].before), twice = hide(once.bytes);
        assert_string_equal(once.bytes, after);
        assert_string_equal(twice.bytes, after); // what is hidden stays so
        text_deinit(&once);
        text_deinit(&twice);
    }
}

// A command in quotes is one word.
static void one_word(void **state) {
    (void)state;
    static const char *const table[][2] = {
        {"/bin/x --token=abcd", "/bin/x --token=***"},
        {"/bin/x --token abcd", "/bin/x --token ***"},
        {"/bin/x?token=abcd", "/bin/x?token=***"},
        {"/bin/x -H \"X-Api-Key: abcd\"", "/bin/x -H \"X-Api-Key: ***"},
        {"/opt/My Tools/x", "/opt/My Tools/x"},
        {"", ""},
    };
    for (size_t row = 0; row < sizeof table / sizeof *table; row++) {
        struct text shown = {0};
        log_hide_word(table[row][0], &shown);
        text_add(&shown, "", 1);
        assert_string_equal(shown.bytes, table[row][1]);
        text_deinit(&shown);
    }
}

// The program of a child whose name is missing is the secret.
static void a_program(void **state) {
    (void)state;
    static const char *const table[][3] = {
        {"a", "/bin/x", "/bin/x"},  {"a", "/bin/x --token=abcd", "/bin/x --token=***"},
        {"token", "abcd", "***"},   {"API_KEY", "/bin/abcd", "***"},
        {"user", "u:abcd", "***"},  {"user", "/bin/x", "/bin/x"},
        {"tokens", "ab,cd", "***"}, {"a", "", ""},
    };
    for (size_t row = 0; row < sizeof table / sizeof *table; row++) {
        struct text shown = {0};
        log_hide_program(table[row][0], table[row][1], &shown);
        text_add(&shown, "", 1);
        assert_string_equal(shown.bytes, table[row][2]);
        text_deinit(&shown);
    }
}

static void list(void *context, const char *secret, size_t bytes) {
    text_put(context, "<");
    text_add(context, secret, bytes);
    text_put(context, ">");
}

// A program that prints its own words prints these parts.
static void what_is_hidden(void **state) {
    (void)state;
    static const char *const table[][2] = {
        {"prog --token abcd -v", "<abcd>"},
        {"prog --token=abcd --password 'two words'", "<abcd><two words><two>"},
        {"curl -u u:abcd x", "<u:abcd><abcd>"},
        {"curl -H 'Authorization: Bearer abcd' x", "<Bearer abcd><abcd>"},
        {"sh -c 'prog --token \"abcd\" x'", "<\"abcd\" x><abcd>"},
        {"prog nats://u:abcd@h/?token=efgh", "<u:abcd><abcd><efgh>"},
        {"prog --token=$(cat abcd) x", "<$(cat><abcd)><abcd>"},
        {"prog --verbose '' x", ""},
    };
    for (size_t row = 0; row < sizeof table / sizeof *table; row++) {
        char words[256];
        struct text found = {0};
        size_t count = argv_split(table[row][0], words);
        assert_true(log_find_command_secrets(words, count, list, &found));
        text_add(&found, "", 1);
        assert_string_equal(found.bytes, table[row][1]);
        text_deinit(&found);
    }
}

// --- Any command

static uint64_t seed;

static uint32_t draw(uint32_t below) {
    seed = seed * 6364136223846793005 + 1442695040888963407;
    return (uint32_t)(seed >> 33) % below;
}

// Adds the bytes as part of a word: each bare, behind a backslash or in quotes, as a shell would have them.
static void add_spelled(struct text *out, const char *bytes) {
    for (; *bytes; bytes++) {
        bool needs_escape = strchr(" \t'\"\\", *bytes) != NULL;
        uint32_t way = draw(4);
        if (way == 0 && !needs_escape) {
            text_add(out, bytes, 1);
        } else if (way == 1 && *bytes != '\'') {
            text_put(out, "'");
            text_add(out, bytes, 1);
            text_put(out, "'");
        } else if (way == 2) {
            text_put(out, "\"");
            text_add(out, "\\", strchr("\"\\", *bytes) != NULL);
            text_add(out, bytes, 1);
            text_put(out, "\"");
        } else {
            text_add(out, "\\", 1);
            text_add(out, bytes, 1);
        }
    }
}

// Draws a secret with blanks and quotes among its bytes. Each of its letters is a Z, which no other part of a command
// has.
static void secret_of(char out[16]) {
    static const char bytes[] = "ZZZZ -'\"\\\t:=";
    uint32_t count = 1 + draw(14);
    for (uint32_t at = 0; at < count; at++)
        out[at] = bytes[draw(sizeof bytes - 1)];
    out[draw(count)] = 'Z';
    out[count] = '\0';
}

static void add_blanks(struct text *out) {
    for (uint32_t left = 1 + draw(3); left > 0; left--)
        text_add(out, draw(2) ? " " : "\t", 1);
}

// However a command with secrets is spelled, none of their bytes is shown, and each other word is as it was.
static void no_secret_is_shown(void **state) {
    (void)state;
    static const char *const heads[] = {
        "--token=", "--db-password=", "API_KEY=",   "X-Api-Key: ", "Authorization: Bearer ",
        "--auth=",  "--pwd=",         "sh --pass ", "x://u:",      "--token",
        "--bearer", "-password",      "Cookie:",    "--oauth"};
    enum {
        HEADS = sizeof heads / sizeof *heads,
        SEPARATE = 9
    }; // from there on the value is a word of its own
    static const char *const others[] = {"plain",   "--verbose", "two words",   "it's",
                                         "a\"b\\c", "-x=1",      "--token-file"};
    for (seed = 0; seed < 20000;) {
        uint64_t run = seed;
        struct text command = {0};
        struct text kept = {0}; // the words without a secret, as they are spelled
        for (uint32_t left = 1 + draw(6); left > 0; left--) {
            uint32_t head = draw(2 * HEADS);
            size_t begin = command.length;
            if (head >= HEADS) {
                add_spelled(&command, others[draw(sizeof others / sizeof *others)]);
                text_add(&kept, command.bytes + begin, command.length - begin);
                text_add(&kept, "", 1);
            } else {
                char secret[16];
                secret_of(secret);
                add_spelled(&command, heads[head]);
                if (head >= SEPARATE)
                    add_blanks(&command);
                add_spelled(&command, secret);
                text_put(&command, strcmp(heads[head], "x://u:") == 0 ? "@host" : "");
            }
            add_blanks(&command);
        }
        text_add(&command, "", 1);
        text_add(&kept, "", 1);
        struct text shown = hide(command.bytes);
        if (strchr(shown.bytes, 'Z'))
            fail_msg("%s\nis shown as\n%s", command.bytes, shown.bytes);
        const char *at = shown.bytes;
        for (const char *word = kept.bytes; *word; word += strlen(word) + 1) {
            at = strstr(at, word);
            assert_non_null(at);
            at += strlen(word);
        }
        text_deinit(&shown);
        text_deinit(&command);
        text_deinit(&kept);
        seed = run + 1;
    }
}

// Returns whether the word may begin a secret, or have one.
static bool may_hide(const char *word) {
    return strstr(word, "token") || strstr(word, "bearer") || strchr(word, '@') || strchr(word, 'u');
}

// Returns whether the word is shown as it is, but for parts that are shown as stars.
static bool is_shown_as(const char *word, const char *shown) {
    const char *stars = strstr(shown, "***");
    if (!stars)
        return strcmp(word, shown) == 0;
    if (strncmp(word, shown, (size_t)(stars - shown)) != 0)
        return false;
    for (const char *rest = word + (stars - shown);; rest++) {
        if (is_shown_as(rest, stars + 3))
            return true;
        if (!*rest)
            return false;
    }
}

// A command of any bytes has as many words as before. A word is shown as it is, unless the word or a word before may
// have a secret; then parts of the word may be hidden.
static void words_stay_words(void **state) {
    (void)state;
    static const char *const parts[] = {"a",  " ", "'",  "\"", "\\",     "-",   "=", ":", "token",
                                        "\t", "$", "//", "@",  "bearer", "***", "u", "`"};
    enum { WITHOUT = 8 }; // half of the commands have the first WITHOUT parts alone, and no secret
    for (seed = 0; seed < 50000;) {
        uint64_t run = seed;
        char command[256] = "", before[256], after[1024];
        for (uint32_t left = draw(24); left > 0; left--)
            strcat(command, parts[draw(run % 2 ? WITHOUT : sizeof parts / sizeof *parts)]);
        bool hides = false;
        struct text shown = hide(command);
        size_t count = argv_split(command, before);
        assert_true(shown.length <= sizeof after);
        assert_true(count == SIZE_MAX || argv_split(shown.bytes, after) == count);
        const char *one = before, *other = after;
        for (; count != SIZE_MAX && count > 0; count--) {
            hides = hides || may_hide(one);
            if (!(hides ? is_shown_as(one, other) : strcmp(one, other) == 0))
                fail_msg("%s\nis shown as\n%s", command, shown.bytes);
            one += strlen(one) + 1;
            other += strlen(other) + 1;
        }
        text_deinit(&shown);
        seed = run + 1;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table),          cmocka_unit_test(one_word),
        cmocka_unit_test(a_program),          cmocka_unit_test(what_is_hidden),
        cmocka_unit_test(no_secret_is_shown), cmocka_unit_test(words_stay_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
