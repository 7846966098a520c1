// TLS 1.3's records: the peer is played with its own two directions, which seal whatever a test wants.
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/memory.h"
#include "io/tls.h"
#include "io/tls_gcm.h"
#include "io/tls_records.h"

enum { SUITES = 3, WIRE_BYTES = 1 << 20 };
enum { ALERT = 21, HANDSHAKE = 22, DATA = TLS_TYPE_DATA };
enum { ROOM = ARRIVAL_BYTES_MAX };

static SSL_CTX *context;
static SSL *ssl;

static const SSL_CIPHER *suite_of(unsigned number) {
    return SSL_CIPHER_find(ssl, (uint8_t[]){0x13, (uint8_t)(1 + number)});
}

struct bytes {
    size_t count;
    uint8_t bytes[WIRE_BYTES];
};

struct world {
    struct buffer_budget budget;
    struct buffer_pool pool;
    struct stage stage;
    struct send_op sealed;
    struct secure secure; // the hub's side
    struct tls_records *records;
    struct tls_keys in, out; // the peer's
    struct bytes wire, opened, said;
};

static struct tls_secret secret(uint8_t seed, unsigned suite) {
    struct tls_secret made = {.count = suite == 1 ? 48 : 32};
    for (unsigned at = 0; at < made.count; at++)
        made.bytes[at] = (uint8_t)(seed + 7 * at);
    return made;
}

static struct world *world_open(unsigned suite) {
    struct world *world = test_calloc(1, sizeof *world);
    struct tls_secret client = secret(1, suite), server = secret(101, suite);
    world->budget.bytes_max = 1 << 28;
    buffer_pool_init(&world->pool, &world->budget);
    stage_init(&world->stage, &world->pool);
    world->secure.pool = &world->pool;
    world->secure.record_bytes_max = SECURE_RECORD_BYTES_MAX;
    world->records = tls_records_create(&client, &server, suite_of(suite), 0);
    assert_non_null(world->records);
    assert_true(tls_keys_open(&world->in, &server, suite_of(suite), false));
    assert_true(tls_keys_open(&world->out, &client, suite_of(suite), true));
    return world;
}

static void world_close(struct world *world) {
    tls_records_destroy(world->records);
    tls_keys_close(&world->in);
    tls_keys_close(&world->out);
    memory_give(world->secure.output);
    stage_deinit(&world->stage);
    buffer_pool_deinit(&world->pool);
    test_free(world);
}

// Sends a record of the peer.
static void send_record(struct world *world, uint8_t type, const void *bytes, size_t count) {
    struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = count};
    assert_true(tls_keys_seal(&world->out, type, &part, 1, count, world->wire.bytes + world->wire.count));
    world->wire.count += tls_sealed_bytes(count);
}

// The hub opens all of it, `piece` bytes at a time, with so much room; how it ends.
static enum secure_result arrive(struct world *world, size_t piece, size_t room) {
    enum secure_result result = SECURE_MORE;
    for (size_t at = 0; at < world->wire.count;) {
        size_t left = world->wire.count - at, count;
        struct secure_input input = {.bytes = world->wire.bytes + at, .count = left < piece ? left : piece};
        at += input.count;
        while ((result = tls_records_open(world->records, &world->secure, &input,
                                          world->opened.bytes + world->opened.count, room, &count)) ==
               SECURE_BYTES) {
            assert_in_range(count, 1, room);
            world->opened.count += count;
        }
        if (result != SECURE_MORE)
            break;
        assert_int_equal(input.count, 0);
    }
    world->wire.count = 0;
    return result;
}

// The next record of what the hub said by itself, or sealed; its type.
static uint8_t hear(struct world *world, const uint8_t **at, uint8_t *to, size_t *count) {
    uint8_t type;
    *count = ((size_t)(*at)[3] << 8 | (*at)[4]) - TLS_TYPE_BYTES - TLS_TAG_BYTES;
    assert_memory_equal(*at, ((uint8_t[]){DATA, 3, 3}), 3);
    assert_true(tls_keys_open_record(&world->in, *at, *count, to, &type));
    *at += tls_sealed_bytes(*count);
    return type;
}

static void expect_said(struct world *world, uint8_t type, const void *bytes, size_t count) {
    uint8_t text[100];
    size_t heard;
    const uint8_t *at = world->secure.output;
    assert_int_equal(world->secure.output_bytes, tls_sealed_bytes(count));
    assert_int_equal(hear(world, &at, text, &heard), type);
    assert_int_equal(heard, count);
    assert_memory_equal(text, bytes, count);
    memory_give(world->secure.output);
    world->secure.output = NULL;
    world->secure.output_bytes = 0;
}

