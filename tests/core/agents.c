// The table of agents: who is where, who offers what, and who owes least.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/agents.h"
#include "core/limits.h"
#include "core/memory.h"

static struct agent *put(struct agents *agents, const char *id, uint64_t connection,
                         const char *capabilities) {
    char text[512] = {0};
    memcpy(text, capabilities, strlen(capabilities));
    struct agent_offer offer = {.connection = connection,
                                .id = id,
                                .id_bytes = strlen(id),
                                .capabilities = text,
                                .capabilities_bytes = strlen(capabilities)};
    return agents_put(agents, &offer);
}

static uint32_t owed_by_connection(const void *context, uint64_t connection) {
    return ((const uint32_t *)context)[connection];
}

static const char *choose(struct agents *agents, const char *method, uint64_t but, const uint32_t *owed) {
    const struct agent *agent =
        groups_choose(&agents->groups, GROUP_METHOD, method, strlen(method), but, owed_by_connection, owed);
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
    agents_init(&agents, 1);
    struct agent *one = put(&agents, "one", 5, "{}"), *two = put(&agents, "two", 5, "[]");
    assert_ptr_equal(agents_find(&agents, "one", 3), one);
    assert_ptr_equal(one->home, two->home);
    assert_ptr_equal(agents_home(&agents, 5), one->home);
    assert_null(agents_home(&agents, 6));
    assert_int_equal(agents.count, 2);
    agents_remove(&agents, one);
    assert_null(agents_find(&agents, "one", 3));
    assert_ptr_equal(agents_find(&agents, "two", 3), two);
    agents_remove_home(&agents, agents_home(&agents, 5));
    assert_null(agents_find(&agents, "two", 3));
    assert_null(agents_home(&agents, 5));
    assert_int_equal(agents.count, 0);
    agents_deinit(&agents);
}

static void registering_again_replaces_what_it_offers(void **state) {
    (void)state;
    static const uint32_t owed[4] = {0};
    struct agents agents;
    agents_init(&agents, 1);
    put(&agents, "a", 1, "{\"methods\":[\"old\",\"both\"]}");
    put(&agents, "a", 1, "{\"methods\":[\"new\",\"both\",\"both\",7]}");
    assert_int_equal(agents.count, 1);
    assert_string_equal(choose(&agents, "old", 0, owed), "nobody");
    assert_string_equal(choose(&agents, "new", 0, owed), "a");
    assert_string_equal(choose(&agents, "both", 0, owed), "a");
    agents_remove(&agents, agents_find(&agents, "a", 1));
    assert_string_equal(choose(&agents, "both", 0, owed), "nobody");
    agents_remove_home(&agents, agents_home(&agents, 1)); // it stays for what its agents still owe
    agents_deinit(&agents);
}

static void the_one_that_owes_least_is_chosen(void **state) {
    (void)state;
    uint32_t owed[5] = {0, 3, 1, 2, 1};
    static const char *const ids[] = {"a1", "a2", "a3", "a4"};
    struct agents agents;
    agents_init(&agents, 1);
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
    agents_remove_home(&agents, agents_home(&agents, 3));
    assert_string_equal(choose(&agents, "m", 0, owed), "a1");
    agents_deinit(&agents);
}

static void nobody_is_chosen_for_its_own_request(void **state) {
    (void)state;
    static const uint32_t owed[3] = {0};
    struct agents agents;
    agents_init(&agents, 1);
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
        agents_init(&agents, 1);
        const struct agent *agent = put(&agents, "a", 1, table[index].capabilities);
        size_t count;
        struct agent *const *members = groups_members(&agents.groups, GROUP_CAPABILITY, "hcs", 3, &count);
        assert_int_equal(count, table[index].has);
        assert_true(count == 0 || members[0] == agent);
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
    agents_init(&agents, 1);
    for (unsigned connection = 1; connection <= 100; connection++) {
        char id[16];
        snprintf(id, sizeof id, "a%u", connection);
        put(&agents, id, connection, "{\"methods\":[\"m\"]}");
    }
    unsigned asked = 0, *count = &asked;
    struct agent *agent = groups_choose(&agents.groups, GROUP_METHOD, "m", 1, 0, count_asked, &count);
    assert_int_equal(agent->home->connection, 4);
    assert_int_equal(asked, 4);
    agents_deinit(&agents);
}

// However far memory reaches, a put is done wholly or not at all; a failed update may cost the old one.
static void without_memory_nothing_is_left_half_done(void **state) {
    (void)state;
    static const uint32_t owed[4] = {0};
    struct agents agents;
    agents_init(&agents, 1);
    put(&agents, "a", 1, "{\"methods\":[\"old\"]}");
    bool done = false;
    for (uint64_t left = 0; !done; left++) {
        assert_in_range(left, 0, 100);
        memory_fail_after(left);
        bool new_done = put(&agents, "b", 2, "{\"methods\":[\"m\",\"n\"]}") != NULL;
        if (!new_done) {
            assert_null(agents_find(&agents, "b", 1));
            assert_null(agents_home(&agents, 2));
        }
        memory_fail_after(left);
        done = put(&agents, "a", 1, "{\"methods\":[\"new\",\"newer\"]}") != NULL && new_done;
        memory_fail_after(UINT64_MAX);
        if (new_done)
            agents_remove_home(&agents, agents_home(&agents, 2));
        assert_string_equal(choose(&agents, "m", 0, owed), "nobody");
        if (!agents_find(&agents, "a", 1)) {
            assert_int_equal(agents.count, 0);
            assert_null(agents_home(&agents, 1));
            assert_string_equal(choose(&agents, "old", 0, owed), "nobody");
            put(&agents, "a", 1, "{\"methods\":[\"old\"]}");
        }
    }
    assert_string_equal(choose(&agents, "new", 0, owed), "a");
    assert_string_equal(choose(&agents, "old", 0, owed), "nobody");
    agents_deinit(&agents);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_agent_is_found_until_it_is_removed),
        cmocka_unit_test(registering_again_replaces_what_it_offers),
        cmocka_unit_test(the_one_that_owes_least_is_chosen),
        cmocka_unit_test(nobody_is_chosen_for_its_own_request),
        cmocka_unit_test(what_counts_as_a_capability),
        cmocka_unit_test(a_choice_ends_at_one_that_owes_nothing),
        cmocka_unit_test(without_memory_nothing_is_left_half_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
