// Owners of a shared server's messages, held against a plain model that counts.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/base/limits.h"
#include "core/mcp/mcp_users.h"
#include "tests/core/base/account.h"

static struct mcp_users users;

static int begin(void **state) {
    (void)state;
    mcp_users_init(&users, &TABLE_KEY, account());
    return 0;
}

static int end(void **state) {
    (void)state;
    int64_t used = account()->used;
    mcp_users_deinit(&users);
    return used >= account()->used && account()->used == 0 ? 0 : -1;
}

static char orphans[200];

static void note_orphan(void *context, const char *uri, size_t bytes) {
    (void)context;
    snprintf(orphans + strlen(orphans), sizeof orphans - strlen(orphans), "%.*s ", (int)bytes, uri);
}

static void leave(uint64_t connection) {
    orphans[0] = '\0';
    mcp_user_leave(&users, mcp_user_find(&users, connection), note_orphan, NULL);
    assert_null(mcp_user_find(&users, connection));
}

static bool subscribe(uint64_t connection, const char *uri) {
    return mcp_subscribe(&users, mcp_user_take(&users, connection), uri, strlen(uri));
}

static bool unsubscribe(uint64_t connection, const char *uri) {
    return mcp_unsubscribe(&users, mcp_user_take(&users, connection), uri, strlen(uri));
}

static void end_it(void *context, uint64_t id) {
    *(uint64_t *)context += id;
    assert_true(mcp_request_end(&users, id));
}

static void requests_are_whose_they_are(void **state) {
    (void)state;
    uint64_t sum = 0;
    struct mcp_user *one = mcp_user_take(&users, 1), *other = mcp_user_take(&users, 2);
    for (uint64_t id = 1; id <= 200; id++)
        assert_true(mcp_request_begin(&users, id % 2 ? one : other, id, MCP_REQUEST));
    assert_ptr_equal(mcp_request_user(&users, 7), one);
    assert_ptr_equal(mcp_request_user(&users, 8), other);
    assert_null(mcp_request_user(&users, 201));
    mcp_visit_requests(one, end_it, &sum);
    assert_int_equal(sum, 100 * 100);
    assert_null(mcp_request_user(&users, 7));
    assert_ptr_equal(mcp_request_user(&users, 8), other);
    leave(1);
    leave(2);
}

static void begin_another(void *context, uint64_t id) {
    uint64_t *count = context;
    assert_true(id <= 2); // those that were there
    assert_true(mcp_request_end(&users, id));
    assert_true(mcp_request_begin(&users, mcp_user_find(&users, 1), 10 + ++*count, MCP_REQUEST));
}

static void requests_that_begin_meanwhile_are_not_visited(void **state) {
    (void)state;
    uint64_t count = 0;
    struct mcp_user *one = mcp_user_take(&users, 1);
    mcp_visit_requests(one, begin_another, &count);
    assert_int_equal(count, 0);
    for (uint64_t id = 1; id <= 2; id++)
        assert_true(mcp_request_begin(&users, one, id, MCP_REQUEST));
    mcp_visit_requests(one, begin_another, &count);
    assert_int_equal(count, 2);
    assert_ptr_equal(mcp_request_user(&users, 11), one);
    assert_ptr_equal(mcp_request_user(&users, 12), one);
    leave(1);
}

static void users_are_found_by_their_connections(void **state) {
    (void)state;
    assert_null(mcp_user_find(&users, 1));
    for (uint64_t connection = 1; connection < 500; connection++)
        assert_ptr_equal(mcp_user_take(&users, connection), mcp_user_take(&users, connection));
    for (uint64_t connection = 1; connection < 500; connection++)
        assert_int_equal(mcp_user_find(&users, connection)->registrant.connection, connection);
    for (uint64_t connection = 1; connection < 500; connection += 2)
        leave(connection);
    for (uint64_t connection = 1; connection < 500; connection++)
        assert_int_equal(mcp_user_find(&users, connection) != NULL, connection % 2 == 0);
}

