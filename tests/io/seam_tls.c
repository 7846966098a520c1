// The seam's tests of plain connections for those over TLS, on real sockets. Bytes go both ways, in order, into the
// caller's memory and to a late reader. Then both ends of connections. The peer is the library's own client, in a
// thread, with 1.2 and with 1.3, over Unix sockets and TCP.
#include "tests/io/fixture.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <semaphore.h>
#include <stdlib.h>

#include "core/base/memory.h"
#include "io/connection.h"
#include "io/secure.h"
#include "io/tls.h"

enum { HEARD_BYTES_MAX = 4 << 20, ENDS_MAX = 4, WAYS = 4, TOKEN = 5 };

struct world {
    struct fixture *fixture;
    struct parcel_pool parcels;
    struct turn_bounds bounds;
    struct sender sender;
    struct connection connection;
    bool puts_off; // each step of the handshake waits for its turn
    uint8_t *direct;
    size_t direct_bytes; // that are still wanted there
    uint8_t *heard;
    size_t heard_bytes;
    int32_t ends[ENDS_MAX]; // as connection_next_plaintext tells them
    unsigned ends_count;

    pthread_t thread;
    bool joined;
    sem_t start;
    SSL *peer;
    int peer_socket;
    void (*script)(struct world *world);
    uint8_t *text; // that the script writes, or has read
    size_t text_bytes;
    int reason; // of the library's, why it can't read
};

static struct secure_source *source;
static char certificate[] = "/tmp/patchbay-seam-XXXXXX", key[] = "/tmp/patchbay-seam-XXXXXX";

// --- The peer

// In its thread, where cmocka's assertions tell nothing.
#define require(holds) ((holds) ? (void)0 : fail_peer(#holds, __LINE__))

static _Noreturn void fail_peer(const char *what, int line) {
    fprintf(stderr, "the peer, line %d: %s\n", line, what);
    ERR_print_errors_fp(stderr);
    abort();
}

static void *peer_run(void *context) {
    struct world *world = context;
    require(SSL_connect(world->peer) == 1);
    world->script(world);
    return NULL;
}

static void peer_writes(struct world *world, const void *bytes, size_t count) {
    size_t written;
    require(SSL_write_ex(world->peer, bytes, count, &written) == 1);
    require(written == count);
}

// Reads so many bytes; fewer only at the end that was said.
static size_t peer_reads(struct world *world, void *bytes, size_t count) {
    size_t at = 0, read;
    while (at < count && SSL_read_ex(world->peer, (uint8_t *)bytes + at, count - at, &read) == 1)
        at += read;
    return at;
}

static void peer_expects_end(struct world *world) {
    char byte;
    int result = SSL_read(world->peer, &byte, 1);
    require(SSL_get_error(world->peer, result) == SSL_ERROR_ZERO_RETURN);
}

static void peer_ends(struct world *world) {
    SSL_shutdown(world->peer);
    shutdown(world->peer_socket, SHUT_WR);
}

// --- The hub's side

// The way's first bit is the version, its second what carries it.
static struct world *world_open(unsigned way, void (*script)(struct world *)) {
    struct world *world = test_calloc(1, sizeof *world);
    int pair[2];
    (way & 2 ? tcp_pair : unix_pair)(pair);
    world->fixture = fixture_open(100);
    parcel_pool_init(&world->parcels, &world->fixture->budget, 0);
    turn_bounds_defaults(&world->bounds);
    sender_init(&world->sender, &world->fixture->pool, &world->bounds);
    connection_open(&world->connection, pair[0], TOKEN);
    assert_true(connection_secure(&world->connection, source, &world->fixture->pool));
    world->heard = test_malloc(HEARD_BYTES_MAX);
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    int version = way & 1 ? TLS1_3_VERSION : TLS1_2_VERSION;
    SSL_CTX_set_min_proto_version(context, version);
    SSL_CTX_set_max_proto_version(context, version);
    world->peer = SSL_new(context);
    SSL_CTX_free(context);
    SSL_set_fd(world->peer, pair[1]);
    world->peer_socket = pair[1];
    world->script = script;
    sem_init(&world->start, 0, 0);
    return world;
}