static void expect_alert(struct world *world, uint8_t alert) {
    expect_said(world, ALERT, (uint8_t[]){2, alert}, 2);
}

// The hub seals parts; the records are appended to the wire.
static void seal(struct world *world, const struct iovec *parts, unsigned count) {
    struct parcel_list none;
    parcel_list_init(&none);
    send_op_begin(&world->sealed);
    world->secure.sealing = &world->sealed;
    world->secure.stage = &world->stage;
    assert_true(tls_records_seal(world->records, &world->secure, parts, count));
    world->secure.sealing = NULL;
    for (unsigned index = 0; index < world->sealed.count; index++) {
        const struct iovec *vector = &world->sealed.vectors[index];
        memcpy(world->wire.bytes + world->wire.count, vector->iov_base, vector->iov_len);
        world->wire.count += vector->iov_len;
    }
    send_op_clear(&world->sealed, &none);
}

static void pattern(uint8_t *bytes, size_t count, size_t from) {
    for (size_t at = 0; at < count; at++)
        bytes[at] = (uint8_t)((from + at) * 31 + (from + at) / 251);
}

// --- The tests

// RFC 8448, section 3: the secrets of the handshake and the client's first record behind it.
static void as_the_rfc_has_it(void **state) {
    (void)state;
    static const struct tls_secret client = {
        .count = 32, .bytes = {0x9e, 0x40, 0x64, 0x6c, 0xe7, 0x9a, 0x7f, 0x9d, 0xc0, 0x5a, 0xf8,
                               0x88, 0x9b, 0xce, 0x65, 0x52, 0x87, 0x5a, 0xfa, 0x0b, 0x06, 0xdf,
                               0x00, 0x87, 0xf7, 0x92, 0xeb, 0xb7, 0xc1, 0x75, 0x04, 0xa5}};
    static const uint8_t expected[] = {
        0x17, 0x03, 0x03, 0x00, 0x43, 0xa2, 0x3f, 0x70, 0x54, 0xb6, 0x2c, 0x94, 0xd0, 0xaf, 0xfa,
        0xfe, 0x82, 0x28, 0xba, 0x55, 0xcb, 0xef, 0xac, 0xea, 0x42, 0xf9, 0x14, 0xaa, 0x66, 0xbc,
        0xab, 0x3f, 0x2b, 0x98, 0x19, 0xa8, 0xa5, 0xb4, 0x6b, 0x39, 0x5b, 0xd5, 0x4a, 0x9a, 0x20,
        0x44, 0x1e, 0x2b, 0x62, 0x97, 0x4e, 0x1f, 0x5a, 0x62, 0x92, 0xa2, 0x97, 0x70, 0x14, 0xbd,
        0x1e, 0x3d, 0xea, 0xe6, 0x3a, 0xee, 0xbb, 0x21, 0x69, 0x49, 0x15, 0xe4};
    uint8_t text[50], made[sizeof expected];
    struct tls_keys way;
    for (size_t at = 0; at < sizeof text; at++)
        text[at] = (uint8_t)at;
    assert_true(tls_keys_open(&way, &client, suite_of(0), true));
    assert_true(tls_keys_seal(&way, DATA, &(struct iovec){text, sizeof text}, 1, sizeof text, made));
    assert_memory_equal(made, expected, sizeof expected);
    tls_keys_close(&way);
}

static void what_is_sealed_is_opened_however_it_is_cut(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 15, 16, 255, 4096, 16383, 16384, 16384, 100, 16384};
    static const size_t pieces[] = {1, 2, 5, 17, 1000, 16384, 32768, WIRE_BYTES};
    static const size_t rooms[] = {1, 100, 16384, ROOM};
    static uint8_t text[16384], all[200000];
    for (unsigned suite = 0; suite < SUITES; suite++) {
        struct world *world = world_open(suite);
        for (unsigned run = 0; run < sizeof pieces / sizeof *pieces * 4; run++) {
            size_t sum = 0;
            world->opened.count = 0;
            for (unsigned index = 0; index < sizeof sizes / sizeof *sizes; index++) {
                pattern(text, sizes[index], sum);
                send_record(world, DATA, text, sizes[index]);
                sum += sizes[index];
            }
            assert_int_equal(arrive(world, pieces[run / 4], rooms[run % 4]), SECURE_MORE);
            pattern(all, sum, 0);
            assert_int_equal(world->opened.count, sum);
            assert_memory_equal(world->opened.bytes, all, sum);
        }
        assert_null(world->secure.output);
        world_close(world);
    }
}