static void who_alone_has_something_in_progress(void **state) {
    (void)state;
    struct mcp_user *a = mcp_user_take(&users, 1), *b = mcp_user_take(&users, 2);
    assert_null(mcp_only_requester(&users));
    assert_true(mcp_request_begin(&users, a, 10, MCP_REQUEST));
    assert_true(mcp_request_begin(&users, a, 11, MCP_REQUEST_WITH_LOG));
    assert_ptr_equal(mcp_only_requester(&users), a);
    assert_ptr_equal(mcp_only_log_reader(&users), a);
    assert_true(mcp_request_begin(&users, b, 12, MCP_REQUEST));
    assert_null(mcp_only_requester(&users));
    assert_ptr_equal(mcp_only_log_reader(&users), a);
    assert_true(mcp_request_end(&users, 10));
    assert_null(mcp_only_requester(&users));
    assert_true(mcp_request_end(&users, 11));
    assert_ptr_equal(mcp_only_requester(&users), b);
    assert_null(mcp_only_log_reader(&users));
    assert_false(mcp_request_end(&users, 11));
    assert_true(mcp_request_end(&users, 12));
    assert_null(mcp_only_requester(&users));
}

static void what_was_given_up_is_in_progress_and_nobodys(void **state) {
    (void)state;
    struct mcp_user *one = mcp_user_take(&users, 1), *other = mcp_user_take(&users, 2);
    assert_true(mcp_request_begin(&users, one, 10, MCP_REQUEST_WITH_LOG));
    assert_true(mcp_request_begin(&users, other, 11, MCP_REQUEST));
    assert_true(mcp_listen_begin(&users, one, 12, "1", 1));
    assert_false(mcp_request_abandon(&users, 9, 1000));
    assert_false(mcp_abandoned_any(&users, 1000));
    assert_true(mcp_request_abandon(&users, 12, 1000)); // which isn't in progress
    assert_false(mcp_abandoned_any(&users, 1000));
    assert_true(mcp_request_abandon(&users, 10, 1000));
    assert_false(mcp_request_abandon(&users, 10, 1000));
    assert_false(mcp_request_end(&users, 10));
    assert_null(mcp_request_user(&users, 10));
    assert_int_equal(mcp_request_kind_of(&users, 10), MCP_REQUEST);
    assert_ptr_equal(mcp_only_requester(&users), other);
    assert_null(mcp_only_log_reader(&users));
    leave(1);
    assert_true(mcp_abandoned_any(&users, 1000 + MCP_ABANDONED_MS - 1));
    assert_false(mcp_abandoned_end(&users, 11));
    assert_true(mcp_abandoned_end(&users, 10));
    assert_false(mcp_abandoned_end(&users, 10));
    assert_false(mcp_abandoned_any(&users, 1000));
    assert_true(mcp_request_abandon(&users, 11, 2000));
    assert_false(mcp_abandoned_any(&users, 2000 + MCP_ABANDONED_MS)); // and it is known no more
    assert_false(mcp_abandoned_end(&users, 11));
    leave(2);
}

static void what_was_given_up_has_a_bound(void **state) {
    (void)state;
    struct mcp_user *user = mcp_user_take(&users, 1);
    uint64_t id = 0;
    for (; id < MCP_ABANDONED_MAX; id++) {
        assert_true(mcp_request_begin(&users, user, id + 1, MCP_REQUEST));
        assert_true(mcp_request_abandon(&users, id + 1, 5));
    }
    assert_true(mcp_request_begin(&users, user, id + 1, MCP_REQUEST));
    assert_true(mcp_request_abandon(&users, id + 1, 1005));
    assert_int_equal(users.abandoned_count, MCP_ABANDONED_MAX);
    for (; id > 0; id--)
        assert_true(mcp_abandoned_end(&users, id));
    assert_true(mcp_abandoned_any(&users, 1004 + MCP_ABANDONED_MS)); // the one that isn't known
    assert_false(mcp_abandoned_any(&users, 1005 + MCP_ABANDONED_MS));
    assert_true(mcp_request_begin(&users, user, 1, MCP_REQUEST));
    assert_true(mcp_request_abandon(&users, 1, 7));
    mcp_abandoned_forget(&users);
    assert_false(mcp_abandoned_any(&users, 7));
    leave(1);
}

