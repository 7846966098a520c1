// What is kept of a notification until the server of NATS has said whether anybody has heard it: how much that may be, what it takes
// besides, and what goes of it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "router/send/send.h"
#include "router/transport/fallbacks.h"

enum { QUEUE_BYTES_MAX = 64 * 1024, LARGE_BYTES = COPY_BYTES_MAX + 1 };

static struct shard shard;
static struct hub_settings settings;
static struct buffer_budget budget;
static struct buffer_pool buffers;
static struct buffer *buffer;
static struct fallbacks fallbacks;

static int set_up(void **state) {
    (void)state;
    memset(&shard, 0, sizeof shard);
    atomic_store(&budget.bytes_max, 64 << 20);
    settings.limits.queue_bytes_max = QUEUE_BYTES_MAX;
    shard.magic = SHARD_MAGIC;
    shard.settings = &settings;
    kept_init(&shard.kept, &budget);
    parcel_pool_init(&shard.parcels, &budget, 0);
    buffer_pool_init(&buffers, &budget);
    buffer = buffer_take(&buffers);
    assert_non_null(buffer);
    memset(buffer->bytes, 'x', LARGE_BYTES);
    fallbacks_init(&fallbacks, &shard);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    fallbacks_forget(&fallbacks);
    assert_int_equal(shard.kept.used, 0);
    assert_int_equal(buffer->references, 1);
    buffer_drop(buffer);
    assert_true(parcel_pool_full(&shard.parcels));
    buffer_pool_deinit(&buffers);
    parcel_pool_deinit(&shard.parcels);
    kept_deinit(&shard.kept);
    return 0;
}

static struct parcel *lying(size_t bytes, const char *head) {
    struct unit unit = {.bytes = (uint32_t)bytes, .body_bytes = (uint32_t)bytes};
    struct frame frame = frame_at(buffer, 0, &unit);
    struct parcel *parcel = parcel_forward(&shard.parcels, &frame);
    assert_non_null(parcel);
    assert_true(parcel_set_head(parcel, head, strlen(head)));
    return parcel;
}

// Has one go whose fallback is so long, and is of this head; it says which number the first one bears, or 0.
static uint64_t keep(size_t bytes, const char *head) {
    static const char first[] = "PUB agent.b in.m.0000000000000000.n 2\r\n";
    struct parcel *parcel = lying(2, first);
    uint64_t before = fallbacks.last;
    parcel->bearing.token_at = 10;
    parcel->bearing.token_bytes = 1;
    parcel->fallback = lying(bytes, head);
    parcel->has_fallback = true;
    fallbacks_keep(&fallbacks, parcel, 3);
    assert_false(parcel->has_fallback);
    parcel_drop(parcel);
    return fallbacks.last > before ? fallbacks.last : 0;
}

static void what_each_takes_besides_its_bytes_counts(void **state) {
    size_t count = 0;
    (void)state;
    while (keep(2, "PUB method.m 2\r\n"))
        assert_true(++count <= QUEUE_BYTES_MAX / sizeof(struct parcel) + 1);
    assert_true(count > QUEUE_BYTES_MAX / sizeof(struct parcel) / 2);
    assert_true(fallbacks_follow(&fallbacks, 1));
    fallbacks_answered(&fallbacks, 1);
    assert_int_equal(fallbacks.bytes, 0);
    assert_true(keep(2, "PUB method.m 2\r\n")); // there is room again
}

// A large one's bytes are most of what it keeps.
static void a_small_one_keeps_no_receive_buffer(void **state) {
    (void)state;
    assert_true(keep(2, "PUB method.m 2\r\n"));
    assert_int_equal(buffer->references, 1);
    assert_true(keep(LARGE_BYTES, "PUB method.m 2049\r\n"));
    assert_int_equal(buffer->references, 2);
}

static void assert_takes(uint64_t number, const char *text) {
    char bytes[64];
    struct parcel *parcel = fallbacks_take(&fallbacks, number);
    assert_non_null(parcel);
    assert_true(parcel->dressed);
    assert_int_equal(parcel->bytes, strlen(text));
    parcel_copy(parcel, (uint8_t *)bytes);
    assert_memory_equal(bytes, text, strlen(text));
    send_release(&shard, parcel);
}

// One that goes ahead of others is settled before them.
static void each_is_taken_once_in_any_order_with_its_head(void **state) {
    uint64_t one = keep(2, "PUB method.m 2\r\n"), other = keep(3, "PUB method.n 3\r\n"),
             last = keep(2, "PUB method.o 2\r\n");
    (void)state;
    assert_takes(other, "PUB method.n 3\r\nxxx\r\n");
    assert_null(fallbacks_take(&fallbacks, other));
    assert_null(fallbacks_take(&fallbacks, last + 1));
    assert_null(fallbacks_take(&fallbacks, 0));
    assert_takes(one, "PUB method.m 2\r\nxx\r\n");
    assert_true(fallbacks_wait(&fallbacks));
    assert_takes(last, "PUB method.o 2\r\nxx\r\n");
    assert_false(fallbacks_wait(&fallbacks));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_each_takes_besides_its_bytes_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_small_one_keeps_no_receive_buffer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_is_taken_once_in_any_order_with_its_head, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
