// The table of agents: who is where, who offers what, and who owes least.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/agents/agents.h"
#include "core/base/memory.h"
#include "tests/core/base/account.h"

struct small_hub {
    struct buffer_budget budget;
    struct quota quota;
    struct agents agents;
};

static void small_open(struct small_hub *hub, uint64_t memory_bytes) {
    *hub = (struct small_hub){.budget = {.bytes_max = memory_bytes}};
    quota_init(&hub->quota, &hub->budget);
    agents_init(&hub->agents, &TABLE_KEY, &hub->quota);
}

// All that was kept has been given back.
static void small_close(struct small_hub *hub) {
    assert_int_equal(hub->quota.used, 0);
    agents_deinit(&hub->agents);
    quota_deinit(&hub->quota);
    assert_int_equal(atomic_load(&hub->budget.quota_bytes), 0);
}

static struct agent *put(struct agents *agents, const char *id, uint64_t connection,
                         const char *capabilities) {
    struct agent_profile profile = {.connection = connection, .id = id, .id_bytes = strlen(id)};
    return put_offer(agents, &profile, capabilities, strlen(capabilities));
}

static uint32_t owed_by_connection(const void *context, uint64_t connection) {
    return ((const uint32_t *)context)[connection];
}

static const char *choose(struct agents *agents, const char *method, uint64_t but, const uint32_t *owed) {
    const struct agent *agent =
        groups_choose(&agents->groups, GROUP_METHOD, method, strlen(method),
                      &(struct wanted_member){.excluded_connection = but}, owed_by_connection, owed);
    static char ids[4][16]; // an agent's id has no terminating zero
    static unsigned turn;
    if (!agent)
        return "nobody";
    char *id = ids[turn++ % 4];
    memcpy(id, agent->id, agent->id_bytes);
    id[agent->id_bytes] = '\0';
    return id;
}

static void an_agent_is_found_until_it_is_removed(void **state) {
    (void)state;
    struct agents agents;
    agents_init(&agents, &TABLE_KEY, account());
    struct agent *one = put(&agents, "one", 5, "{}"), *two = put(&agents, "two", 5, "[]");
    assert_ptr_equal(agents_find(&agents, "one", 3), one);
    assert_ptr_equal(one->registrant, two->registrant);
    assert_ptr_equal(agents_registrant(&agents, 5), one->registrant);
    assert_null(agents_registrant(&agents, 6));
    assert_int_equal(agents.count, 2);
    agents_remove(&agents, one);
    assert_null(agents_find(&agents, "one", 3));
    assert_ptr_equal(agents_find(&agents, "two", 3), two);
    agents_remove_registrant(&agents, agents_registrant(&agents, 5));
    assert_null(agents_find(&agents, "two", 3));
    assert_null(agents_registrant(&agents, 5));
    assert_int_equal(agents.count, 0);
    agents_deinit(&agents);
}

// The ids end alike, so that they have one place in what is remembered.
static void who_was_found_is_found_until_another_one_is_there(void **state) {
    (void)state;
    static const char one_id[] = "one-with-one-end", two_id[] = "two-with-one-end",
                      none_id[] = "six-with-one-end";
    const size_t bytes = sizeof one_id - 1;
    struct agents agents;
    agents_init(&agents, &TABLE_KEY, account());
    assert_null(agents_find_again(&agents, one_id, bytes));
    struct agent *one = put(&agents, one_id, 5, "{}"), *two = put(&agents, two_id, 5, "[]");
    for (unsigned round = 0; round < 3; round++) {
        assert_ptr_equal(agents_find_again(&agents, one_id, bytes), one);
        assert_ptr_equal(agents_find_again(&agents, one_id, bytes), one);
        assert_null(agents_find_again(&agents, none_id, bytes));
        assert_null(agents_find_again(&agents, none_id, bytes)); // who wasn't there is remembered, too
        assert_null(agents_find_again(&agents, one_id + 1, bytes - 1));
        assert_ptr_equal(agents_find_again(&agents, two_id, bytes), two);
    }
    struct agent *anew = put(&agents, two_id, 6, "[]");
    assert_ptr_not_equal(anew, two);
    assert_ptr_equal(agents_find_again(&agents, two_id, bytes), anew);
    agents_remove(&agents, anew);
    assert_null(agents_find_again(&agents, two_id, bytes));
    assert_ptr_equal(agents_find_again(&agents, one_id, bytes), one);
    agents_remove_registrant(&agents, agents_registrant(&agents, 5));
    assert_null(agents_find_again(&agents, one_id, bytes));
    agents_remove_registrant(&agents, agents_registrant(&agents, 6));
    agents_deinit(&agents);
}

