#include "core/rights/rights_explain.h"

#include <assert.h>
#include <string.h>

#include "core/rights/pattern_syntax.h"

// Reads the words of a question, one after the other.
struct words {
    const char *at;
    const char *word;
    size_t bytes; // 0: there are no more words
};

static bool next_word(struct words *words) {
    words->word = words->at + strspn(words->at, " \t");
    words->bytes = strcspn(words->word, " \t");
    words->at = words->word + words->bytes;
    return words->bytes > 0;
}

static bool is_word(const struct words *words, const char *word) {
    return words->bytes == strlen(word) && memcmp(words->word, word, words->bytes) == 0;
}

// Reads a name, which is spelled as an exact pattern. Returns NULL, or the expected text.
static const char *read_name(const struct words *words, enum right right, enum right_kind *kind,
                             struct right_name *name) {
    struct pattern pattern;
    assert(words->bytes > 0);
    const char *expected = pattern_syntax_pattern(right, words->word, words->bytes, kind, &pattern);
    if (expected || pattern.prefix)
        return expected ? expected : "a name, not a pattern";
    *name = (struct right_name){true, pattern.text, pattern.bytes};
    return NULL;
}

// Reads all names of a message, which is addressed by the first name. Returns NULL, or the expected text.
static const char *read_message(struct words *words, enum right right, struct right_call *message) {
    bool first = true;
    *message = (struct right_call){0};
    do {
        enum right_kind kind;
        struct right_name name;
        const char *expected = read_name(words, right, &kind, &name);
        if (expected)
            return expected;
        if (message->names[kind].is_present)
            return "one name of a kind";
        message->names[kind] = name;
        message->by = first ? kind : message->by;
        first = false;
    } while (next_word(words));
    return NULL;
}

static const char *ask_call(const struct user *user, struct words *words,
                            struct rights_explain_answer *answer) {
    struct right_call call;
    const char *expected = read_message(words, RIGHT_CALL, &call);
    if (expected)
        return expected;
    answer->verdict = rights_call(user, &call);
    assert(call.names[call.by].is_present && !call.names[KIND_EVENT].is_present);
    answer->held = answer->verdict.allowed ? rights_hold(user, &call) : 0;
    return NULL;
}

static const char *ask_hold(const struct user *user, struct words *words,
                            struct rights_explain_answer *answer) {
    struct right_call message;
    const char *expected = read_message(words, RIGHT_HOLD, &message);
    if (expected)
        return expected;
    answer->verdict.allowed = true;
    answer->held = rights_hold(user, &message);
    return NULL;
}

static const char *ask_publish(const struct user *user, const struct words *words,
                               struct rights_explain_answer *answer) {
    struct right_call call = {.names[KIND_EVENT] = {true, words->word, words->bytes}};
    answer->verdict = rights_publish(user, words->word, words->bytes);
    answer->held = answer->verdict.allowed ? rights_hold(user, &call) : 0;
    return NULL;
}

static const char *ask_level(const struct user *user, const struct words *words,
                             struct rights_explain_answer *answer) {
    enum governance level = governance_parse(words->word, words->bytes);
    if (level == GOVERNANCE_COUNT)
        return "autonomous, supervised, human-in-the-loop or manual";
    answer->verdict = rights_level(user, level);
    return NULL;
}

static const char *ask_name(const struct user *user, enum right right, const struct words *words,
                            struct rights_explain_answer *answer) {
    enum right_kind kind;
    struct right_name name;
    const char *expected = read_name(words, right, &kind, &name);
    if (expected)
        return expected;
    assert(right == RIGHT_REGISTER || right == RIGHT_OFFER);
    answer->verdict = right == RIGHT_REGISTER ? rights_register(user, name.text, name.bytes)
                                              : rights_offer(user, kind, name.text, name.bytes);
    return NULL;
}

static const char *ask_subscribe(const struct user *user, const struct words *words,
                                 struct rights_explain_answer *answer) {
    enum right_kind kind;
    struct pattern pattern;
    const char *expected =
        pattern_syntax_pattern(RIGHT_SUBSCRIBE, words->word, words->bytes, &kind, &pattern);
    if (!expected)
        answer->verdict = rights_subscribe(user, words->word, words->bytes);
    return expected;
}

enum {
    ASK_REGISTER,
    ASK_OFFER,
    ASK_CALL,
    ASK_PUBLISH,
    ASK_SUBSCRIBE,
    ASK_HOLD,
    ASK_LEVEL,
    ASK_ADMIN,
    ASKED_COUNT
};

static int find_verb(const struct words *words) {
    static const char *const verbs[] = {"register",  "offer", "call",  "publish",
                                        "subscribe", "hold",  "level", "admin"};
    static_assert(sizeof verbs / sizeof *verbs == ASKED_COUNT, "a name each");
    int verb = 0;
    while (verb < ASKED_COUNT && !is_word(words, verbs[verb]))
        verb++;
    return verb;
}

static const char *ask_verb(const struct user *user, int verb, struct words *words,
                            struct rights_explain_answer *answer) {
    assert(words->bytes > 0 && verb < ASK_ADMIN);
    switch (verb) {
    case ASK_REGISTER:
        return ask_name(user, RIGHT_REGISTER, words, answer);
    case ASK_OFFER:
        return ask_name(user, RIGHT_OFFER, words, answer);
    case ASK_CALL:
        return ask_call(user, words, answer);
    case ASK_PUBLISH:
        return ask_publish(user, words, answer);
    case ASK_SUBSCRIBE:
        return ask_subscribe(user, words, answer);
    case ASK_HOLD:
        return ask_hold(user, words, answer);
    default:
        return ask_level(user, words, answer);
    }
}

const char *rights_explain(const struct user *user, const char *text, struct rights_explain_answer *answer) {
    struct words words = {.at = text};
    const char *expected = NULL;
    *answer = (struct rights_explain_answer){0};
    next_word(&words);
    int verb = find_verb(&words);
    if (verb == ASKED_COUNT)
        return "register, offer, call, publish, subscribe, hold, level or admin";
    if (verb == ASK_ADMIN)
        answer->verdict = rights_admin(user);
    else
        expected = next_word(&words) ? ask_verb(user, verb, &words, answer) : "a name behind it";
    return expected || !next_word(&words) ? expected : "nothing more behind it";
}