static void world_begin(struct world *world) {
    pthread_create(&world->thread, NULL, peer_run, world);
    connection_receive(&world->connection, world->fixture->io);
}

static void let_go(struct parcel_list *done) {
    for (struct parcel *parcel; (parcel = parcel_list_take(done));)
        parcel_drop(parcel);
}

static void send_now(struct world *world) {
    struct parcel_list done;
    parcel_list_init(&done);
    connection_send(&world->connection, world->fixture->io, &world->sender, &done);
    let_go(&done);
}

static void take_heard(struct world *world, const struct io_event *event) {
    size_t count = (size_t)event->result;
    if (!event->buffer) {
        assert_in_range(count, 1, world->direct_bytes);
        world->direct += count;
        world->direct_bytes -= count;
        connection_want(&world->connection, world->direct_bytes ? world->direct : NULL, world->direct_bytes);
        return;
    }
    assert_true(world->heard_bytes + count <= HEARD_BYTES_MAX);
    memcpy(world->heard + world->heard_bytes, buffer_arrival(event->buffer), count);
    world->heard_bytes += count;
    buffer_drop(event->buffer);
}

static void open_all(struct world *world) {
    for (struct io_event event; connection_next_plaintext(&world->connection, &event);) {
        if (connection_received(&world->connection, &event))
            take_heard(world, &event);
        else if (event.result != -ENOBUFS)
            world->ends[world->ends_count++] = event.result;
    }
    if (connection_has_unsent(&world->connection))
        send_now(world);
}

static void note(struct world *world, const struct io_event *event) {
    struct parcel_list done;
    parcel_list_init(&done);
    assert_int_equal(event->token, TOKEN);
    if (event->kind == IO_SENT) {
        connection_sent(&world->connection, world->fixture->io, &world->sender, event->result, &done);
        let_go(&done);
        return;
    }
    assert_int_equal(event->kind, IO_RECEIVED);
    connection_received_records(&world->connection, event);
    if (world->puts_off && event->result > 0 && !connection_established(&world->connection)) {
        connection_put_off(&world->connection);
        assert_true(connection_waits(&world->connection));
    }
    buffer_drop(event->buffer);
    open_all(world);
    connection_receive(&world->connection, world->fixture->io);
}

static void until_heard(struct world *world, size_t bytes) {
    while (world->heard_bytes < bytes) {
        struct io_event event = wait_event(world->fixture->io);
        note(world, &event);
    }
    assert_int_equal(world->heard_bytes, bytes);
}

static void until_ended(struct world *world, unsigned count) {
    while (world->ends_count < count) {
        struct io_event event = wait_event(world->fixture->io);
        note(world, &event);
    }
    assert_int_equal(world->ends_count, count);
}

static void until_established(struct world *world) {
    while (!connection_established(&world->connection)) {
        struct io_event event = wait_event(world->fixture->io);
        note(world, &event);
    }
}

static void until_sent(struct world *world) {
    while (world->connection.send_op || !outbox_empty(&world->connection.outbox)) {
        send_now(world);
        struct io_event event = wait_event(world->fixture->io);
        note(world, &event);
    }
}

// As far as it goes while the peer takes nothing.
static void until_quiet(struct world *world) {
    struct io *io = world->fixture->io;
    for (bool goes_on = true; goes_on;) {
        struct io_event event;
        send_now(world);
        io_run(io, io_now(io) + SECOND_NS / 50);
        for (goes_on = false; io_next(io, &event); goes_on = true)
            note(world, &event);
    }
}

// Queues bytes of a pattern that begins at `from`.
static void queue(struct world *world, size_t from, size_t bytes) {
    static uint8_t pattern[HEARD_BYTES_MAX];
    static bool filled;
    if (!filled)
        fill_pattern(pattern, sizeof pattern);
    filled = true;
    char *text = memory_take(bytes);
    memcpy(text, pattern + from, bytes);
    struct parcel *parcel = parcel_from_text(&world->parcels, text, bytes);
    assert_non_null(parcel);
    parcel->lane = LANE_NORMAL;
    parcel->is_encoded = true;
    outbox_add(&world->connection.outbox, parcel);
}