static void registering_again_replaces_what_it_offers(void **state) {
    (void)state;
    static const uint32_t owed[4] = {0};
    struct agents agents;
    agents_init(&agents, &TABLE_KEY, account());
    put(&agents, "a", 1, "{\"methods\":[\"old\",\"both\"]}");
    put(&agents, "a", 1, "{\"methods\":[\"new\",\"both\",\"both\",7]}");
    assert_int_equal(agents.count, 1);
    assert_string_equal(choose(&agents, "old", 0, owed), "nobody");
    assert_string_equal(choose(&agents, "new", 0, owed), "a");
    assert_string_equal(choose(&agents, "both", 0, owed), "a");
    agents_remove(&agents, agents_find(&agents, "a", 1));
    assert_string_equal(choose(&agents, "both", 0, owed), "nobody");
    agents_remove_registrant(&agents,
                             agents_registrant(&agents, 1)); // it stays for what its agents still owe
    agents_deinit(&agents);
}

static void the_one_that_owes_least_is_chosen(void **state) {
    (void)state;
    uint32_t owed[5] = {0, 3, 1, 2, 1};
    static const char *const ids[] = {"a1", "a2", "a3", "a4"};
    struct agents agents;
    agents_init(&agents, &TABLE_KEY, account());
    for (uint64_t connection = 1; connection <= 4; connection++)
        put(&agents, ids[connection - 1], connection, "{\"methods\":[\"m\"]}");
    // Ties in turn, and never the one that asks.
    const char *first = choose(&agents, "m", 0, owed), *second = choose(&agents, "m", 0, owed);
    assert_string_equal(first, "a2");
    assert_string_equal(second, "a4");
    assert_string_equal(choose(&agents, "m", 0, owed), "a2");
    assert_string_equal(choose(&agents, "m", 2, owed), "a4");
    owed[2] = owed[4] = 9;
    assert_string_equal(choose(&agents, "m", 0, owed), "a3");
    assert_string_equal(choose(&agents, "n", 0, owed), "nobody");
    agents_remove_registrant(&agents, agents_registrant(&agents, 3));
    assert_string_equal(choose(&agents, "m", 0, owed), "a1");
    agents_deinit(&agents);
}

static void nobody_is_chosen_for_its_own_request(void **state) {
    (void)state;
    static const uint32_t owed[3] = {0};
    struct agents agents;
    agents_init(&agents, &TABLE_KEY, account());
    put(&agents, "a", 1, "{\"methods\":[\"m\"]}");
    put(&agents, "b", 1, "{\"methods\":[\"m\"]}");
    assert_string_equal(choose(&agents, "m", 1, owed), "nobody");
    agents_deinit(&agents);
}

static void what_counts_as_a_capability(void **state) {
    (void)state;
    static const struct {
        const char *capabilities;
        bool has;
    } table[] = {
        {"{}", false},
        {"{\"hcs\":true}", true},
        {"{\"hcs\":false}", false},
        {"{\"hcs\":null}", false},
        {"{\"hcs\":0}", false},
        {"{\"hcs\":0.0}", false},
        {"{\"hcs\":-0}", false},
        {"{\"hcs\":-0.0e-5}", false},
        {"{\"hcs\":0e1}", false},
        {"{\"hcs\":-0.01}", true},
        {"{\"hcs\":1}", true},
        {"{\"hcs\":\"\"}", false},
        {"{\"hcs\":\"x\"}", true},
        {"{\"hcs\":{}}", true},
        {"{\"hcs\":[]}", true},
        {"{\"other\":{\"hcs\":true}}", false},
        {"[\"a\",\"hcs\"]", true},
        {"[\"hcs2\"]", false},
        {"{\"tasks\":[\"hcs\"]}", true},
        {"{\"tasks\":\"hcs\"}", false},
        {"{\"h\\u0063s\":1}", true},
    };
    for (size_t index = 0; index < sizeof table / sizeof *table; index++) {
        struct agents agents;
        agents_init(&agents, &TABLE_KEY, account());
        const struct agent *agent = put(&agents, "a", 1, table[index].capabilities);
        const struct group *group = groups_find(&agents.groups, GROUP_CAPABILITY, "hcs", 3);
        size_t at = 0;
        assert_int_equal(group != NULL, table[index].has);
        assert_true(!group || (group_next(group, &at) == agent && !group_next(group, &at)));
        agents_deinit(&agents);
    }
}