static void who_listens_has_nothing_in_progress(void **state) {
    (void)state;
    struct mcp_user *a = mcp_user_take(&users, 1), *b = mcp_user_take(&users, 2);
    assert_true(mcp_request_begin(&users, a, 10, MCP_REQUEST_LISTEN));
    assert_null(mcp_only_requester(&users));
    assert_true(mcp_request_begin(&users, b, 11, MCP_REQUEST));
    assert_ptr_equal(mcp_only_requester(&users), b);
    leave(2);
    assert_null(mcp_only_requester(&users));
    assert_false(mcp_request_end(&users, 11));
    assert_true(mcp_request_end(&users, 10));
}

static void who_listens_is_known_by_its_own_id(void **state) {
    (void)state;
    size_t bytes = 7;
    struct mcp_user *a = mcp_user_take(&users, 1);
    assert_true(mcp_listen_begin(&users, a, 10, "\"x\"", 3));
    assert_true(mcp_request_begin(&users, a, 11, MCP_REQUEST_DISCOVER));
    assert_memory_equal(mcp_listener(&users, 10, &bytes), "\"x\"", 3);
    assert_int_equal(bytes, 3);
    assert_null(mcp_listener(&users, 11, &bytes));
    assert_null(mcp_listener(&users, 12, &bytes));
    assert_int_equal(bytes, 0);
    assert_int_equal(mcp_request_kind_of(&users, 10), MCP_REQUEST_LISTEN);
    assert_int_equal(mcp_request_kind_of(&users, 11), MCP_REQUEST_DISCOVER);
    assert_int_equal(mcp_request_kind_of(&users, 12), MCP_REQUEST);
    assert_ptr_equal(mcp_only_requester(&users), a);
    leave(1);
}

static void a_resource_is_the_servers_until_its_last_subscriber_goes(void **state) {
    (void)state;
    assert_true(subscribe(1, "a") && subscribe(1, "a") && subscribe(2, "a") && subscribe(2, "b"));
    assert_true(unsubscribe(1, "a"));
    assert_true(unsubscribe(1, "a")); // it isn't any more, but another one is
    assert_false(unsubscribe(2, "a"));
    assert_false(unsubscribe(2, "a"));
    assert_false(unsubscribe(1, "never"));
    assert_true(subscribe(1, "b") && subscribe(1, "c") && subscribe(1, "d"));
    leave(1);
    assert_string_equal(orphans, "c d ");
    leave(2);
    assert_string_equal(orphans, "b ");
}

static bool ask_to_subscribe(uint64_t connection, uint64_t id, const char *uri) {
    assert_true(mcp_request_begin(&users, mcp_user_take(&users, connection), id, MCP_REQUEST));
    return mcp_request_subscribe(&users, id, uri, strlen(uri));
}

static void refuse(uint64_t id) {
    orphans[0] = '\0';
    mcp_request_refused(&users, id, note_orphan, NULL);
}

static void who_was_refused_is_no_subscriber(void **state) {
    (void)state;
    assert_true(subscribe(1, "a") && ask_to_subscribe(2, 10, "a") && ask_to_subscribe(2, 11, "b"));
    refuse(10);
    refuse(10);
    refuse(12);
    assert_true(mcp_request_end(&users, 10) && mcp_request_end(&users, 11));
    assert_false(unsubscribe(1, "a"));
    assert_true(ask_to_subscribe(1, 13, "b")); // who was granted one, or asks for it again, keeps it
    assert_true(ask_to_subscribe(2, 14, "b"));
    refuse(14);
    assert_true(unsubscribe(1, "b"));
    refuse(13); // it isn't any more
    assert_true(ask_to_subscribe(2, 15, "c"));
    leave(2);
    assert_string_equal(orphans, "b c ");
}

// The server wasn't told that one isn't subscribed any more, or has left, because another one asked to be; when that is
// refused, it has to be told.
static void who_is_refused_last_leaves_an_orphan(void **state) {
    (void)state;
    assert_true(subscribe(1, "a") && ask_to_subscribe(2, 10, "a"));
    assert_true(unsubscribe(1, "a"));
    refuse(10);
    assert_string_equal(orphans, "a ");
    assert_true(subscribe(1, "b") && ask_to_subscribe(2, 11, "b"));
    leave(1);
    assert_string_equal(orphans, "");
    refuse(11);
    assert_string_equal(orphans, "b ");
    assert_true(subscribe(1, "c") && ask_to_subscribe(2, 12, "c") && ask_to_subscribe(3, 13, "c"));
    assert_true(unsubscribe(1, "c"));
    refuse(12);
    assert_string_equal(orphans, "");
    assert_false(unsubscribe(3, "c"));
    refuse(13);
    assert_string_equal(orphans, "");
    assert_true(ask_to_subscribe(2, 14, "d"));
    refuse(14); // nobody ever was
    assert_string_equal(orphans, "");
    leave(1);
    leave(2);
    leave(3);
}

