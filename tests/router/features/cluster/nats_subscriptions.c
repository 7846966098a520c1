// What a hub subscribes to as its agents come and go: of each name one queue subscription a member, up to a bound. A
// server as plain as can be keeps it beside, and its own count of members says what is to be there.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "router/features/cluster/nats_subscriptions.h"
#include "router/registry/orders.h"
#include "tests/core/base/account.h"

enum { SIDS_MAX = 4000, SUBSCRIPTION_BYTES = 128, MEMBERS_MAX = 70, ROUNDS = 400 };

static const char hub[] = "0123456789abcdef0123456789abcdef-1";
static const struct realm realm = {.text = {'1'}, .bytes = 1}, other = {.text = {'1', '-', 'a'}, .bytes = 3};
static struct realm former;
static struct hub_name hub_name;
static struct list claims;
static struct buffer_budget budget;
static struct quota quota;
static struct nats_subscriptions presence;
static struct agents agents;

// By sid, "SUBJECT QUEUE", or nothing; how many have come and gone.
static char server[SIDS_MAX][SUBSCRIPTION_BYTES];
static char had[SIDS_MAX][SUBSCRIPTION_BYTES]; // the same, also of those that have gone
static unsigned came, went;

static int open_all(void **state) {
    (void)state;
    memset(server, 0, sizeof server);
    memset(had, 0, sizeof had);
    came = went = 0;
    former.bytes = 0;
    assert_true(hub_name_read(&hub_name, hub, sizeof hub - 1));
    list_init(&claims);
    budget = (struct buffer_budget){.bytes_max = 16 << 20};
    quota_init(&quota, &budget);
    nats_subscriptions_init(&presence, &TABLE_KEY, &quota);
    agents_init(&agents, &TABLE_KEY, account());
    return 0;
}

static int close_all(void **state) {
    (void)state;
    nats_subscriptions_deinit(&presence);
    assert_int_equal(quota.used, 0);
    quota_deinit(&quota);
    agents_deinit(&agents);
    return 0;
}

// --- The server

static void subscribe(const char *line) {
    char subject[SUBSCRIPTION_BYTES], queue[SUBSCRIPTION_BYTES] = "";
    unsigned sid;
    if (sscanf(line, "SUB %80s %40s %u", subject, queue, &sid) != 3) {
        *queue = '\0';
        assert_int_equal(sscanf(line, "SUB %80s %u", subject, &sid), 2);
    }
    assert_true(sid < SIDS_MAX && !*server[sid]); // none is used twice
    snprintf(server[sid], sizeof server[sid], "%.80s %.40s", subject, queue);
    memcpy(had[sid], server[sid], sizeof had[sid]);
    came++;
}

static void unsubscribe(const char *line) {
    unsigned sid;
    assert_int_equal(sscanf(line, "UNSUB %u", &sid), 1);
    assert_true(sid < SIDS_MAX && *server[sid]); // it is there
    *server[sid] = '\0';
    went++;
}

static void hear(struct text *lines) {
    text_add(lines, "", 1);
    assert_false(lines->failed);
    for (char *line = lines->bytes, *end; (end = strstr(line, "\r\n")); line = end + 2) {
        *end = '\0';
        if (*line == 'S')
            subscribe(line);
        else
            unsubscribe(line);
    }
    text_deinit(lines);
}

static void follow(void) {
    struct text lines;
    text_init(&lines);
    nats_subscriptions_follow(&presence, &agents, &claims,
                              &(struct nats_scope){"c", &realm, &former, &hub_name}, &lines);
    hear(&lines);
    assert_false(nats_subscriptions_is_behind(&presence, &agents));
}

static unsigned subscribed(const char *subject, const char *queue) {
    char wanted[SUBSCRIPTION_BYTES];
    unsigned count = 0;
    snprintf(wanted, sizeof wanted, "%s %s", subject, queue);
    for (unsigned sid = 0; sid < SIDS_MAX; sid++)
        count += strcmp(server[sid], wanted) == 0;
    return count;
}

static unsigned subscribed_at_all(void) {
    unsigned count = 0;
    for (unsigned sid = 0; sid < SIDS_MAX; sid++)
        count += *server[sid] != '\0';
    return count;
}

// Without that of all events, which is always there.
static unsigned subscribed_names(void) {
    assert_int_equal(subscribed("patchbay.c.1.event.*", hub), 1);
    return subscribed_at_all() - 1;
}

