// The other hubs of a cluster, as they are heard: places, silence, and what all of them have denied.
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
    atomic_store(&budget.bytes_max, 1 << 20);
    quota_init(&quota, &budget);
    cluster_members_init(&cluster_members, &key, &quota);
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

static struct cluster_member *hear(unsigned number, uint64_t now_ms, bool needed) {
    char name[HUB_NAME_BYTES + 1];
    snprintf(name, sizeof name, "%032x", number);
    return cluster_members_hear(&cluster_members, name, now_ms, needed);
}

static void who_was_heard_longest_ago_is_first(void **state) {
    (void)state;
    struct cluster_member *one = hear(1, 10, false), *other = hear(2, 20, false);
    assert_true(one && other && one != other);
    assert_ptr_equal(list_entry(cluster_members.all.next, struct cluster_member, link), one);
    assert_ptr_equal(hear(1, 30, false), one);
    assert_int_equal(one->heard_ms, 30);
    assert_ptr_equal(list_entry(cluster_members.all.next, struct cluster_member, link), other);
    assert_ptr_equal(cluster_members_find(&cluster_members, other->name), other);
    cluster_members_remove(&cluster_members, other);
    assert_int_equal(cluster_members.by_name.count, 1);
}

static void places_are_bounded_and_given_again(void **state) {
    (void)state;
    for (unsigned number = 0; number < CLUSTER_MEMBERS_MAX; number++)
        assert_true(hear(number, 1, false)->place < CLUSTER_MEMBERS_MAX);
    assert_null(hear(CLUSTER_MEMBERS_MAX, 1, false));
    struct cluster_member *needed = hear(CLUSTER_MEMBERS_MAX, 1, true);
    assert_true(needed && needed->place == CLUSTER_MEMBERS_MAX);
    struct cluster_member *gone = list_entry(cluster_members.all.next, struct cluster_member, link);
    uint32_t place = gone->place;
    cluster_members_remove(&cluster_members, gone);
    assert_int_equal(hear(CLUSTER_MEMBERS_MAX + 1, 1, false)->place, place);
}

static void who_is_displaced_may_come_back(void **state) {
    uint64_t denied[CLUSTER_MEMBER_WORDS] = {0};
    (void)state;
    struct cluster_member *gone = hear(1, 1, false), *other = hear(2, 1, false);
    denied[other->place / 64] |= UINT64_C(1) << other->place % 64;
    assert_false(cluster_members_all(&cluster_members, denied));
    cluster_members_displace(&cluster_members, gone);
    assert_true(cluster_members_all(&cluster_members, denied)); // nobody waits for its word
    assert_int_equal(hear(3, 2, false)->place, 0);
    assert_ptr_equal(hear(1, 3, false), gone);
    assert_int_equal(gone->place, 2);
}

static void all_are_those_with_a_place(void **state) {
    uint64_t denied[CLUSTER_MEMBER_WORDS] = {0};
    (void)state;
    assert_false(
        cluster_members_all(&cluster_members, denied)); // nobody is heard, and so nobody denies anything
    for (unsigned number = 0; number < 70; number++) {
        struct cluster_member *heard = hear(number, 1, false);
        assert_false(cluster_members_all(&cluster_members, denied));
        denied[heard->place / 64] |= UINT64_C(1) << heard->place % 64;
        assert_true(cluster_members_all(&cluster_members, denied));
    }
}

// Who isn't known to heed fences is counted, and a link that isn't the current one's tells nothing.
static void who_has_not_said_that_it_heeds_fences_is_counted(void **state) {
    _Atomic uint32_t count = 7, unfenced = 7;
    char name[HUB_NAME_BYTES + 1];
    (void)state;
    assert_true(hear(1, 1, true)->is_unfenced); // known by a request, before any link is told of
    assert_int_equal(count, 7);
    cluster_members_tell(&cluster_members, &(struct cluster_members_shared){&count, &unfenced});
    assert_int_equal(count, 1);
    assert_int_equal(unfenced, 1);
    snprintf(name, sizeof name, "%032x", 2);
    assert_false(cluster_members_hear_of(&cluster_members, name, 2, true)->is_unfenced);
    assert_int_equal(count, 2);
    assert_int_equal(unfenced, 1);
    assert_false(cluster_members_hear_of(&cluster_members, name, 3, false)->is_unfenced); // only beats say it
    struct cluster_member *old = hear(1, 3, false);
    assert_true(cluster_members_hear_of(&cluster_members, old->name, 3, false)->is_unfenced);
    assert_int_equal(unfenced, 1);
    assert_false(cluster_members_hear_of(&cluster_members, old->name, 4, true)->is_unfenced);
    assert_int_equal(unfenced, 0);
    struct cluster_member *gone = hear(3, 5, true);
    assert_int_equal(unfenced, 1);
    cluster_members_remove(&cluster_members, gone);
    assert_int_equal(count, 2);
    assert_int_equal(unfenced, 0);
    cluster_members_tell(&cluster_members, &(struct cluster_members_shared){NULL, NULL});
    assert_true(hear(4, 6, true)->is_unfenced);
    assert_int_equal(count, 2);
    assert_int_equal(unfenced, 0);
}

// There is no place for them, and no memory is taken: one of them is enough.
static void who_can_not_be_known_counts_as_unfenced_until_it_is_heard_no_more(void **state) {
    static _Atomic uint32_t count, unfenced; // the teardown counts them down
    (void)state;
    cluster_members_tell(&cluster_members, &(struct cluster_members_shared){&count, &unfenced});
    cluster_members_meet_stranger(&cluster_members, 10);
    cluster_members_meet_stranger(&cluster_members, 20);
    assert_int_equal(count, 0);
    assert_int_equal(unfenced, 1);
    assert_true(hear(1, 21, true)->is_unfenced);
    assert_int_equal(unfenced, 2);
    cluster_members_forget_strangers(&cluster_members, 19);
    assert_int_equal(unfenced, 2);
    cluster_members_forget_strangers(&cluster_members, 20);
    assert_int_equal(unfenced, 1);
}

static void without_memory_nobody_is_known(void **state) {
    (void)state;
    unsigned number = 0;
    while (number < 100000 && hear(number, 1, true))
        number++;
    assert_in_range(number, 1, 99999);
    assert_non_null(hear(0, 2, true)); // who is known stays so
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(who_was_heard_longest_ago_is_first, open_all, close_all),
        cmocka_unit_test_setup_teardown(places_are_bounded_and_given_again, open_all, close_all),
        cmocka_unit_test_setup_teardown(who_is_displaced_may_come_back, open_all, close_all),
        cmocka_unit_test_setup_teardown(all_are_those_with_a_place, open_all, close_all),
        cmocka_unit_test_setup_teardown(who_has_not_said_that_it_heeds_fences_is_counted, open_all,
                                        close_all),
        cmocka_unit_test_setup_teardown(who_can_not_be_known_counts_as_unfenced_until_it_is_heard_no_more,
                                        open_all, close_all),
        cmocka_unit_test_setup_teardown(without_memory_nobody_is_known, open_all, close_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