static uint32_t count_asked(const void *context, uint64_t connection) {
    unsigned *asked = *(unsigned *const *)context;
    ++*asked;
    return connection < 4 ? 1 : 0;
}

// A group may have very many members, and most of the time most of them owe nothing.
static void a_choice_ends_at_one_that_owes_nothing(void **state) {
    (void)state;
    struct agents agents;
    agents_init(&agents, &TABLE_KEY, account());
    for (unsigned connection = 1; connection <= 100; connection++) {
        char id[16];
        snprintf(id, sizeof id, "a%u", connection);
        put(&agents, id, connection, "{\"methods\":[\"m\"]}");
    }
    unsigned asked = 0, *count = &asked;
    struct agent *agent =
        groups_choose(&agents.groups, GROUP_METHOD, "m", 1, &(struct wanted_member){0}, count_asked, &count);
    assert_int_equal(agent->registrant->connection, 4);
    assert_int_equal(asked, 4);
    agents_deinit(&agents);
}

// Whichever agent leaves, the others have their turn in the same order, and are listed so.
static void who_stays_keeps_its_turn(void **state) {
    (void)state;
    static const uint32_t owed[10] = {0};
    static const char *const stay[] = {"a4", "a8", "a2"};
    static const uint64_t leave[] = {1, 3, 5, 6, 7};
    struct agents agents;
    agents_init(&agents, &TABLE_KEY, account());
    char id[] = "a1";
    for (uint64_t connection = 1; connection <= 8; connection++, id[1]++)
        put(&agents, id, connection, "{\"methods\":[\"m\"]}");
    assert_string_equal(choose(&agents, "m", 0, owed), "a1");
    assert_string_equal(choose(&agents, "m", 0, owed), "a2");
    for (unsigned gone = 0; gone < 5; gone++) {
        agents_remove_registrant(&agents, agents_registrant(&agents, leave[gone]));
        assert_non_null(groups_find(&agents.groups, GROUP_METHOD, "m", 1));
    }
    for (unsigned turn = 0; turn < 6; turn++)
        assert_string_equal(choose(&agents, "m", 0, owed), stay[turn % 3]);
    put(&agents, "a9", 9, "{\"methods\":[\"m\"]}");
    const struct group *group = groups_find(&agents.groups, GROUP_METHOD, "m", 1);
    size_t at = 0;
    for (const char *next = "2489"; *next; next++)
        assert_int_equal(group_next(group, &at)->id[1], *next);
    assert_null(group_next(group, &at));
    for (const char *next = "4892"; *next; next++)
        assert_int_equal(choose(&agents, "m", 0, owed)[1], *next);
    agents_deinit(&agents);
}

// All agents of a large group leave, those in its middle first: that takes no longer than it took them to
// come.
static void leaving_a_large_group_costs_no_more(void **state) {
    (void)state;
    enum { AGENTS = 100000 };
    static struct agent *all[AGENTS];
    struct small_hub hub;
    small_open(&hub, UINT64_C(1) << 30);
    clock_t begin = clock();
    for (unsigned number = 0; number < AGENTS; number++) {
        char id[16];
        snprintf(id, sizeof id, "a%u", number);
        all[number] = put(&hub.agents, id, 1, "{\"methods\":[\"m\"]}");
        assert_non_null(all[number]);
    }
    clock_t came = clock();
    for (unsigned number = 0; number < AGENTS; number++)
        agents_remove(&hub.agents, all[(number + AGENTS / 2) % AGENTS]);
    clock_t left = clock();
    assert_null(groups_find(&hub.agents.groups, GROUP_METHOD, "m", 1));
    assert_true(left - came < 5 * (came - begin));
    agents_remove_registrant(&hub.agents, agents_registrant(&hub.agents, 1));
    small_close(&hub);
}

