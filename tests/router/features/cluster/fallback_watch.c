// What is remembered of a notification until the server of NATS has said whether anybody has heard it: that each goes home once, with
// what has become of it, and that nothing is remembered behind that.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/base/text.h"
#include "core/cluster/hub_header.h"
#include "router/engine/message/fallback.h"
#include "router/engine/shard/post.h"
#include "router/features/cluster/fallback_watch.h"

static struct shard shard;
static struct hub hub;
static struct buffer_budget budget;
static struct fallback_watch fallback_watch;

static int set_up(void **state) {
    (void)state;
    memset(&shard, 0, sizeof shard);
    atomic_store(&budget.bytes_max, 64 << 20);
    hub.settings.shard_count = 1;
    shard.magic = SHARD_MAGIC;
    shard.hub = &hub;
    shard.phase = HUB_SERVING;
    quota_init(&shard.quota, &budget);
    parcel_pool_init(&shard.parcels, &budget, 0);
    fallback_watch_init(&fallback_watch, &shard);
    return 0;
}

// The oldest that has gone home.
static void assert_home(uint64_t sought, enum fallback_end end) {
    struct mail *mail = shard.sought.settled;
    assert_non_null(mail);
    assert_int_equal(mail->connection, sought);
    assert_int_equal(mail->detail, end);
    shard.sought.settled = mail->next;
    quota_give(&shard.quota, mail);
}

static int tear_down(void **state) {
    (void)state;
    fallback_watch_forget(&fallback_watch);
    while (shard.sought.settled)
        assert_home(shard.sought.settled->connection, FALLBACK_UNKNOWN);
    assert_int_equal(shard.quota.used, 0);
    assert_true(parcel_pool_full(&shard.parcels));
    parcel_pool_deinit(&shard.parcels);
    quota_deinit(&shard.quota);
    return 0;
}

// Has one go; the number that its head says.
static uint64_t begin(uint64_t sought) {
    static const char head[] = "PUB agent.b in.m.0000000000000000.n 2\r\n";
    struct text body;
    uint64_t number = 0;
    text_init(&body);
    text_put(&body, "{}");
    struct parcel *parcel = parcel_own(&shard.parcels, body.bytes, body.length);
    assert_non_null(parcel);
    assert_true(parcel_set_head(parcel, head, sizeof head - 1));
    parcel->bearing = (struct bearing){.token_at = 10, .token_bytes = 1};
    parcel->is_sought = true;
    parcel->sought = sought;
    fallback_watch_begin(&fallback_watch, parcel, 3);
    assert_false(parcel->is_sought);
    const char *written = parcel->long_head ? parcel->head : parcel->inline_text;
    struct span digits = {(uint32_t)(strstr(written, ".m.") + 3 - written), 16};
    assert_true(hub_header_read_digits((const uint8_t *)written, digits, &number));
    parcel_drop(parcel);
    return number;
}

static void each_goes_home_once_by_the_number_in_its_head(void **state) {
    uint64_t one = begin(11), other = begin(12), last = begin(13);
    (void)state;
    assert_true(fallback_watch_nobody(&fallback_watch, other));
    assert_home(12, FALLBACK_NOBODY);
    assert_false(fallback_watch_nobody(&fallback_watch, other));
    assert_false(fallback_watch_nobody(&fallback_watch, last + 1));
    assert_false(fallback_watch_nobody(&fallback_watch, 0));
    assert_true(fallback_watch_nobody(&fallback_watch, one));
    assert_true(fallback_watch_waits(&fallback_watch));
    assert_true(fallback_watch_nobody(&fallback_watch, last));
    assert_false(fallback_watch_waits(&fallback_watch));
    assert_home(11, FALLBACK_NOBODY);
    assert_home(13, FALLBACK_NOBODY);
}

static void who_said_nothing_before_its_ping_is_answered_has_it(void **state) {
    (void)state;
    begin(11);
    begin(12);
    assert_true(fallback_watch_follow(&fallback_watch, 1));
    assert_false(fallback_watch_follow(&fallback_watch, 2));
    begin(13);
    assert_true(fallback_watch_follow(&fallback_watch, 2));
    fallback_watch_answered(&fallback_watch, 0);
    assert_null(shard.sought.settled);
    fallback_watch_answered(&fallback_watch, 1);
    assert_home(11, FALLBACK_SOMEBODY);
    assert_home(12, FALLBACK_SOMEBODY);
    assert_null(shard.sought.settled);
    fallback_watch_answered(&fallback_watch, 2);
    assert_home(13, FALLBACK_SOMEBODY);
}

static void with_the_link_goes_what_is_known_of_them(void **state) {
    (void)state;
    begin(11);
    fallback_watch_forget(&fallback_watch);
    assert_false(fallback_watch_waits(&fallback_watch));
    assert_home(11, FALLBACK_UNKNOWN);
    assert_true(begin(12) > 0); // of the next link
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_goes_home_once_by_the_number_in_its_head, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_said_nothing_before_its_ping_is_answered_has_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(with_the_link_goes_what_is_known_of_them, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