static void until_at_hand(struct world *world) {
    while (world->connection.send_op) {
        struct io_event event = wait_event(world->fixture->io);
        note(world, &event);
    }
}

static void finish(struct world *world) {
    until_at_hand(world);
    while (!connection_finish(&world->connection, world->fixture->io, &world->sender))
        until_at_hand(world);
    shutdown(world->connection.out, SHUT_WR);
}

static void peer_join(struct world *world) {
    if (!world->joined)
        pthread_join(world->thread, NULL);
    world->joined = true;
}

static void world_close(struct world *world) {
    struct io *io = world->fixture->io;
    peer_join(world);
    SSL_free(world->peer);
    if (world->peer_socket >= 0)
        close(world->peer_socket);
    connection_end(&world->connection, io);
    while (!connection_at_rest(&world->connection)) {
        struct io_event event = wait_event(io);
        note(world, &event);
    }
    connection_close(&world->connection);
    io_close_socket(io, world->connection.socket);
    sender_deinit(&world->sender);
    assert_true(parcel_pool_full(&world->parcels));
    parcel_pool_deinit(&world->parcels);
    fixture_close(world->fixture);
    sem_destroy(&world->start);
    test_free(world->heard);
    test_free(world);
}

// --- What goes well

static void script_echo(struct world *world) {
    char back[16];
    peer_writes(world, "here", 4);
    require(peer_reads(world, back, 8) == 8);
    uint8_t expected[8];
    fill_pattern(expected, sizeof expected);
    require(memcmp(back, expected, 8) == 0);
    peer_ends(world);
    peer_expects_end(world);
}

static void both_ways(void **state) {
    (void)state;
    for (unsigned way = 0; way < 2 * WAYS; way++) {
        struct world *world = world_open(way % WAYS, script_echo);
        world->puts_off = way >= WAYS;
        world_begin(world);
        queue(world, 0, 8); // waits for the handshake
        until_heard(world, 4);
        assert_memory_equal(world->heard, "here", 4);
        until_sent(world);
        until_ended(world, 1);
        assert_int_equal(world->ends[0], 0);
        finish(world);
        world_close(world);
    }
}

// Records of many sizes; with 1.3 keys are updated in between.
static void script_writes(struct world *world) {
    for (size_t at = 0, count = 1; at < world->text_bytes; at += count, count = count * 7 % 40009 + 1) {
        if (count > world->text_bytes - at)
            count = world->text_bytes - at;
        if (at > 0 && count % 16 == 3 && SSL_version(world->peer) == TLS1_3_VERSION)
            require(SSL_key_update(world->peer, count % 32 == 3 ? SSL_KEY_UPDATE_REQUESTED
                                                                : SSL_KEY_UPDATE_NOT_REQUESTED) == 1);
        peer_writes(world, world->text + at, count);
    }
    peer_ends(world);
    peer_expects_end(world);
}

static void a_stream_arrives_in_order(void **state) {
    (void)state;
    enum { BYTES = 3 << 20 };
    uint8_t *text = test_malloc(BYTES);
    fill_pattern(text, BYTES);
    for (unsigned way = 0; way < WAYS; way++) {
        struct world *world = world_open(way, script_writes);
        world->text = text;
        world->text_bytes = BYTES;
        world_begin(world);
        until_heard(world, BYTES);
        assert_memory_equal(world->heard, text, BYTES);
        until_ended(world, 1);
        assert_int_equal(world->ends[0], 0);
        until_sent(world);
        finish(world);
        world_close(world);
    }
    test_free(text);
}