static void parts_become_one_record(void **state) {
    (void)state;
    static uint8_t text[16384], heard[16384];
    pattern(text, sizeof text, 0);
    for (unsigned suite = 0; suite < SUITES; suite++) {
        struct world *world = world_open(suite);
        const struct iovec parts[] = {
            {text, 3}, {text + 3, 10000}, {text + 10003, 6000}, {text + 16003, 381}};
        size_t count;
        for (unsigned round = 0; round < 3; round++) {
            world->wire.count = 0;
            seal(world, parts, 4);
            assert_int_equal(world->wire.count, tls_sealed_bytes(sizeof text));
            const uint8_t *at = world->wire.bytes;
            assert_int_equal(hear(world, &at, heard, &count), DATA);
            assert_int_equal(count, sizeof text);
            assert_memory_equal(heard, text, sizeof text);
        }
        world_close(world);
    }
}

static void keys_are_updated_as_the_peer_asks(void **state) {
    (void)state;
    struct world *world = world_open(0);
    static const uint8_t update[] = {24, 0, 0, 1, 0}, asking[] = {24, 0, 0, 1, 1};
    send_record(world, DATA, "a", 1);
    send_record(world, HANDSHAKE, update, sizeof update);
    assert_true(tls_keys_update(&world->out));
    send_record(world, DATA, "b", 1);
    assert_int_equal(arrive(world, WIRE_BYTES, ROOM), SECURE_MORE);
    assert_null(world->secure.output);
    send_record(world, HANDSHAKE, asking, 2); // in pieces
    send_record(world, HANDSHAKE, asking + 2, 3);
    assert_true(tls_keys_update(&world->out));
    send_record(world, DATA, "c", 1);
    assert_int_equal(arrive(world, 7, ROOM), SECURE_MORE);
    expect_said(world, HANDSHAKE, update, sizeof update);
    assert_true(tls_keys_update(&world->in));
    seal(world, &(struct iovec){"d", 1}, 1);
    const uint8_t *at = world->wire.bytes;
    uint8_t heard[1];
    size_t count;
    assert_int_equal(hear(world, &at, heard, &count), DATA);
    assert_int_equal(heard[0], 'd');
    assert_int_equal(world->opened.count, 3);
    assert_memory_equal(world->opened.bytes, "abc", 3);
    world_close(world);
}

static void no_key_serves_for_too_much(void **state) {
    (void)state;
    struct world *world = world_open(0);
    uint8_t heard[8];
    size_t count;
    tls_records_bound(world->records, 2);
    for (unsigned round = 0; round < 5; round++)
        seal(world, &(struct iovec){"x", 1}, 1);
    const uint8_t *at = world->wire.bytes;
    for (unsigned round = 0; round < 5; round++) {
        if (round > 0 && round % 2 == 0) {
            assert_int_equal(hear(world, &at, heard, &count), HANDSHAKE);
            assert_memory_equal(heard, ((uint8_t[]){24, 0, 0, 1, 0}), 5);
            assert_true(tls_keys_update(&world->in));
        }
        assert_int_equal(hear(world, &at, heard, &count), DATA);
    }
    assert_ptr_equal(at, world->wire.bytes + world->wire.count);
    world_close(world);
}

static void what_says_nothing(void **state) {
    (void)state;
    struct world *world = world_open(0);
    static const uint8_t padded[] = {'a', DATA, 0, 0, 0}, canceled[] = {1, 90};
    uint8_t heard[1];
    size_t count;
    send_record(world, DATA, "", 0);
    send_record(world, 0, padded, sizeof padded); // its type is the last byte that isn't zero
    send_record(world, ALERT, canceled, sizeof canceled);
    send_record(world, DATA, "b", 1);
    assert_int_equal(arrive(world, WIRE_BYTES, ROOM), SECURE_MORE);
    assert_int_equal(world->opened.count, 2);
    assert_memory_equal(world->opened.bytes, "ab", 2);
    for (unsigned round = 0; round < 32; round++)
        send_record(world, DATA, "", 0);
    assert_int_equal(arrive(world, WIRE_BYTES, ROOM), SECURE_MORE);
    seal(world, &(struct iovec){"c", 1}, 1); // who is spoken to may say nothing for as long again
    const uint8_t *at = world->wire.bytes;
    assert_int_equal(hear(world, &at, heard, &count), DATA);
    world->wire.count = 0;
    for (unsigned round = 0; round < 32; round++)
        send_record(world, DATA, "", 0);
    assert_int_equal(arrive(world, WIRE_BYTES, ROOM), SECURE_MORE);
    send_record(world, DATA, "", 0);
    assert_int_equal(arrive(world, WIRE_BYTES, ROOM), SECURE_BROKEN);
    expect_alert(world, 10);
    world_close(world);
}