// However far memory reaches, a put is done wholly or not at all.
static void without_memory_nothing_is_left_half_done(void **state) {
    (void)state;
    static const uint32_t owed[4] = {0};
    struct agents agents;
    agents_init(&agents, &TABLE_KEY, account());
    put(&agents, "a", 1, "{\"methods\":[\"old\"]}");
    bool done = false;
    for (uint64_t left = 0; !done; left++) {
        assert_in_range(left, 0, 100);
        memory_fail_after(left);
        bool new_done = put(&agents, "b", 2, "{\"methods\":[\"m\",\"n\"]}") != NULL;
        if (!new_done) {
            assert_null(agents_find(&agents, "b", 1));
            assert_null(agents_registrant(&agents, 2));
        }
        memory_fail_after(left);
        bool updated = put(&agents, "a", 1, "{\"methods\":[\"new\",\"newer\"]}") != NULL;
        memory_fail_after(UINT64_MAX);
        done = updated && new_done;
        if (new_done)
            agents_remove_registrant(&agents, agents_registrant(&agents, 2));
        assert_string_equal(choose(&agents, "m", 0, owed), "nobody");
        assert_string_equal(choose(&agents, "old", 0, owed), updated ? "nobody" : "a");
        assert_string_equal(choose(&agents, "newer", 0, owed), updated ? "a" : "nobody");
        put(&agents, "a", 1, "{\"methods\":[\"old\"]}");
    }
    agents_deinit(&agents);
    assert_int_equal(account()->used, 0);
}

// --- What is kept

enum { NAMES = 1000, SHARDS = 2 };

// An agent with many methods of its own.
static struct agent *put_large(struct small_hub *hub, const char *id, uint64_t connection) {
    static char text[NAMES * 24];
    uint64_t set_aside = 0;
    size_t bytes = 0;
    for (unsigned index = 0; index < NAMES; index++)
        bytes += (size_t)snprintf(text + bytes, 24, "%s\"%s-%u\"", index ? "," : "{\"methods\":[", id, index);
    bytes += (size_t)snprintf(text + bytes, 24, "]}");
    struct agent_profile profile = {.connection = connection,
                                    .id = id,
                                    .id_bytes = strlen(id),
                                    .judged_for = SHARDS,
                                    .set_aside = &set_aside};
    struct agent *agent = put_offer(&hub->agents, &profile, text, bytes);
    quota_accept(&hub->quota, set_aside); // there is no other shard
    return agent;
}

// A connection gets no more than it leaves to all others, and a later one still finds room. An agent that
// doesn't fit leaves no trace, and all memory is given back with those that go.
static void agents_take_no_more_than_their_share(void **state) {
    (void)state;
    struct small_hub hub;
    small_open(&hub, 64 << 20);
    char id[16];
    unsigned counts[3] = {0};
    for (unsigned connection = 0; connection < 3; connection++)
        for (unsigned number = 0;; number++) {
            int64_t used = hub.quota.used;
            snprintf(id, sizeof id, "%u.%u", connection, number);
            if (!put_large(&hub, id, connection + 1)) {
                assert_true(hub.quota.used <= used + used / 2); // a table may have grown
                assert_null(agents_find(&hub.agents, id, strlen(id)));
                break;
            }
            counts[connection]++;
        }
    assert_true(counts[0] > 15 && counts[1] > 0 && counts[2] > 0);
    assert_int_equal(hub.quota.refused, 3);
    assert_non_null(put(&hub.agents, "small", 9, "{\"methods\":[\"m\"]}"));
    assert_true(atomic_load(&hub.budget.quota_bytes) <= quota_bytes_max(&hub.quota));
    for (uint64_t connection = 1; connection <= 3; connection++)
        agents_remove_registrant(&hub.agents, agents_registrant(&hub.agents, connection));
    quota_settle(&hub.quota);
    assert_true(hub.quota.used < 8192); // of what was much, nothing is left but for the small one
    assert_non_null(put_large(&hub, "again", 1));
    agents_remove_registrant(&hub.agents, agents_registrant(&hub.agents, 1));
    agents_remove_registrant(&hub.agents, agents_registrant(&hub.agents, 9));
    small_close(&hub);
}