static void the_last_level_of_those_who_are_here_counts(void **state) {
    (void)state;
    assert_string_equal(mcp_level(&users), "");
    mcp_level_set(&users, mcp_user_take(&users, 1), "info");
    mcp_level_set(&users, mcp_user_take(&users, 2), "debug");
    assert_string_equal(mcp_level(&users), "debug");
    leave(2);
    assert_string_equal(mcp_level(&users), "info");
    leave(1);
    assert_string_equal(mcp_level(&users), "");
}

static void a_uri_has_a_bound(void **state) {
    (void)state;
    static char uri[MCP_URI_BYTES_MAX + 1];
    memset(uri, 'u', sizeof uri);
    struct mcp_user *user = mcp_user_take(&users, 1);
    assert_false(mcp_subscribe(&users, user, uri, sizeof uri));
    assert_true(mcp_subscribe(&users, user, uri, sizeof uri - 1));
}

// A user that has its fill takes nothing from others, and may have another resource for one that it gives
// back.
static void a_user_has_so_many_resources(void **state) {
    (void)state;
    char uri[16];
    for (unsigned count = 0; count < SUBSCRIPTIONS_PER_CONNECTION_MAX; count++) {
        snprintf(uri, sizeof uri, "%u", count);
        assert_true(subscribe(1, uri));
    }
    assert_false(subscribe(1, "more"));
    assert_true(subscribe(1, "7"));
    assert_true(subscribe(2, "more"));
    assert_false(unsubscribe(1, "7"));
    assert_true(subscribe(1, "more"));
    assert_false(subscribe(1, "7"));
    leave(2);
    assert_string_equal(orphans, "");
}

// Where the bound leaves no room nothing has changed.
static void without_room_nothing_changes(void **state) {
    (void)state;
    struct buffer_budget budget = {.bytes_max = 64 << 10};
    struct quota quota;
    struct mcp_users small;
    quota_init(&quota, &budget);
    mcp_users_init(&small, &TABLE_KEY, &quota);
    struct mcp_user *user = mcp_user_take(&small, 1);
    assert_non_null(user);
    unsigned asked = 0, subscribed = 0;
    char uri[16];
    while (mcp_request_begin(&small, user, asked + 1, MCP_REQUEST))
        asked++;
    while (asked > 100)
        assert_true(mcp_request_end(&small, asked--));
    while (snprintf(uri, sizeof uri, "%u", subscribed) && mcp_subscribe(&small, user, uri, strlen(uri)))
        subscribed++;
    assert_true(subscribed > 0);
    assert_false(mcp_unsubscribe(&small, user, uri, strlen(uri)));
    assert_ptr_equal(mcp_only_requester(&small), user);
    mcp_users_deinit(&small);
    assert_int_equal(quota.used, 0);
    quota_deinit(&quota);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(requests_that_begin_meanwhile_are_not_visited),
        CASE(users_are_found_by_their_connections),
        CASE(requests_are_whose_they_are),
        CASE(who_alone_has_something_in_progress),
        CASE(what_was_given_up_is_in_progress_and_nobodys),
        CASE(what_was_given_up_has_a_bound),
        CASE(who_listens_has_nothing_in_progress),
        CASE(who_listens_is_known_by_its_own_id),
        CASE(a_resource_is_the_servers_until_its_last_subscriber_goes),
        CASE(who_was_refused_is_no_subscriber),
        CASE(who_is_refused_last_leaves_an_orphan),
        CASE(the_last_level_of_those_who_are_here_counts),
        CASE(a_uri_has_a_bound),
        CASE(a_user_has_so_many_resources),
        cmocka_unit_test(without_room_nothing_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
