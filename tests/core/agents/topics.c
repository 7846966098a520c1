// The table of topics, against a matcher that looks at every pattern of every subscriber.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include <stdio.h>

#include "core/agents/agents.h"
#include "core/agents/topics.h"
#include "core/base/memory.h"
#include "tests/core/base/account.h"

static bool matches(const char *pattern, const char *event) {
    size_t bytes = strlen(pattern);
    return pattern[bytes - 1] == '*' ? strncmp(pattern, event, bytes - 1) == 0 : strcmp(pattern, event) == 0;
}

static struct subscription *ask(struct topics *topics, struct subscriber *subscriber, const char *pattern) {
    struct subscription *subscription = topics_hold(topics, subscriber, pattern, strlen(pattern));
    if (subscription)
        subscription->asked = true;
    return subscription;
}

static void take_back(struct topics *topics, struct subscriber *subscriber, const char *pattern) {
    struct subscription *subscription = topics_find(topics, subscriber, pattern, strlen(pattern));
    assert_non_null(subscription);
    subscription->asked = false;
    topics_let_go(topics, subscription);
}

// How many topics that this subscriber is at match the event.
static unsigned reached(const struct topics *topics, const struct subscriber *subscriber, const char *event) {
    struct topic *found[TOPICS_MATCH_MAX];
    size_t count = topics_match(topics, event, strlen(event), found);
    unsigned reached = 0;
    for (size_t index = 0; index < count; index++)
        for (struct list *node = found[index]->subscriptions.next; node != &found[index]->subscriptions;
             node = node->next)
            reached += subscriber_of(node) == subscriber;
    return reached;
}

// --- Patterns

static void a_star_stands_at_the_end_or_nowhere(void **state) {
    (void)state;
    char longest[EVENT_BYTES_MAX + 1];
    memset(longest, 'x', sizeof longest);
    assert_true(pattern_valid("*", 1));
    assert_true(pattern_valid("a", 1));
    assert_true(pattern_valid("build-*", 7));
    assert_true(pattern_valid("a\0b", 3));
    assert_true(pattern_valid(longest, EVENT_BYTES_MAX));
    assert_false(pattern_valid(longest, EVENT_BYTES_MAX + 1));
    assert_false(pattern_valid("", 0));
    assert_false(pattern_valid("**", 2));
    assert_false(pattern_valid("a*b", 3));
    assert_false(pattern_valid("*a", 2));
}

static void the_longest_pattern_and_the_longest_name_meet(void **state) {
    (void)state;
    struct topics topics;
    struct subscriber subscriber;
    char pattern[EVENT_BYTES_MAX + 1] = {0}, name[EVENT_BYTES_MAX + 1] = {0};
    memset(pattern, 'x', EVENT_BYTES_MAX);
    memset(name, 'x', EVENT_BYTES_MAX);
    pattern[EVENT_BYTES_MAX - 1] = '*';
    topics_init(&topics, &TABLE_KEY, account());
    subscriber_init(&subscriber, 0);
    assert_non_null(ask(&topics, &subscriber, pattern));
    assert_non_null(ask(&topics, &subscriber, name));
    assert_non_null(ask(&topics, &subscriber, "*"));
    assert_int_equal(reached(&topics, &subscriber, name), 3);
    name[EVENT_BYTES_MAX - 2] = '\0';
    assert_int_equal(reached(&topics, &subscriber, name), 1);
    topics_forget(&topics, &subscriber);
    topics_deinit(&topics);
}

// --- Any sequence agrees with the naive matcher

enum { SUBSCRIBERS = 7, PATTERNS = 40 };

static uint32_t number;

static uint32_t below(uint32_t bound) {
    number = number * 1664525 + 1013904223;
    return (number >> 8) % bound;
}

// Short names over few letters, so that they often match.
static void make_name(char *out, bool pattern) {
    size_t bytes = below(6);
    for (size_t index = 0; index < bytes; index++)
        out[index] = "aab-"[below(4)];
    if (pattern && below(2))
        out[bytes++] = '*';
    else if (!bytes)
        out[bytes++] = 'a';
    out[bytes] = '\0';
}