static void an_update_without_room_leaves_the_old_one(void **state) {
    (void)state;
    static const uint32_t owed[3] = {0};
    struct small_hub hub;
    small_open(&hub, 1 << 20);
    assert_non_null(put(&hub.agents, "a", 1, "{\"methods\":[\"old\"]}"));
    int64_t used = hub.quota.used;
    assert_null(put_large(&hub, "a", 1));
    assert_true(hub.quota.used < used + 4096); // nothing of it is left in the tables of names
    assert_string_equal(choose(&hub.agents, "old", 0, owed), "a");
    assert_string_equal(choose(&hub.agents, "a-1", 0, owed), "nobody");
    assert_null(put_large(&hub, "a", 2)); // nor does it change hands
    assert_int_equal(agents_find(&hub.agents, "a", 1)->registrant->connection, 1);
    assert_null(agents_registrant(&hub.agents, 2));
    agents_remove_registrant(&hub.agents, agents_registrant(&hub.agents, 1));
    small_close(&hub);
}

// The text is there once, and goes with the last table that has it, which may be another one than it came
// with.
static void capabilities_are_shared_by_all_shards(void **state) {
    (void)state;
    enum { TEXT_BYTES = 60000 };
    static char text[TEXT_BYTES];
    memset(text, ' ', sizeof text);
    text[0] = '{', text[TEXT_BYTES - 1] = '}';
    struct small_hub hub;
    struct quota other_kept;
    struct agents other;
    small_open(&hub, 64 << 20);
    quota_init(&other_kept, &hub.budget);
    agents_init(&other, &TABLE_KEY, &other_kept);
    struct agent_profile profile = {.connection = 1, .id = "a", .id_bytes = 1};
    profile.capabilities = capabilities_create(&hub.quota, text, sizeof text);
    assert_ptr_equal(agents_put(&hub.agents, &profile)->capabilities, profile.capabilities);
    assert_ptr_equal(agents_put(&other, &profile)->capabilities, profile.capabilities);
    capabilities_drop(&hub.quota, profile.capabilities);
    assert_true(hub.quota.used + other_kept.used < 2 * TEXT_BYTES);
    agents_remove_registrant(&hub.agents, agents_registrant(&hub.agents, 1));
    assert_memory_equal(agents_find(&other, "a", 1)->capabilities->text, text, sizeof text);
    agents_remove_registrant(&other, agents_registrant(&other, 1));
    assert_true(hub.quota.used >= TEXT_BYTES); // the one took it, the other one gave it back
    assert_int_equal(hub.quota.used + other_kept.used, 0);
    agents_deinit(&hub.agents);
    agents_deinit(&other);
    quota_deinit(&hub.quota);
    quota_deinit(&other_kept);
    assert_int_equal(atomic_load(&hub.budget.quota_bytes), 0);
}

static void an_agent_may_change_hands(void **state) {
    (void)state;
    static const uint32_t owed[3] = {0};
    struct agents agents;
    agents_init(&agents, &TABLE_KEY, account());
    put(&agents, "a", 1, "{\"methods\":[\"old\"]}");
    struct agent *agent = put(&agents, "a", 2, "{\"methods\":[\"new\"]}");
    assert_ptr_equal(agents_find(&agents, "a", 1), agent);
    assert_int_equal(agent->registrant->connection, 2);
    assert_int_equal(agents.count, 1);
    assert_string_equal(choose(&agents, "old", 0, owed), "nobody");
    assert_string_equal(choose(&agents, "new", 0, owed), "a");
    agents_remove_registrant(&agents, agents_registrant(&agents, 1));
    assert_ptr_equal(agents_find(&agents, "a", 1), agent);
    agents_deinit(&agents);
    assert_int_equal(account()->used, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_agent_is_found_until_it_is_removed),
        cmocka_unit_test(who_was_found_is_found_until_another_one_is_there),
        cmocka_unit_test(registering_again_replaces_what_it_offers),
        cmocka_unit_test(the_one_that_owes_least_is_chosen),
        cmocka_unit_test(nobody_is_chosen_for_its_own_request),
        cmocka_unit_test(what_counts_as_a_capability),
        cmocka_unit_test(a_choice_ends_at_one_that_owes_nothing),
        cmocka_unit_test(who_stays_keeps_its_turn),
        cmocka_unit_test(leaving_a_large_group_costs_no_more),
        cmocka_unit_test(without_memory_nothing_is_left_half_done),
        cmocka_unit_test(agents_take_no_more_than_their_share),
        cmocka_unit_test(an_update_without_room_leaves_the_old_one),
        cmocka_unit_test(an_agent_may_change_hands),
        cmocka_unit_test(capabilities_are_shared_by_all_shards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
