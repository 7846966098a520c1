// Messages behind a notification that is a fallback: they cost no more than their own bytes, and nothing
// waits behind a peer that has gone.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "router/engine/message/fallback.h"
#include "router/engine/message/stall_queue.h"
#include "router/engine/shard/annex.h"
#include "router/engine/shard/shard.h"

enum { HEAD_BYTES = 4096, MEMBERS = 1000, BATCH_BYTES = 3 * MEMBERS, BUDGET_BYTES = 1 << 20 };

static struct shard shard;
static struct hub hub;
static struct buffer_budget budget;
static struct peer peer;
static const struct transport transport;

static int set_up(void **state) {
    (void)state;
    memset(&shard, 0, sizeof shard);
    memset(&peer, 0, sizeof peer);
    atomic_store(&budget.bytes_max, BUDGET_BYTES);
    shard.magic = SHARD_MAGIC;
    shard.hub = &hub;
    quota_init(&shard.quota, &budget);
    quota_init_beside(&shard.places, &budget);
    buffer_pool_init(&shard.buffers, &budget);
    peer.transport = &transport;
    peer.state = PEER_OPEN;
    peer.annex = annex_take(&shard.places, &peer, TIMER_ANNEX);
    assert_non_null(peer.annex);
    peer.stalled = true;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    annex_give(&shard.quota, &shard.places, peer.annex);
    assert_int_equal(shard.quota.used, 0);
    buffer_pool_deinit(&shard.buffers);
    quota_deinit(&shard.quota);
    quota_deinit(&shard.places);
    return 0;
}

// A frame behind a head that is long: a batch of [,,,] of so many bytes.
static struct buffer *come(struct unit *unit, struct frame *frame) {
    struct buffer *buffer = buffer_take_sized(&shard.buffers, HEAD_BYTES + BATCH_BYTES);
    assert_non_null(buffer);
    memset(buffer->bytes, ' ', HEAD_BYTES + BATCH_BYTES);
    *unit = (struct unit){
        .sized = true, .body_at = HEAD_BYTES, .body_bytes = BATCH_BYTES, .bytes = HEAD_BYTES + BATCH_BYTES};
    *frame = (struct frame){.buffer = buffer, .unit = unit, .body = {HEAD_BYTES, BATCH_BYTES}};
    return buffer;
}

static void members_of_a_batch_dont_take_its_head_each(void **state) {
    struct unit unit;
    struct frame whole;
    struct buffer *buffer = come(&unit, &whole);
    (void)state;
    for (uint32_t member = 0; member < MEMBERS; member++) {
        struct frame frame = whole;
        frame.body = (struct span){HEAD_BYTES + 3 * member, 2};
        stall_queue_keep(&shard, &peer, &frame, NULL, true);
        assert_int_equal(peer.state, PEER_OPEN);
    }
    buffer_drop(buffer);
    for (uint32_t member = 0; member < MEMBERS; member++) {
        struct stalled_unit *stalled = stall_queue_take(&peer);
        assert_non_null(stalled);
        assert_int_equal(stalled->frame.body.bytes, 2);
        assert_ptr_equal(stalled->frame.unit, &stalled->unit);
        assert_int_equal(stalled->unit.body_at, HEAD_BYTES);
        assert_true(stalled->is_member);
        stall_queue_end(&shard, stalled);
    }
    assert_null(stall_queue_take(&peer));
}

// The seat of a child's next instance is the same peer.
static void who_goes_leaves_nothing_to_wait_for(void **state) {
    struct unit unit;
    struct frame frame;
    struct buffer *buffer = come(&unit, &frame);
    (void)state;
    stall_queue_keep(&shard, &peer, &frame, NULL, false);
    buffer_drop(buffer);
    peer.state = PEER_CLOSING;
    fallback_leave(&shard, &peer);
    assert_false(peer.stalled);
    assert_null(stall_queue_take(&peer));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(members_of_a_batch_dont_take_its_head_each, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_goes_leaves_nothing_to_wait_for, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