// A client that has little room says so, and its library objects to a record that is longer. The client's own
// records are as short.
static void script_asks_for_short_records(struct world *world) {
    uint8_t *text = test_malloc(world->text_bytes);
    peer_writes(world, world->text, world->text_bytes);
    require(peer_reads(world, text, world->text_bytes) == world->text_bytes);
    require(memcmp(text, world->text, world->text_bytes) == 0);
    test_free(text);
    peer_ends(world);
    peer_expects_end(world);
}

static void records_are_as_short_as_was_asked_for(void **state) {
    (void)state;
    enum { BYTES = 200000 };
    uint8_t *text = test_malloc(BYTES);
    fill_pattern(text, BYTES);
    for (unsigned way = 0; way < WAYS * 2; way++) {
        struct world *world = world_open(way % WAYS, script_asks_for_short_records);
        uint8_t length = way < WAYS ? TLSEXT_max_fragment_length_512 : TLSEXT_max_fragment_length_4096;
        assert_int_equal(SSL_set_tlsext_max_fragment_length(world->peer, length), 1);
        world->text = text;
        world->text_bytes = BYTES;
        world_begin(world);
        until_heard(world, BYTES);
        assert_memory_equal(world->heard, text, BYTES);
        queue(world, 0, BYTES);
        until_sent(world);
        until_ended(world, 1);
        assert_int_equal(world->ends[0], 0);
        finish(world);
        world_close(world);
    }
    test_free(text);
}

// Bytes before and behind are in buffers.
static void what_is_wanted_elsewhere_goes_there(void **state) {
    (void)state;
    enum { BYTES = 1 << 20, BEFORE = 1 };
    uint8_t *text = test_malloc(BYTES), *memory = test_malloc(BYTES);
    fill_pattern(text, BYTES);
    for (unsigned way = 0; way < WAYS; way++) {
        struct world *world = world_open(way, script_writes);
        world->text = text;
        world->text_bytes = BYTES;
        world_begin(world);
        while (world->heard_bytes < BEFORE) {
            struct io_event event = wait_event(world->fixture->io);
            note(world, &event);
        }
        size_t before = world->heard_bytes, behind = 1000;
        world->direct = memory;
        world->direct_bytes = BYTES - before - behind;
        connection_want(&world->connection, memory, world->direct_bytes);
        until_heard(world, before + behind);
        assert_int_equal(world->direct_bytes, 0);
        assert_memory_equal(world->heard, text, before);
        assert_memory_equal(memory, text + before, BYTES - before - behind);
        assert_memory_equal(world->heard + before, text + BYTES - behind, behind);
        until_ended(world, 1);
        until_sent(world);
        finish(world);
        world_close(world);
    }
    test_free(text);
    test_free(memory);
}

static void script_reads_late(struct world *world) {
    sem_wait(&world->start);
    require(peer_reads(world, world->text, world->text_bytes) == world->text_bytes);
    peer_expects_end(world);
}

// While it doesn't read, little of what waits is sealed.
static void a_late_reader_gets_all(void **state) {
    (void)state;
    enum { PARCELS = 20, BYTES = PARCELS * (100000 + 100) };
    static_assert((size_t)BYTES <= (size_t)HEARD_BYTES_MAX, "it fits the pattern");
    uint8_t *text = test_malloc(BYTES), *expected = test_malloc(BYTES);
    fill_pattern(expected, BYTES);
    for (unsigned way = 0; way < WAYS; way++) {
        struct world *world = world_open(way, script_reads_late);
        world->text = text;
        world->text_bytes = BYTES;
        memset(text, 0, BYTES);
        assert_int_equal(
            setsockopt(world->connection.out, SOL_SOCKET, SO_SNDBUF, &(int){64 * 1024}, sizeof(int)), 0);
        world_begin(world);
        until_established(world);
        for (size_t at = 0; at < BYTES; at += 100100) {
            queue(world, at, 100000);
            queue(world, at + 100000, 100);
        }
        until_quiet(world);
        assert_true(world->connection.send_op->bytes <= SECURE_AHEAD_BYTES_MAX);
        assert_true(connection_waiting(&world->connection) > BYTES / 2);
        sem_post(&world->start);
        until_sent(world);
        finish(world);
        world_close(world);
        assert_memory_equal(text, expected, BYTES);
    }
    test_free(text);
    test_free(expected);
}