static void any_sequence_agrees_with_a_naive_matcher(void **state) {
    (void)state;
    struct topics topics;
    struct subscriber subscribers[SUBSCRIBERS];
    char patterns[PATTERNS][16];
    bool there[SUBSCRIBERS][PATTERNS] = {{false}};
    number = 99;
    topics_init(&topics, &TABLE_KEY, account());
    topics.demand = subscriber_count_create(&TABLE_KEY);
    assert_non_null(topics.demand);
    for (unsigned index = 0; index < PATTERNS; index++)
        make_name(patterns[index], true);
    for (unsigned index = 0; index < SUBSCRIBERS; index++)
        subscriber_init(&subscribers[index], index);
    for (unsigned round = 0; round < 3000; round++) {
        unsigned who = below(SUBSCRIBERS), which = below(PATTERNS);
        bool again = topics_find(&topics, &subscribers[who], patterns[which], strlen(patterns[which]));
        if (again && below(2))
            take_back(&topics, &subscribers[who], patterns[which]);
        else
            assert_non_null(ask(&topics, &subscribers[who], patterns[which]));
        bool now = topics_find(&topics, &subscribers[who], patterns[which], strlen(patterns[which]));
        for (unsigned index = 0; index < PATTERNS; index++) // the same text may have been made twice
            if (strcmp(patterns[index], patterns[which]) == 0)
                there[who][index] = now;
        char event[16];
        make_name(event, false);
        unsigned all = 0;
        for (unsigned other = 0; other < SUBSCRIBERS; other++) {
            unsigned expected = 0;
            for (unsigned index = 0; index < PATTERNS; index++) {
                bool first = true;
                for (unsigned before = 0; before < index; before++)
                    first &= strcmp(patterns[before], patterns[index]) != 0;
                expected += first && there[other][index] && matches(patterns[index], event);
            }
            assert_int_equal(reached(&topics, &subscribers[other], event), expected);
            all += expected;
        }
        assert_int_equal(subscriber_count_for(topics.demand, event, strlen(event)), all);
    }
    for (unsigned index = 0; index < SUBSCRIBERS; index++)
        topics_forget(&topics, &subscribers[index]);
    assert_int_equal(topics.count, 0);
    for (unsigned bytes = 0; bytes < EVENT_BYTES_MAX; bytes++)
        assert_int_equal(topics.prefix_count[bytes], 0);
    memory_give(topics.demand);
    topics_deinit(&topics);
}

// --- Memory

enum { NEIGHBOURS = 20000, APART = 3 };

// Subscribes so many to one pattern. Notes what the account holds after each.
static void hold_many(struct subscriber *subscribers, unsigned stride, int64_t held[NEIGHBOURS]) {
    struct topics topics;
    int64_t before = account()->used;
    topics_init(&topics, &TABLE_KEY, account());
    for (unsigned index = 0; index < NEIGHBOURS; index++) {
        subscriber_init(&subscribers[index * stride], index);
        assert_non_null(ask(&topics, &subscribers[index * stride], "a"));
        held[index] = account()->used - before;
    }
    for (unsigned index = 0; index < NEIGHBOURS; index++)
        topics_forget(&topics, &subscribers[index * stride]);
    topics_deinit(&topics);
}

static void memory_does_not_depend_on_addresses(void **state) {
    (void)state;
    static struct subscriber subscribers[NEIGHBOURS * APART];
    static int64_t near[NEIGHBOURS], far[NEIGHBOURS];
    hold_many(subscribers, 1, near);
    hold_many(subscribers, APART, far);
    assert_memory_equal(near, far, sizeof near);
}

// --- Reasons

static void set_up(struct agents *agents, struct subscriber *subscriber) {
    agents_init(agents, &TABLE_KEY, account());
    subscriber_init(subscriber, 0);
}

static bool put(struct agents *agents, struct subscriber *subscriber, const char *id, const char *events) {
    char text[512];
    size_t bytes = (size_t)snprintf(text, sizeof text, "{\"events\":%s}", events);
    struct agent_profile profile = {
        .connection = 5, .subscriber = subscriber, .id = id, .id_bytes = strlen(id)};
    return put_offer(agents, &profile, text, bytes) != NULL;
}

// The patterns in force, in their order, with commas.
static const char *in_force(const struct subscriber *subscriber) {
    static char text[512];
    size_t at = 0;
    uint32_t count = 0;
    for (const struct list *node = subscriber->subscriptions.next; node != &subscriber->subscriptions;
         node = node->next, count++) {
        const struct topic *topic =
            list_entry((struct list *)(uintptr_t)node, struct subscription, by_subscriber)->topic;
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%.*s", at ? "," : "", (int)topic->bytes,
                               topic->name);
    }
    text[at] = '\0';
    assert_int_equal(subscriber->count, count);
    return text;
}

