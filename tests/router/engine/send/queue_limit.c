// The bound of an outbox's count, where --max-queue leaves room for more bytes. So many parcels would take 24 GiB: the
// test sets the count. peer_close is the test's own (the linker puts it in the place of router/engine/shard/peer.h's).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "router/engine/send/queue_limit.h"
#include "router/engine/shard/hub.h"
#include "router/engine/shard/shard.h"

static struct hub_settings settings = {.limits.queue_bytes_max = UINT64_C(1) << 40};
static struct shard shard;
static struct peer peer;
static unsigned closed;

void __wrap_peer_close(struct shard *of, struct peer *whom, int counter);
void __wrap_peer_close(struct shard *of, struct peer *whom, int counter) {
    assert_true(of == &shard && whom == &peer && counter == COUNT_CLOSED_SLOW_READER);
    closed++;
}

static int set_up(void **state) {
    (void)state;
    shard.magic = SHARD_MAGIC;
    shard.settings = &settings;
    outbox_init(&peer.connection.outbox);
    closed = 0;
    return 0;
}

static void waits(uint32_t count) {
    peer.connection.outbox.count = count & OUTBOX_COUNT_MAX;
}

static void a_request_finds_no_room_from_half_of_the_count_on(void **state) {
    (void)state;
    waits(OUTBOX_FULL_FROM - 1);
    assert_true(queue_limit_has_room(&shard, &peer));
    for (uint32_t count = OUTBOX_FULL_FROM; count < OUTBOX_FULL_FROM + 3; count++) {
        waits(count);
        assert_false(queue_limit_has_room(&shard, &peer));
        assert_false(queue_limit_close(&shard, &peer, 0));
    }
    waits(OUTBOX_COUNT_MAX);
    assert_false(queue_limit_has_room(&shard, &peer));
    assert_int_equal(closed, 0);
}

static void an_answer_closes_a_reader_from_three_quarters_of_the_count_on(void **state) {
    (void)state;
    waits(OUTBOX_OVER_FROM - 1);
    assert_false(queue_limit_close(&shard, &peer, 0));
    assert_int_equal(closed, 0);
    waits(OUTBOX_OVER_FROM);
    assert_true(queue_limit_close(&shard, &peer, 0));
    waits(OUTBOX_COUNT_MAX);
    assert_true(queue_limit_close(&shard, &peer, 0));
    assert_int_equal(closed, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_request_finds_no_room_from_half_of_the_count_on, set_up),
        cmocka_unit_test_setup(an_answer_closes_a_reader_from_three_quarters_of_the_count_on, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