// --- How it ends

static void script_says_and_goes(struct world *world) {
    peer_writes(world, "last", 4);
    peer_ends(world);
    close(world->peer_socket);
    world->peer_socket = -1;
}

static void the_end_right_behind_the_bytes(void **state) {
    (void)state;
    for (unsigned way = 0; way < WAYS; way++) {
        struct world *world = world_open(way, script_says_and_goes);
        world_begin(world);
        until_ended(world, 1);
        assert_int_equal(world->ends[0], 0);
        assert_int_equal(world->heard_bytes, 4);
        world_close(world);
    }
}

static void script_goes(struct world *world) {
    peer_writes(world, "last", 4);
    shutdown(world->peer_socket, SHUT_WR);
}

static void an_end_that_nobody_said(void **state) {
    (void)state;
    for (unsigned way = 0; way < WAYS; way++) {
        struct world *world = world_open(way, script_goes);
        world_begin(world);
        until_ended(world, 1);
        assert_int_equal(world->ends[0], -ECONNABORTED);
        assert_int_equal(world->heard_bytes, 4);
        assert_true(world->connection.secure->truncated);
        world_close(world);
    }
}

static void script_breaks(struct world *world) {
    char byte;
    write_all(world->peer_socket, "\27\3\3\0\40 no record of any kind, of 32 bytes", 5 + 32);
    require(SSL_read(world->peer, &byte, 1) <= 0);
    world->reason = ERR_GET_REASON(ERR_peek_error());
}

static void what_cannot_be_opened_is_answered_with_an_alert(void **state) {
    (void)state;
    for (unsigned way = 0; way < WAYS; way++) {
        struct world *world = world_open(way, script_breaks);
        world_begin(world);
        until_ended(world, 1);
        assert_int_equal(world->ends[0], -EBADMSG);
        until_sent(world);
        until_at_hand(world);
        peer_join(world);
        assert_int_equal(world->reason, SSL_R_SSLV3_ALERT_BAD_RECORD_MAC);
        world_close(world);
    }
}

// --- Keys

static void write_pem(char *path, EVP_PKEY *pair, X509 *signed_by_itself) {
    int file = mkstemp(path);
    FILE *stream = file < 0 ? NULL : fdopen(file, "w");
    bool written =
        stream && (signed_by_itself ? PEM_write_X509(stream, signed_by_itself)
                                    : PEM_write_PrivateKey(stream, pair, NULL, NULL, 0, NULL, NULL));
    if (!written || fclose(stream) != 0)
        abort();
}

static void make_source(void) {
    EVP_PKEY *pair = EVP_EC_gen("P-256");
    X509 *made = X509_new();
    char why[256] = "";
    X509_gmtime_adj(X509_getm_notBefore(made), -60);
    X509_gmtime_adj(X509_getm_notAfter(made), 3600);
    X509_set_pubkey(made, pair);
    X509_sign(made, pair, EVP_sha256());
    write_pem(certificate, NULL, made);
    write_pem(key, pair, NULL);
    source = tls_read(&(struct tls_files){.certificate = certificate, .key = key}, why, sizeof why);
    unlink(certificate);
    unlink(key);
    X509_free(made);
    EVP_PKEY_free(pair);
    if (!source)
        abort();
}

int main(int argc, char **argv) {
    choose_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ways),
        cmocka_unit_test(a_stream_arrives_in_order),
        cmocka_unit_test(records_are_as_short_as_was_asked_for),
        cmocka_unit_test(what_is_wanted_elsewhere_goes_there),
        cmocka_unit_test(a_late_reader_gets_all),
        cmocka_unit_test(the_end_right_behind_the_bytes),
        cmocka_unit_test(an_end_that_nobody_said),
        cmocka_unit_test(what_cannot_be_opened_is_answered_with_an_alert),
    };
    signal(SIGPIPE, SIG_IGN);
    tls_begin();
    make_source();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    secure_source_drop(source);
    return failed;
}
