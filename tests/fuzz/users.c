// Fuzzes the users file. A file is read, or its faults are told in the order of its lines. A file that is read is
// reviewed, asked, and read again with the accounts of before. A second, naive reader looks for each user's rights and
// denials of events and agents. None of them may have been lost, or be another user's.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rights/rights_explain.h"
#include "core/rights/users_lint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds)
        abort();
}

struct told {
    uint32_t last, count, lines;
};

static void note(void *context, const struct users_fault *fault) {
    struct told *told = context;
    require(fault->expected && *fault->expected && fault->line >= told->last && fault->line <= told->lines);
    told->last = fault->line;
    told->count++;
}

// --- The naive reader

static char *skip(char *at) {
    return at + strspn(at, " \t\r");
}

static void end_at(char *line, const char *what) {
    char *end = strstr(line, what);
    if (end)
        *end = '\0';
}

static bool is_key(const char *line, const char *key) {
    size_t bytes = strlen(key);
    return strncmp(line, key, bytes) == 0 && strspn(line + bytes, " \t\r") + bytes == strcspn(line, "=");
}

// A pattern of events that stands in a user's section: it is given, unless something denies a name of it.
static void look_for(const struct user *user, const char *pattern, bool denied) {
    size_t bytes = strlen(pattern);
    struct verdict verdict = rights_publish(user, pattern, bytes - (pattern[bytes - 1] == '*'));
    require(verdict.line > 0);
    require(!denied || !verdict.allowed);
}

static void read_naively(const struct users *users, char *text) {
    const struct user *user = NULL;
    char *rest = text, *line, *words, *word;
    while ((line = strsep(&rest, "\n"))) {
        end_at(line, " ;");
        end_at(line, "\t;");
        end_at(line, "\r;");
        line = skip(line);
        if (*line == '[') {
            end_at(line, "]");
            char *name = skip(line + 5);
            name[strcspn(name, " \t\r")] = '\0';
            user = strncmp(line, "[user", 5) == 0 ? users_by_name(users, name, strlen(name)) : NULL;
            require(user || strncmp(line, "[role", 5) == 0);
        } else if (user && (is_key(line, "publish") || is_key(line, "deny-publish"))) {
            for (words = strchr(line, '=') + 1; (word = strsep(&words, ", \t\r"));)
                if (*word)
                    look_for(user, word, *line == 'd');
        }
    }
}

// --- Questions about a file that was read

static void ask_users(const struct users *users, const char *question) {
    for (uint32_t index = 0; index < users_count(users) && index < 20; index++) {
        const struct user *user = users_at(users, index);
        struct rights_explain_answer answer;
        require(users_by_name(users, user->name, strlen(user->name)) == user);
        if (!rights_explain(user, question, &answer))
            require(answer.verdict.allowed || answer.held == 0);
        rights_subscribe(user, "build-*", 7);
        rights_reach(user, "a", 1);
        require(rights_hold_any(user) <= (users_hold_line(users) > 0));
    }
}

static void use(const struct users *users, const struct siphash_key *key, const char *text, size_t bytes,
                struct told *told) {
    size_t mark = bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    char *copy = strndup(text + mark, bytes - mark);
    require(copy != NULL);
    *told = (struct told){.lines = told->lines};
    require(users_lint(text, bytes, note, told));
    *told = (struct told){.lines = told->lines};
    struct users *again = users_read(text, bytes, key, users, note, told);
    require(again && users_count(again) == users_count(users));
    for (uint32_t index = 0; index < users_count(users); index++)
        require(users_at(again, index)->account == users_at(users, index)->account);
    users_drop(again);
    ask_users(users, copy);
    ask_users(users, "call review-1 method:tests/run tool:lint");
    if (!memchr(text, '\0', bytes)) // a comment may hold one, at which the naive reader would end
        read_naively(users, copy);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1)
        return 0;
    struct siphash_key key = {{data[0], 1}};
    size_t bytes = size - 1;
    char *text = malloc(bytes ? bytes : 1); // of just that size, so that a read past it is seen
    require(text != NULL);
    memcpy(text, data + 1, bytes);
    struct told told = {.lines = 1};
    for (size_t at = 0; at < bytes; at++)
        told.lines += text[at] == '\n';
    struct users *users = users_read(text, bytes, &key, NULL, note, &told);
    users_judge_by(users);
    require((users == NULL) == (told.count > 0));
    if (users)
        use(users, &key, text, bytes, &told);
    users_drop(users);
    free(text);
    return 0;
}