// --- Members

static void join(unsigned number, const char *capabilities) {
    char id[16];
    snprintf(id, sizeof id, "a%u", number);
    struct agent_profile profile = {.connection = number + 1, .id = id, .id_bytes = strlen(id)};
    assert_non_null(put_offer(&agents, &profile, capabilities, strlen(capabilities)));
}

static void leave(unsigned number) {
    char id[16];
    snprintf(id, sizeof id, "a%u", number);
    agents_remove_registrant(&agents, agents_find(&agents, id, strlen(id))->registrant);
}

static unsigned at_most(unsigned count) {
    return count < NATS_SUBSCRIPTIONS_PER_NAME_MAX ? count : NATS_SUBSCRIPTIONS_PER_NAME_MAX;
}

static void each_member_is_a_subscription(void **state) {
    (void)state;
    join(1, "{\"methods\":[\"w\"],\"tools\":[\"t\"],\"commands\":[\"do\"],\"review\":true}");
    join(2, "{\"methods\":[\"w\"],\"review\":true,\"off\":false}");
    follow();
    assert_int_equal(subscribed("patchbay.c.1.method.w", "g"), 2);
    assert_int_equal(subscribed("patchbay.c.1.can.review", "g"), 2);
    assert_int_equal(subscribed("patchbay.c.1.tool.t", "g"), 1);
    assert_int_equal(subscribed("patchbay.c.1.command.do", "g"), 1);
    assert_int_equal(subscribed("patchbay.c.1.agent.a1", "g"), 1);
    assert_int_equal(subscribed("patchbay.c.1.agent.a2", "g"), 1);
    assert_int_equal(subscribed("patchbay.c.1.can.off", "g"), 0);
    leave(1);
    follow();
    assert_int_equal(subscribed("patchbay.c.1.method.w", "g"), 1);
    assert_int_equal(subscribed("patchbay.c.1.tool.t", "g"), 0);
    assert_int_equal(subscribed("patchbay.c.1.agent.a1", "g"), 0);
    join(2, "{\"methods\":[\"v\"]}"); // it says anew what it offers
    follow();
    assert_int_equal(subscribed("patchbay.c.1.method.w", "g"), 0);
    assert_int_equal(subscribed("patchbay.c.1.method.v", "g"), 1);
    assert_int_equal(subscribed("patchbay.c.1.agent.a2", "g"), 1);
    leave(2);
    follow();
    assert_int_equal(subscribed_names(), 0);
}

// Past the bound members come and go unsaid.
static void there_are_64_at_most(void **state) {
    (void)state;
    for (unsigned number = 0; number < MEMBERS_MAX; number++) {
        join(number, "{\"methods\":[\"w\"]}");
        follow();
        assert_int_equal(subscribed("patchbay.c.1.method.w", "g"), at_most(number + 1));
    }
    unsigned told = came + went;
    for (unsigned number = MEMBERS_MAX; number > NATS_SUBSCRIPTIONS_PER_NAME_MAX; number--)
        leave(number - 1);
    follow();
    assert_int_equal(subscribed("patchbay.c.1.method.w", "g"), 64);
    assert_int_equal(came + went - told,
                     2 * (MEMBERS_MAX - NATS_SUBSCRIPTIONS_PER_NAME_MAX)); // their ids and names
    for (unsigned number = 0; number < NATS_SUBSCRIPTIONS_PER_NAME_MAX; number++) {
        leave(number);
        follow();
        assert_int_equal(subscribed("patchbay.c.1.method.w", "g"),
                         NATS_SUBSCRIPTIONS_PER_NAME_MAX - number - 1);
    }
    assert_int_equal(subscribed_names(), 0);
}

// The table's answer to a message that came under an id.
static struct nats_subscription *found_by(const char *subject, const char *sid) {
    char line[2 * SUBSCRIPTION_BYTES];
    struct span of_subject = {0, (uint32_t)strlen(subject)};
    struct span of_sid = {of_subject.bytes + 1, (uint32_t)strlen(sid)};
    snprintf(line, sizeof line, "%s %s", subject, sid);
    return nats_subscriptions_find(&presence, (const uint8_t *)line, of_subject, of_sid);
}

