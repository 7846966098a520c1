// A call that was allowed is found again where the same is said, and no other call is. That holds whatever lies behind
// the call, however its names begin, and whoever speaks.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "router/rights/authz_cache.h"
#include "tests/sim/random.h"

enum { BODY_BYTES_MAX = 1024, USERS = 2, NAMES = 12, TARGETS = NAMES + 1, NO_TARGET = NAMES };

// As JSON spells them: of lengths around a block's and the bound's, each the beginning of the next, and with one end.
static char names[NAMES][128];

static struct buffer_budget budget;
static struct quota kept_memory;
static struct identity identity;

static int begin(void **state) {
    (void)state;
    static const struct users no_users;
    users_judge_by(&no_users);
    identity = (struct identity){0};
    atomic_store(&budget.bytes_max, 1 << 20);
    quota_init(&kept_memory, &budget);
    return 0;
}

static int end(void **state) {
    (void)state;
    quota_give(&kept_memory, identity.authz_cache);
    assert_int_equal(kept_memory.used, 0);
    quota_deinit(&kept_memory);
    return 0;
}

static void make_names(void) {
    static const unsigned lengths[] = {1, 2, 15, 29, 30, 31, 32, 61, 62, 63};
    for (unsigned index = 0; index < sizeof lengths / sizeof *lengths; index++)
        snprintf(names[index], sizeof names[index], "%.*s", (int)lengths[index],
                 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    snprintf(names[10], sizeof names[10], "a\\u0061"); // means what the second one does
    snprintf(names[11], sizeof names[11], "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaba");
}

static bool is_kept(unsigned name) {
    return name == NO_TARGET ||
           (strlen(names[name]) + 2 <= AUTHZ_CACHE_TEXT_BYTES_MAX && !strchr(names[name], '\\'));
}

struct said {
    unsigned user, method, target;
};

struct spoken {
    struct message message;
    struct rules_message asked;
    char body[BODY_BYTES_MAX], method[BODY_BYTES_MAX], target[BODY_BYTES_MAX];
};

// The bytes behind it are what the last one left there.
static void speak(struct spoken *spoken, const struct said *said, const char *rest) {
    const char *method = names[said->method], *target = said->target == NO_TARGET ? "" : names[said->target];
    bool named = said->target != NO_TARGET;
    int bytes = snprintf(
        spoken->body, sizeof spoken->body, "{\"id\":1,\"method\":\"%s\",\"params\":{%s%s%s%s%s}}", method,
        rest, *rest && named ? "," : "", named ? "\"targetAgent\":\"" : "", target, named ? "\"" : "");
    assert_in_range(bytes, 1, BODY_BYTES_MAX - BUFFER_SLACK_BYTES);
    struct message *message = &spoken->message;
    message->body = (const uint8_t *)spoken->body;
    lookup_body(&message->lookup, message->body, (uint32_t)bytes, 64);
    assert_int_equal(message->lookup.verdict, LOOKUP_GOOD);
    message->method_bytes = json_string_decode(message->body, message->lookup.value[KEY_METHOD],
                                               message->method, sizeof message->method);
    spoken->asked = (struct rules_message){.method = message->method, .method_bytes = message->method_bytes};
    if (named)
        spoken->asked.target = (struct rules_field){
            .is_present = true,
            .is_string = true,
            .text = spoken->target,
            .bytes = json_string_decode(message->body, message->lookup.value[KEY_TARGET_AGENT],
                                        spoken->target, sizeof spoken->target)};
}

static void nothing_but_what_was_kept_is_found(void **state) {
    static struct user users[USERS];
    static struct spoken spoken;
    static bool kept[USERS][NAMES][TARGETS];
    struct random random;
    unsigned found = 0, missed = 0;
    struct said last = {0, 0, 0};
    (void)state;
    random_init(&random, 7);
    make_names();
    for (unsigned round = 0; round < 200000; round++) {
        struct said said = last;
        if (random_below(&random, 2) == 0)
            said.user = (unsigned)random_below(&random, USERS);
        if (random_below(&random, 2) == 0)
            said.method = (unsigned)random_below(&random, NAMES);
        if (random_below(&random, 2) == 0)
            said.target = (unsigned)random_below(&random, TARGETS);
        last = said;
        identity.user = &users[said.user];
        speak(&spoken, &said, "");
        const struct authz_cache_call *again = authz_cache_call(&identity, &spoken.message);
        bool was_kept = kept[said.user][said.method][said.target];
        assert_true(!again || was_kept);
        found += again != NULL;
        missed += !again && was_kept; // another one took its place
        if (random_below(&random, 100) == 0) {
            authz_cache_forget_calls(&identity);
            memset(kept, 0, sizeof kept);
        } else if (random_below(&random, 3) == 0) {
            bool fits = is_kept(said.method) && is_kept(said.target);
            authz_cache_keep_call(&kept_memory, &identity, identity.user, &spoken.message, &spoken.asked);
            again = authz_cache_call(&identity, &spoken.message);
            assert_int_equal(again != NULL, fits);
            assert_true(!again || (again->user == identity.user && !again->plain));
            kept[said.user][said.method][said.target] = fits;
        }
    }
    assert_true(found > 1000 && missed > 1000);
}

static void who_is_nobody_is_found_nowhere(void **state) {
    static struct user user;
    static struct spoken spoken;
    (void)state;
    make_names();
    speak(&spoken, &(struct said){0, 1, 2}, "");
    assert_null(authz_cache_call(&identity, &spoken.message));
    authz_cache_keep_call(&kept_memory, &identity, &user, &spoken.message, &spoken.asked);
    assert_null(authz_cache_call(&identity, &spoken.message));
    identity.user = &user;
    assert_non_null(authz_cache_call(&identity, &spoken.message));
    authz_cache_forget_calls(&identity);
    identity.user = NULL;
    assert_null(authz_cache_call(&identity, &spoken.message));
}

// A tool, and an approver, are judged, too; all else that it says is not.
static void what_else_decides_is_looked_at(void **state) {
    static struct user user;
    static struct spoken spoken;
    const struct said said = {0, 1, 2};
    (void)state;
    make_names();
    identity.user = &user;
    speak(&spoken, &said, "");
    authz_cache_keep_call(&kept_memory, &identity, &user, &spoken.message, &spoken.asked);
    speak(&spoken, &said, "\"task\":\"targetAgent\",\"priority\":\"high\"");
    assert_non_null(authz_cache_call(&identity, &spoken.message));
    speak(&spoken, &said, "\"tool\":\"lint\"");
    assert_null(authz_cache_call(&identity, &spoken.message));
    speak(&spoken, &said, "\"approver\":\"a\"");
    assert_null(authz_cache_call(&identity, &spoken.message));
}

static void of_an_event_its_name_is_judged_each_time(void **state) {
    static const char *const methods[] = {"agent/request", "event", "audit/log"};
    static struct user user;
    static struct spoken spoken;
    (void)state;
    identity.user = &user;
    for (unsigned index = 0; index < 3; index++) {
        strcpy(names[0], methods[index]);
        strcpy(names[1], "agent");
        speak(&spoken, &(struct said){0, 0, 1}, "");
        authz_cache_keep_plain(&identity, &spoken.message); // what isn't kept
        assert_null(authz_cache_call(&identity, &spoken.message));
        authz_cache_keep_call(&kept_memory, &identity, &user, &spoken.message, &spoken.asked);
        authz_cache_keep_plain(&identity, &spoken.message);
        assert_int_equal(authz_cache_call(&identity, &spoken.message)->plain, index == 0);
    }
}

static void a_source_is_its_own_until_an_agent_changes(void **state) {
    static struct agents agents;
    static const char own[128] = "\"abcdefghijklmnopqrstuvwxyzabcdefghijkl\"",
                      longer[128] = "\"abcdefghijklmnopqrstuvwxyzabcdefghijklm\"";
    static char far[128] =
        "\"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz\"";
    (void)state;
    assert_false(authz_cache_source(&identity, &agents, (const uint8_t *)own));
    authz_cache_keep_source(&kept_memory, &identity, &agents, (const uint8_t *)own, strlen(own));
    assert_true(authz_cache_source(&identity, &agents, (const uint8_t *)own));
    assert_false(authz_cache_source(&identity, &agents, (const uint8_t *)longer));
    agents.changes++;
    assert_false(authz_cache_source(&identity, &agents, (const uint8_t *)own));
    authz_cache_keep_source(&kept_memory, &identity, &agents, (const uint8_t *)far, strlen(far));
    assert_false(authz_cache_source(&identity, &agents, (const uint8_t *)far));
    assert_false(authz_cache_source(&identity, &agents, (const uint8_t *)own));
}

static void without_room_nothing_is_kept(void **state) {
    static struct user user;
    static struct spoken spoken;
    static struct agents agents;
    (void)state;
    make_names();
    atomic_store(&budget.bytes_max, 0);
    identity.user = &user;
    speak(&spoken, &(struct said){0, 1, 2}, "");
    authz_cache_keep_call(&kept_memory, &identity, &user, &spoken.message, &spoken.asked);
    authz_cache_keep_plain(&identity, &spoken.message);
    authz_cache_keep_source(&kept_memory, &identity, &agents, (const uint8_t *)"\"a\"", 3);
    authz_cache_forget_calls(&identity);
    assert_null(identity.authz_cache);
    assert_null(authz_cache_call(&identity, &spoken.message));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_but_what_was_kept_is_found, begin, end),
        cmocka_unit_test_setup_teardown(who_is_nobody_is_found_nowhere, begin, end),
        cmocka_unit_test_setup_teardown(what_else_decides_is_looked_at, begin, end),
        cmocka_unit_test_setup_teardown(of_an_event_its_name_is_judged_each_time, begin, end),
        cmocka_unit_test_setup_teardown(a_source_is_its_own_until_an_agent_changes, begin, end),
        cmocka_unit_test_setup_teardown(without_room_nothing_is_kept, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