static void ends(void **state) {
    (void)state;
    static const struct {
        uint8_t alert;
        enum secure_result result;
    } each[] = {{0, SECURE_END}, {20, SECURE_BROKEN}, {80, SECURE_BROKEN}};
    for (unsigned index = 0; index < sizeof each / sizeof *each; index++) {
        struct world *world = world_open(0);
        send_record(world, ALERT, (uint8_t[]){1, each[index].alert}, 2);
        assert_int_equal(arrive(world, WIRE_BYTES, ROOM), each[index].result);
        assert_null(world->secure.output); // alerts aren't answered
        tls_records_finish(world->records, &world->secure);
        expect_said(world, ALERT, (uint8_t[]){1, 0}, 2);
        world_close(world);
    }
}

// Malformed records, as type and text, and the alert for each.
static void what_is_said_wrongly(void **state) {
    (void)state;
    static const struct {
        uint8_t type;
        const char *text;
        size_t count;
        uint8_t alert;
    } each[] = {
        {0, "\0\0\0", 3, 10},                // padding alone
        {20, "\1", 1, 10},                   // no change_cipher_spec behind the handshake
        {HANDSHAKE, "", 0, 10},              //
        {HANDSHAKE, "\1\0\0\1\0", 5, 10},    // a ClientHello
        {HANDSHAKE, "\30\0\0\1\0x", 6, 10},  // something behind a KeyUpdate
        {HANDSHAKE, "\30\0\0\2\0", 5, 50},   //
        {HANDSHAKE, "\30\0\0\2\0\0", 6, 50}, //
        {HANDSHAKE, "\30\0\0\0", 4, 50},     // nothing more would come
        {HANDSHAKE, "\30\0\0\1\2", 5, 47},   //
        {ALERT, "\2", 1, 50},                //
        {ALERT, "\2\0\2", 3, 50},            //
        {99, "what", 4, 10},                 //
    };
    for (unsigned index = 0; index < sizeof each / sizeof *each; index++) {
        struct world *world = world_open(0);
        send_record(world, each[index].type, each[index].text, each[index].count);
        send_record(world, DATA, "x", 1);
        assert_int_equal(arrive(world, WIRE_BYTES, ROOM), SECURE_BROKEN);
        expect_alert(world, each[index].alert);
        assert_int_equal(world->opened.count, 0);
        world_close(world);
    }
    struct world *world = world_open(0);
    send_record(world, HANDSHAKE, "\30\0", 2);
    send_record(world, DATA, "x", 1); // among the pieces of another
    assert_int_equal(arrive(world, WIRE_BYTES, ROOM), SECURE_BROKEN);
    expect_alert(world, 10);
    world_close(world);
}

static void what_is_no_record(void **state) {
    (void)state;
    static const struct {
        uint8_t head[5];
        uint8_t alert;
    } each[] = {
        {{22, 3, 3, 0, 100}, 10},  {{'G', 'E', 'T', ' ', '/'}, 10}, {{DATA, 3, 3, 0x41, 0x01}, 22},
        {{DATA, 3, 3, 0, 16}, 20}, {{DATA, 3, 3, 0, 0}, 20},
    };
    for (unsigned index = 0; index < sizeof each / sizeof *each * 2; index++) {
        struct world *world = world_open(0);
        memcpy(world->wire.bytes, each[index / 2].head, 5);
        world->wire.count = 5;
        assert_int_equal(arrive(world, index % 2 ? 1 : 5, ROOM), SECURE_BROKEN);
        expect_alert(world, each[index / 2].alert);
        world_close(world);
    }
}

// Each byte of a record counts, but for those of its version.
static void what_was_changed_on_the_way(void **state) {
    (void)state;
    const size_t bytes = tls_sealed_bytes(10);
    for (size_t at = 0; at < bytes; at++) {
        struct world *world = world_open((unsigned)(at % SUITES));
        send_record(world, DATA, "0123456789", 10);
        world->wire.bytes[at] ^= 1;
        enum secure_result result = arrive(world, WIRE_BYTES, ROOM);
        if (at == 3 || at == 4) // it waits for more, or is cut short, or is too long
            assert_true(result == SECURE_BROKEN || result == SECURE_MORE);
        else
            assert_int_equal(result, SECURE_BROKEN);
        assert_int_equal(world->opened.count, 0);
        world_close(world);
    }
}