// By the subject, and under each id that the server has ever had for the subject.
static struct nats_subscription *found(const char *subject) {
    struct nats_subscription *present = name_map_get(&presence.by_subject, subject, strlen(subject));
    char text[16];
    for (unsigned sid = 0; sid < SIDS_MAX; sid++)
        if (strncmp(had[sid], subject, strlen(subject)) == 0 && had[sid][strlen(subject)] == ' ') {
            snprintf(text, sizeof text, "%u", sid);
            assert_ptr_equal(found_by(subject, text), present);
            assert_ptr_equal(found_by(subject, text), present);
        }
    assert_ptr_equal(found_by(subject, "0"), present);
    assert_ptr_equal(found_by(subject, ""), present);
    assert_ptr_equal(found_by(subject, "x"), present);
    return present;
}

// A name that was asked for is found as long as its agent is there. The knowledge of a name stays as long as somebody
// waits.
static void names_are_found_while_they_are_there(void **state) {
    char subject[64];
    (void)state;
    for (unsigned number = 0; number < 256; number++)
        join(number, "{}");
    follow();
    for (unsigned round = 0; round < 2; round++)
        for (unsigned number = 0; number < 256; number++) {
            snprintf(subject, sizeof subject, "patchbay.c.1.agent.a%u", number);
            assert_non_null(found(subject));
            assert_memory_equal(found(subject)->subject, subject, strlen(subject));
        }
    assert_null(found("patchbay.c.1.agent.b"));
    assert_null(found("a"));
    struct nats_subscription *present = found("patchbay.c.1.agent.a7");
    present->unanswered = 2;
    leave(7);
    follow();
    assert_null(found("patchbay.c.1.agent.a7"));
    nats_subscriptions_left(present, &quota);
    join(7, "{}");
    follow();
    assert_non_null(found("patchbay.c.1.agent.a7"));
    assert_ptr_not_equal(found("patchbay.c.1.agent.a7"), present);
    nats_subscriptions_left(present, &quota);
    found("patchbay.c.1.agent.a7")->unanswered = 1;
    present = found("patchbay.c.1.agent.a7");
    nats_subscriptions_forget(&presence);
    assert_null(found("patchbay.c.1.agent.a7"));
    nats_subscriptions_left(present, &quota);
}

// Any number of them come, go, and say anew what they offer between two looks.
static void members_come_and_go(void **state) {
    static const char *const offers[] = {"{}", "{\"methods\":[\"w\"]}",
                                         "{\"tools\":[\"w\"],\"methods\":[\"w\",\"v\"]}"};
    unsigned offered[MEMBERS_MAX + 20] = {0}, count[4]; // 0: it isn't there
    uint32_t random = 7;
    (void)state;
    for (unsigned round = 0; round < ROUNDS && presence.sids < SIDS_MAX - 300; round++) {
        // In some rounds more come than go, in others the other way.
        for (unsigned step = 0; step < 12; step++) {
            random = random * 1664525 + 1013904223;
            unsigned number = (random >> 8) % (MEMBERS_MAX + 20), which = (random >> 20) % 4;
            unsigned wanted = round / 40 % 2 && (random >> 28) < 8 ? 0 : which;
            if (wanted)
                join(number, offers[wanted - 1]);
            else if (offered[number])
                leave(number);
            offered[number] = wanted;
        }
        follow();
        memset(count, 0, sizeof count);
        for (unsigned number = 0; number < MEMBERS_MAX + 20; number++)
            count[offered[number]]++;
        assert_int_equal(subscribed("patchbay.c.1.method.w", "g"), at_most(count[2] + count[3]));
        assert_int_equal(subscribed("patchbay.c.1.method.v", "g"), at_most(count[3]));
        assert_int_equal(subscribed("patchbay.c.1.tool.w", "g"), at_most(count[3]));
        // The name of a capability's list is a subject, too.
        assert_int_equal(subscribed("patchbay.c.1.can.tools", "g"), at_most(count[3]));
        assert_int_equal(subscribed_names(), 2 * at_most(count[2] + count[3]) + 3 * at_most(count[3]) +
                                                 2 * (count[1] + count[2] + count[3]));
    }
    assert_true(came > 1000 && went > 1000);
}