static void a_subscription_goes_with_its_last_reason(void **state) {
    (void)state;
    struct agents agents;
    struct subscriber subscriber;
    set_up(&agents, &subscriber);
    assert_true(put(&agents, &subscriber, "one", "[\"a\",\"b*\",\"a\",7,\"x*y\",\"\"]"));
    assert_string_equal(in_force(&subscriber), "a,b*");
    assert_true(put(&agents, &subscriber, "two", "{\"c\":true,\"a\":1,\"no\":false,\"nor\":null,\"0\":0}"));
    assert_non_null(ask(&agents.topics, &subscriber, "b*"));
    assert_string_equal(in_force(&subscriber), "a,b*,c");
    assert_int_equal(agents.topics.count, 3);
    agents_remove(&agents, agents_find(&agents, "one", 3));
    assert_string_equal(in_force(&subscriber), "a,b*,c");
    take_back(&agents.topics, &subscriber, "b*");
    assert_string_equal(in_force(&subscriber), "a,c");
    agents_remove_registrant(&agents, agents_registrant(&agents, 5));
    assert_string_equal(in_force(&subscriber), "");
    agents_deinit(&agents);
}

static void registering_again_replaces_and_keeps_the_place_of_what_stays(void **state) {
    (void)state;
    struct agents agents;
    struct subscriber subscriber;
    set_up(&agents, &subscriber);
    assert_true(put(&agents, &subscriber, "one", "[\"a\",\"b\",\"c\"]"));
    assert_true(put(&agents, &subscriber, "one", "[\"d\",\"b\"]"));
    assert_string_equal(in_force(&subscriber), "b,d");
    assert_true(put(&agents, &subscriber, "one", "7"));
    assert_string_equal(in_force(&subscriber), "");
    assert_true(put(&agents, &subscriber, "one", "[\"e\"]"));
    agents_silence_registrant(&agents, agents_registrant(&agents, 5));
    assert_string_equal(in_force(&subscriber), "");
    agents_deinit(&agents);
}

static size_t foresee(struct agents *agents, const struct subscriber *subscriber, const char *old,
                      const char *events) {
    char text[512] = {0};
    memcpy(text, events, strlen(events));
    return topics_predict_count(&agents->topics, subscriber, agents_find(agents, old, strlen(old)),
                                (const uint8_t *)text, (struct span){0, (uint32_t)strlen(events)});
}

static void what_a_registration_will_hold_is_foreseen(void **state) {
    (void)state;
    struct agents agents;
    struct subscriber subscriber;
    set_up(&agents, &subscriber);
    assert_true(put(&agents, &subscriber, "one", "[\"a\",\"b\",\"c\"]"));
    assert_true(put(&agents, &subscriber, "two", "[\"c\",\"d\"]"));
    assert_non_null(ask(&agents.topics, &subscriber, "a"));
    assert_int_equal(foresee(&agents, &subscriber, "new", "[\"a\",\"e\"]"), 5);
    assert_int_equal(foresee(&agents, &subscriber, "one", "[\"e\",\"f\"]"), 5); // b goes, a and c stay
    assert_int_equal(foresee(&agents, &subscriber, "one", "[\"b\",\"f\"]"), 5);
    assert_int_equal(foresee(&agents, &subscriber, "one", ""), 3);
    assert_int_equal(foresee(&agents, &subscriber, "two", "[\"d\"]"), 4);
    agents_silence_registrant(&agents, agents_registrant(&agents, 5));
    topics_forget(&agents.topics, &subscriber);
    agents_deinit(&agents);
}

static void without_memory_nothing_changes(void **state) {
    (void)state;
    for (uint64_t left = 0;; left++) {
        struct agents agents;
        struct subscriber subscriber;
        set_up(&agents, &subscriber);
        assert_non_null(ask(&agents.topics, &subscriber, "z*"));
        memory_fail_after(left);
        bool done = put(&agents, &subscriber, "one", "[\"a\",\"b*\",\"z*\"]");
        memory_fail_after(UINT64_MAX);
        assert_string_equal(in_force(&subscriber), done ? "z*,a,b*" : "z*");
        struct registrant *registrant = agents_registrant(&agents, 5);
        if (registrant)
            agents_remove_registrant(&agents, registrant);
        assert_string_equal(in_force(&subscriber), "z*");
        topics_forget(&agents.topics, &subscriber);
        agents_deinit(&agents);
        if (done)
            break;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_star_stands_at_the_end_or_nowhere),
        cmocka_unit_test(the_longest_pattern_and_the_longest_name_meet),
        cmocka_unit_test(any_sequence_agrees_with_a_naive_matcher),
        cmocka_unit_test(memory_does_not_depend_on_addresses),
        cmocka_unit_test(a_subscription_goes_with_its_last_reason),
        cmocka_unit_test(registering_again_replaces_and_keeps_the_place_of_what_stays),
        cmocka_unit_test(what_a_registration_will_hold_is_foreseen),
        cmocka_unit_test(without_memory_nothing_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