static void records_lost_doubled_or_out_of_order(void **state) {
    (void)state;
    static uint8_t two[2 * 23];
    for (unsigned way = 0; way < 3; way++) {
        struct world *world = world_open(0);
        send_record(world, DATA, "a", 1);
        send_record(world, DATA, "b", 1);
        memcpy(two, world->wire.bytes, sizeof two);
        memcpy(world->wire.bytes, two + (way == 1 ? 0 : 23), 23);
        memcpy(world->wire.bytes + 23, two + (way == 2 ? 23 : 0), 23);
        assert_int_equal(arrive(world, WIRE_BYTES, ROOM), SECURE_BROKEN);
        expect_alert(world, 20);
        assert_int_equal(world->opened.count, way == 1);
        world_close(world);
    }
}

// The largest one, padded or not; a byte more, of either; and by what the peer has asked for, where padding doesn't
// count.
static void records_of_the_largest_size(void **state) {
    (void)state;
    static uint8_t text[16384 + 256];
    static const struct {
        size_t said, padding, bound;
        bool good;
    } each[] = {
        {16384, 0, 16384, true},  {16000, 384, 16384, true}, {16385, 0, 16384, false},
        {16384, 1, 16384, false}, {1, 16384, 16384, false},  {512, 0, 512, true},
        {513, 0, 512, false},     {512, 1000, 512, true},
    };
    for (unsigned index = 0; index < sizeof each / sizeof *each; index++) {
        struct world *world = world_open(index % SUITES);
        size_t said = each[index].said, padding = each[index].padding;
        world->secure.record_bytes_max = (uint32_t)each[index].bound;
        memset(text, 'x', said);
        memset(text + said, 0, sizeof text - said);
        text[said] = padding ? DATA : 0;
        send_record(world, padding ? 0 : DATA, text, said + padding);
        assert_int_equal(arrive(world, WIRE_BYTES, ROOM), each[index].good ? SECURE_MORE : SECURE_BROKEN);
        assert_int_equal(world->opened.count, each[index].good ? said : 0);
        if (!each[index].good)
            expect_alert(world, 22);
        world_close(world);
    }
}

static void without_memory(void **state) {
    (void)state;
    static uint8_t text[1000];
    for (unsigned way = 0; way < 2; way++) {
        struct world *world = world_open(0);
        send_record(world, DATA, text, sizeof text);
        memory_fail_after(0);
        enum secure_result result = arrive(world, way ? 10 : WIRE_BYTES, way ? ROOM : 10);
        memory_fail_after(UINT64_MAX);
        assert_int_equal(result, SECURE_BROKEN);
        assert_true(world->secure.out_of_memory);
        world_close(world);
    }
}

// A record that would be cut by the room's end is known before.
static void what_comes_next_is_foreseen(void **state) {
    (void)state;
    struct world *world = world_open(0);
    uint8_t out[100];
    size_t count;
    send_record(world, DATA, "abc", 3);
    send_record(world, DATA, "0123456789", 10);
    struct secure_input input = {.bytes = world->wire.bytes, .count = world->wire.count};
    assert_int_equal(tls_records_open(world->records, &world->secure, &input, out, 100, &count),
                     SECURE_BYTES);
    assert_int_equal(world->secure.next_bytes, 10);
    assert_int_equal(tls_records_open(world->records, &world->secure, &input, out, 100, &count),
                     SECURE_BYTES);
    assert_int_equal(world->secure.next_bytes, 0);
    world_close(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_the_rfc_has_it),
        cmocka_unit_test(what_is_sealed_is_opened_however_it_is_cut),
        cmocka_unit_test(parts_become_one_record),
        cmocka_unit_test(keys_are_updated_as_the_peer_asks),
        cmocka_unit_test(no_key_serves_for_too_much),
        cmocka_unit_test(what_says_nothing),
        cmocka_unit_test(ends),
        cmocka_unit_test(what_is_said_wrongly),
        cmocka_unit_test(what_is_no_record),
        cmocka_unit_test(what_was_changed_on_the_way),
        cmocka_unit_test(records_lost_doubled_or_out_of_order),
        cmocka_unit_test(records_of_the_largest_size),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(what_comes_next_is_foreseen),
    };
    tls_begin();
    context = SSL_CTX_new(TLS_method());
    ssl = SSL_new(context);
    int failed = tls_gcm_is_there() ? cmocka_run_group_tests_name("libipsec-mb", tests, NULL, NULL) : 0;
    tls_gcm_end();
    failed += cmocka_run_group_tests_name("openssl", tests, NULL, NULL);
    SSL_free(ssl);
    SSL_CTX_free(context);
    return failed;
}