// Of what goes to all who name it a hub gets one copy, however many are here.
static void a_notice_is_one_of_the_hubs(void **state) {
    (void)state;
    join(1, "{\"events\":[{\"name\":\"n\"}]}");
    join(2, "{\"events\":[{\"name\":\"n\"}]}");
    follow();
    assert_int_equal(subscribed("patchbay.c.1.notice.n", hub), 1);
    assert_int_equal(subscribed("patchbay.c.1.notice.n", "g"), 0);
    leave(1);
    follow();
    assert_int_equal(subscribed("patchbay.c.1.notice.n", hub), 1);
    leave(2);
    follow();
    assert_int_equal(subscribed_names(), 0);
}

// Under its name a hub is asked whether it has the agent: by all, once a hub.
static void names_and_claims_are_subscribed_once(void **state) {
    struct order order = {.agent_id = "b1", .agent_id_bytes = 2};
    (void)state;
    join(1, "{}");
    follow();
    assert_int_equal(subscribed("patchbay.c.1.name.a1", ""), 1);
    assert_int_equal(subscribed("patchbay.c.1.name.b1", ""), 0);
    list_append(&claims, &order.by_table);
    presence.is_behind = true;
    follow();
    assert_int_equal(subscribed("patchbay.c.1.name.b1", ""), 1);
    assert_int_equal(subscribed("patchbay.c.1.agent.b1", "g"), 0);
    list_remove(&order.by_table);
    presence.is_behind = true;
    follow();
    assert_int_equal(subscribed("patchbay.c.1.name.b1", ""), 0);
}

// A hub whose users file is another one can be asked under the REALM before, for a while; what goes to all isn't heard
// so.
static void the_former_realm_is_served_for_a_while(void **state) {
    (void)state;
    join(1, "{\"methods\":[\"w\"],\"events\":[{\"name\":\"n\"}]}");
    former = other;
    follow();
    assert_int_equal(subscribed("patchbay.c.1-a.method.w", "g"), 1);
    assert_int_equal(subscribed("patchbay.c.1.method.w", "g"), 1);
    assert_int_equal(subscribed("patchbay.c.1-a.agent.a1", "g"), 1);
    assert_int_equal(subscribed("patchbay.c.1-a.notice.n", hub), 0);
    assert_int_equal(subscribed("patchbay.c.1-a.event.*", hub), 0);
    former.bytes = 0;
    presence.is_behind = true;
    follow();
    assert_int_equal(subscribed("patchbay.c.1-a.method.w", "g"), 0);
}

// With the link all subscriptions go, and the next one has them all.
static void another_link_has_them_all(void **state) {
    (void)state;
    for (unsigned number = 0; number < 3; number++)
        join(number, "{\"methods\":[\"w\"]}");
    follow();
    nats_subscriptions_forget(&presence);
    memset(server, 0, sizeof server);
    memset(had, 0, sizeof had);
    assert_true(nats_subscriptions_is_behind(&presence, &agents));
    follow();
    assert_int_equal(subscribed("patchbay.c.1.method.w", "g"), 3);
}

// Without memory for a name it is behind, and tries again.
static void what_found_no_room_comes_later(void **state) {
    (void)state;
    struct text lines;
    join(1, "{\"methods\":[\"w\"]}");
    budget.bytes_max = 0;
    text_init(&lines);
    nats_subscriptions_follow(&presence, &agents, &claims,
                              &(struct nats_scope){"c", &realm, &former, &hub_name}, &lines);
    hear(&lines);
    assert_true(nats_subscriptions_is_behind(&presence, &agents));
    assert_int_equal(subscribed_at_all(), 0);
    budget.bytes_max = 16 << 20;
    follow();
    assert_int_equal(subscribed("patchbay.c.1.method.w", "g"), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_member_is_a_subscription, open_all, close_all),
        cmocka_unit_test_setup_teardown(there_are_64_at_most, open_all, close_all),
        cmocka_unit_test_setup_teardown(members_come_and_go, open_all, close_all),
        cmocka_unit_test_setup_teardown(names_are_found_while_they_are_there, open_all, close_all),
        cmocka_unit_test_setup_teardown(a_notice_is_one_of_the_hubs, open_all, close_all),
        cmocka_unit_test_setup_teardown(names_and_claims_are_subscribed_once, open_all, close_all),
        cmocka_unit_test_setup_teardown(the_former_realm_is_served_for_a_while, open_all, close_all),
        cmocka_unit_test_setup_teardown(another_link_has_them_all, open_all, close_all),
        cmocka_unit_test_setup_teardown(what_found_no_room_comes_later, open_all, close_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
