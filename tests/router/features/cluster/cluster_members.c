// The other hubs of a cluster, as they are heard: who is silent longest, who is served, how many there may be.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "router/features/cluster/cluster_members.h"

static struct buffer_budget budget;
static struct quota quota;
static struct cluster_members cluster_members;

static int open_all(void **state) {
    static const struct siphash_key key = {0};
    (void)state;
    atomic_store(&budget.bytes_max, 128 << 10);
    quota_init(&quota, &budget);
    cluster_members_init(&cluster_members, "c", &key, &quota);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    while (!list_empty(&cluster_members.all))
        cluster_members_remove(&cluster_members,
                               list_entry(cluster_members.all.next, struct cluster_member, link));
    cluster_members_deinit(&cluster_members);
    assert_int_equal(quota.used, 0);
    quota_deinit(&quota);
    return 0;
}

static struct hub_name named(unsigned node, uint32_t number) {
    char text[NODE_BYTES + 1];
    struct hub_name name;
    snprintf(text, sizeof text, "%032x", node);
    hub_name_write(&name, text, number);
    return name;
}

static struct cluster_member *add(unsigned node, uint64_t now_ms) {
    struct hub_name name = named(node, 1);
    return cluster_members_add(&cluster_members, &name, now_ms);
}

static void who_was_heard_longest_ago_is_first(void **state) {
    (void)state;
    struct cluster_member *one = add(1, 10), *other = add(2, 20);
    assert_true(one && other && one != other);
    assert_ptr_equal(list_entry(cluster_members.all.next, struct cluster_member, link), one);
    cluster_members_seen(&cluster_members, one, 30);
    assert_int_equal(one->received_ms, 30);
    assert_ptr_equal(list_entry(cluster_members.all.next, struct cluster_member, link), other);
}

static void a_node_is_found_whatever_its_link(void **state) {
    struct hub_name later = named(1, 7), none = named(3, 1);
    (void)state;
    struct cluster_member *one = add(1, 10), *other = add(2, 10);
    assert_ptr_equal(cluster_members_find(&cluster_members, &later), one);
    assert_null(cluster_members_find(&cluster_members, &none));
    cluster_members_remove(&cluster_members, one);
    assert_null(cluster_members_find(&cluster_members, &later));
    assert_ptr_equal(cluster_members_find(&cluster_members, &other->hub), other);
}

static void who_has_beaten_is_counted(void **state) {
    (void)state;
    struct cluster_member *one = add(1, 1), *other = add(2, 1);
    assert_int_equal(cluster_members.served + cluster_members.unserved, 0);
    one->has_beaten = one->is_served = other->has_beaten = true;
    cluster_members_count(&cluster_members);
    assert_int_equal(cluster_members.served, 1);
    assert_int_equal(cluster_members.unserved, 1);
    other->is_served = true;
    cluster_members_count(&cluster_members);
    assert_int_equal(cluster_members.served, 2);
    assert_int_equal(cluster_members.unserved, 0);
    cluster_members_remove(&cluster_members, other);
    cluster_members_count(&cluster_members);
    assert_int_equal(cluster_members.served, 1);
}

static void there_are_so_many_at_most(void **state) {
    (void)state;
    atomic_store(&budget.bytes_max, 16 << 20);
    for (unsigned node = 0; node < CLUSTER_MEMBERS_MAX; node++)
        assert_non_null(add(node, 1));
    assert_null(add(CLUSTER_MEMBERS_MAX, 1));
    cluster_members_remove(&cluster_members,
                           list_entry(cluster_members.all.next, struct cluster_member, link));
    assert_non_null(add(CLUSTER_MEMBERS_MAX, 1));
}

static void without_memory_nobody_is_added(void **state) {
    (void)state;
    struct cluster_member *one = add(0, 1);
    unsigned node = 1;
    while (node < CLUSTER_MEMBERS_MAX && add(node, 1))
        node++;
    assert_in_range(node, 2, CLUSTER_MEMBERS_MAX - 1);
    assert_ptr_equal(cluster_members_find(&cluster_members, &one->hub), one);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(who_was_heard_longest_ago_is_first, open_all, close_all),
        cmocka_unit_test_setup_teardown(a_node_is_found_whatever_its_link, open_all, close_all),
        cmocka_unit_test_setup_teardown(who_has_beaten_is_counted, open_all, close_all),
        cmocka_unit_test_setup_teardown(there_are_so_many_at_most, open_all, close_all),
        cmocka_unit_test_setup_teardown(without_memory_nobody_is_added, open_all, close_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
