// What has come from other hubs and from clients of their servers, by where it is answered: whoever asks chooses that.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "router/engine/send/exchange.h"
#include "router/features/cluster/inflight.h"

enum { VISITORS = 4096 };

static struct buffer_budget budget;
static struct quota quota;
static struct inflight inflight;
static struct exchange exchanges[VISITORS];
static struct cluster_member *hub;

static int open_all(void **state) {
    static const struct siphash_key key = {{0x0706050403020100, 0x0f0e0d0c0b0a0908}};
    (void)state;
    memset(exchanges, 0, sizeof exchanges);
    atomic_store(&budget.bytes_max, 16 << 20);
    quota_init(&quota, &budget);
    inflight_init(&inflight, &key, &quota);
    hub = cluster_members_hear(&inflight.cluster_members, "0123456789abcdef0123456789abcdef", 0, true);
    assert_non_null(hub);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    inflight_deinit(&inflight);
    assert_int_equal(quota.used, 0);
    quota_deinit(&quota);
    return 0;
}

// A reply of NULL: where that hub takes answers.
static struct inbound_request *enter(unsigned at, const char *reply, uint64_t number, bool *is_known) {
    struct reply_address passage = {.hub = number ? hub : NULL,
                                    .number = number,
                                    .reply = (const uint8_t *)reply,
                                    .reply_bytes = reply ? (uint32_t)strlen(reply) : 0};
    return inflight_enter(&inflight, &exchanges[at], &passage, is_known);
}

static void enter_new(unsigned at, const char *reply, uint64_t number) {
    bool is_known;
    assert_non_null(enter(at, reply, number, &is_known));
    assert_false(is_known);
}

// How many share a place with others, at most.
static size_t longest_chain(void) {
    size_t longest = 0;
    for (size_t at = 0; at < inflight.in.capacity; at++) {
        size_t count = 0;
        for (const struct hash_node *node = inflight.in.buckets[at]; node; node = node->next)
            count++;
        longest = count > longest ? count : longest;
    }
    return longest;
}

// Of as many thrown into as many places at random, that many meet in one with a probability of less than 1e-9.
enum { CHAIN_MAX = 16 };

static void one_number_on_many_subjects_makes_no_chain(void **state) {
    char reply[64];
    (void)state;
    for (unsigned at = 0; at < VISITORS; at++) {
        snprintf(reply, sizeof reply, "_INBOX.%x.5", at);
        enter_new(at, reply, 5);
    }
    assert_int_equal(inflight.in.count, VISITORS);
    assert_true(longest_chain() < CHAIN_MAX);
}

static void numbers_far_apart_make_no_chain(void **state) {
    (void)state;
    for (unsigned at = 0; at < VISITORS; at++)
        enter_new(at, NULL, (uint64_t)(at + 1) << 48);
    assert_true(longest_chain() < CHAIN_MAX);
}

static void each_is_found_where_it_is_answered(void **state) {
    static const char *const replies[] = {"a.5", "b.5", NULL, "a.05", "a", "5"};
    enum { COUNT = sizeof replies / sizeof *replies, OF_HUBS = 4 };
    bool is_known;
    (void)state;
    for (unsigned at = 0; at < COUNT; at++)
        enter_new(at, replies[at], at < OF_HUBS ? 5 : 0);
    enter_new(COUNT, NULL, 6);
    assert_ptr_equal(inflight_visitor(&inflight, hub, 5), exchanges[2].inbound);
    assert_ptr_equal(inflight_visitor(&inflight, hub, 6), exchanges[COUNT].inbound);
    assert_null(inflight_visitor(&inflight, hub, 7));
    for (unsigned at = 0; at < COUNT; at++) {
        assert_null(enter(COUNT + 1, replies[at], at < OF_HUBS ? 5 : 0, &is_known));
        assert_true(is_known);
        inflight_leave(&inflight, exchanges[at].inbound);
        assert_null(exchanges[at].inbound);
        enter_new(at, replies[at], at < OF_HUBS ? 5 : 0);
    }
    inflight_leave(&inflight, exchanges[2].inbound);
    assert_null(inflight_visitor(&inflight, hub, 5));
    assert_non_null(inflight_visitor(&inflight, hub, 6));
}

static struct outbound_request *add(uint64_t hub_id) {
    struct outbound_request *outbound = inflight_add(&inflight, hub_id, SUBJECT_AGENT, "b", 1);
    assert_non_null(outbound);
    return outbound;
}

static void one_that_has_ended_is_found_no_more(void **state) {
    (void)state;
    for (unsigned round = 0; round < 3; round++) {
        struct outbound_request *one = add(7), *two = add(8);
        assert_ptr_equal(inflight_find(&inflight, 7), one);
        assert_ptr_equal(inflight_find(&inflight, 7), one);
        assert_ptr_equal(inflight_find(&inflight, 8), two);
        inflight_remove(&inflight, two);
        assert_null(inflight_find(&inflight, 8));
        assert_ptr_equal(inflight_find(&inflight, 7), one);
        assert_non_null(inflight_rest(&inflight, one)); // given back with it
        inflight_remove(&inflight, one);
        assert_null(inflight_find(&inflight, 7));
    }
}

// What a burst needed stays for those that follow it, and no longer.
static void what_is_not_needed_again_is_given_back(void **state) {
    enum { BURST = 200, STAY = BURST < FREELIST_MAX ? BURST : FREELIST_MAX };
    int64_t before = quota.used;
    (void)state;
    for (unsigned at = 0; at < BURST; at++) {
        add(at + 1);
        enter_new(at, NULL, at + 1);
    }
    for (unsigned at = 0; at < BURST; at++) {
        inflight_remove(&inflight, inflight_find(&inflight, at + 1));
        inflight_leave(&inflight, exchanges[at].inbound);
    }
    inflight_shrink(&inflight);
    assert_int_equal(inflight.out_spares.count, STAY);
    assert_int_equal(inflight.in_spares.count, STAY);
    inflight_remove(&inflight, add(1));
    inflight_shrink(&inflight);
    assert_int_equal(inflight.out_spares.count, STAY ? 1 : 0);
    assert_int_equal(inflight.in_spares.count, 0);
    inflight_shrink(&inflight);
    assert_int_equal(inflight.out_spares.count, 0);
    assert_true(quota.used - before <= 16 * 1024); // the tables' places
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_number_on_many_subjects_makes_no_chain, open_all, close_all),
        cmocka_unit_test_setup_teardown(numbers_far_apart_make_no_chain, open_all, close_all),
        cmocka_unit_test_setup_teardown(each_is_found_where_it_is_answered, open_all, close_all),
        cmocka_unit_test_setup_teardown(one_that_has_ended_is_found_no_more, open_all, close_all),
        cmocka_unit_test_setup_teardown(what_is_not_needed_again_is_given_back, open_all, close_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
