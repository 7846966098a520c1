// Connections that the toy cipher secures: handshakes, records cut anywhere, ends with and without a word, and the
// bytes ahead of a slow reader.
#include <signal.h>

#include "core/rights/users.h"
#include "router/engine/shard/peer.h"
#include "tests/sim/scarce.h"
#include "tests/sim/toy.h"

#define SECOND_NS UINT64_C(1000000000)

static void open_secure(struct scene *scene, uint32_t shards) {
    struct world_options options;
    world_defaults(&options, 7, shards);
    options.secure = true;
    scene_open(scene, &options);
}

// Written a byte at a time, and read by the hub as it comes.
static void write_split(struct scene *scene, struct cable *cable, const uint8_t *bytes, size_t count,
                        size_t at) {
    assert_true(cable_write_raw(cable, bytes, at));
    scene_settle(scene);
    assert_true(cable_write_raw(cable, bytes + at, count - at));
    scene_settle(scene);
}

static size_t read_all(struct cable *cable, char *out, size_t capacity) {
    size_t count = 0;
    for (size_t more; count < capacity && (more = cable_read(cable, out + count, capacity - count));)
        count += more;
    out[count] = '\0';
    return count;
}

// The records of a client that shakes hands, asks something in two records, and says its end.
static size_t play(uint8_t *out, size_t *done) {
    static const char ask[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hub/ping\"}\n";
    uint8_t sequence = 0;
    size_t at = toy_seal(&sequence, TOY_HELLO, NULL, 0, out);
    at += toy_seal(&sequence, TOY_DONE, NULL, 0, out + at);
    at += toy_seal(&sequence, TOY_ASK, (const uint8_t *)"x", 1, out + at);
    at += toy_seal(&sequence, TOY_DATA, (const uint8_t *)ask, 20, out + at);
    *done = at + toy_seal(&sequence, TOY_DATA, (const uint8_t *)ask + 20, sizeof ask - 21, out + at);
    return *done + toy_seal(&sequence, TOY_END, NULL, 0, out + *done);
}

static void records_are_split_at_every_byte(void **state) {
    (void)state;
    static struct scene scene;
    uint8_t bytes[512];
    size_t done, count = play(bytes, &done);
    open_secure(&scene, 2);
    for (size_t at = 1; at < count; at++) {
        struct cable *cable = world_dial_lines(&scene.world);
        char answer[256];
        write_split(&scene, cable, bytes, count, at);
        assert_true(read_all(cable, answer, sizeof answer - 1) > 0);
        assert_non_null(strstr(answer, "\"result\""));
        assert_true(cable_hub_ended(cable));
        cable_truncate(cable); // its end is among the bytes
        cable_close(cable);
        scene_settle(&scene);
    }
    assert_int_equal(counted(&scene, COUNT_HANDSHAKES), count - 1);
    assert_int_equal(counted(&scene, COUNT_STREAMS_TRUNCATED), 0);
    scene_close(&scene);
}

// The peer goes in the middle: nothing of what wasn't whole is taken, and no last line without its end.
static void streams_are_cut_off_at_every_byte(void **state) {
    (void)state;
    static struct scene scene;
    uint8_t bytes[512];
    size_t done, count = play(bytes, &done);
    open_secure(&scene, 1);
    for (size_t at = 0; at < count; at++) {
        struct cable *cable = world_dial_lines(&scene.world);
        uint64_t asked = counted(&scene, COUNT_REQUESTS_RECEIVED);
        char answer[256];
        assert_true(cable_write_raw(cable, bytes, at));
        cable_truncate(cable);
        cable_shut(cable);
        scene_settle(&scene);
        assert_int_equal(counted(&scene, COUNT_REQUESTS_RECEIVED) - asked, at >= done);
        assert_true(cable_hub_closed(cable));
        read_all(cable, answer, sizeof answer - 1);
        cable_close(cable);
        scene_settle(&scene);
    }
    assert_true(counted(&scene, COUNT_STREAMS_TRUNCATED) > 0);
    assert_int_equal(counted(&scene, COUNT_STREAMS_TRUNCATED) + counted(&scene, COUNT_HANDSHAKES_FAILED),
                     count);
    scene_close(&scene);
}

// One bit of a record is changed. The hub sends an alert and nothing else, and the connection ends.
static void records_are_changed_at_every_byte(void **state) {
    (void)state;
    static struct scene scene;
    uint8_t bytes[512];
    size_t done, count = play(bytes, &done);
    open_secure(&scene, 1);
    for (size_t at = 0; at < done; at++) {
        struct cable *cable = world_dial_lines(&scene.world);
        char answer[256];
        bytes[at] ^= 0x40;
        assert_true(cable_write_raw(cable, bytes, count));
        bytes[at] ^= 0x40;
        cable_truncate(cable);
        cable_shut(cable);
        scene_pass(&scene, 2 * SECOND_NS);
        read_all(cable, answer, sizeof answer - 1);
        assert_null(strstr(answer, "\"result\""));
        assert_true(cable_hub_closed(cable));
        cable_close(cable);
        scene_settle(&scene);
    }
    assert_true(counted(&scene, COUNT_HANDSHAKES_FAILED) > 0 && counted(&scene, COUNT_RECORDS_BROKEN) > 0);
    scene_close(&scene);
}

static void handshakes_have_ten_seconds(void **state) {
    (void)state;
    static struct scene scene;
    open_secure(&scene, 2);
    struct cable *silent = world_dial(&scene.world), *slow = world_dial(&scene.world);
    struct party *good = party_join(&scene);
    party_ask(good, "hub/ping", 0, "%s", "");
    for (unsigned second = 0; second < 9; second++) {
        cable_write_raw(slow, "\1", second == 0); // what begins isn't over
        scene_pass(&scene, SECOND_NS);
        assert_false(cable_hub_closed(silent) || cable_hub_closed(slow));
    }
    scene_pass(&scene, 2 * SECOND_NS);
    assert_true(cable_hub_closed(silent) && cable_hub_closed(slow));
    assert_false(cable_hub_closed(good->cable));
    assert_int_equal(counted(&scene, COUNT_CLOSED_HANDSHAKE), 2);
    cable_truncate(silent), cable_close(silent);
    cable_truncate(slow), cable_close(slow);
    scene_check(&scene);
    scene_close(&scene);
}

static void no_complaint(void *context, const struct users_fault *fault) {
    (void)context;
    fail_msg("line %u: %s", fault->line, fault->expected);
}

static void choose_users(struct world_options *options, struct hub_settings *settings, const char *text) {
    static const struct siphash_key key = {{1, 2}};
    world_defaults(options, 7, 2);
    *settings = (struct hub_settings){.limits = options->limits};
    settings->users = users_read(text, strlen(text), &key, NULL, no_complaint, NULL);
    assert_non_null(settings->users);
    options->secure = true;
    options->settings = settings;
}

// Where users are on, what was late is still the handshake: a credential is, of who has shaken hands.
static void handshakes_are_no_credentials(void **state) {
    (void)state;
    static struct scene scene;
    struct world_options options;
    struct hub_settings settings;
    choose_users(&options, &settings, "[user a]\nuid = 1000\n");
    scene_open(&scene, &options);
    struct cable *silent = world_dial(&scene.world), *slow = world_dial(&scene.world);
    struct party *good = party_join(&scene);
    party_ask(good, "hub/ping", 0, "%s", "");
    cable_write_raw(slow, "\1", 1);
    scene_pass(&scene, 9 * SECOND_NS);
    assert_false(cable_hub_closed(silent) || cable_hub_closed(slow));
    assert_int_equal(good->errors, 1);
    scene_pass(&scene, 3 * SECOND_NS);
    assert_true(cable_hub_closed(silent) && cable_hub_closed(slow) && cable_hub_closed(good->cable));
    assert_int_equal(counted(&scene, COUNT_CLOSED_HANDSHAKE), 2);
    assert_int_equal(counted(&scene, COUNT_CLOSED_UNAUTHENTICATED), 1);
    cable_truncate(silent), cable_close(silent);
    cable_truncate(slow), cable_close(slow);
    scene_check(&scene);
    scene_close(&scene);
}

// A certificate's user is known by it for each request of HTTP: its names are decoded once.
static void a_certificate_is_read_once(void **state) {
    (void)state;
    static struct scene scene;
    enum { REQUESTS = 20 };
    struct world_options options;
    struct hub_settings settings;
    choose_users(&options, &settings, "[user a]\ncertificate = toy.example\n");
    scene_open(&scene, &options);
    struct party *party = party_join_http(&scene);
    cable_of_certificate(party->cable, "0other.example\ntoy.example\n");
    toy_certificates = 0;
    for (unsigned count = 0; count < REQUESTS; count++) {
        party_ask(party, "hub/ping", 0, "%s", "");
        scene_settle(&scene);
    }
    assert_int_equal(party->results, REQUESTS);
    assert_int_equal(toy_certificates, 1);
    scene_check(&scene);
    scene_close(&scene);
}

static struct cable *shake(struct scene *scene, const char *certificate) {
    struct cable *cable = world_dial(&scene->world);
    cable_of_certificate(cable, certificate);
    cable_record(cable, TOY_DATA, "", 0);
    scene_settle(scene);
    return cable;
}

// A peer whose certificate is somebody's has shown a credential, though nothing has been said: no time is
// set, and nobody takes the place.
static void who_bears_a_certificate_may_be_silent(void **state) {
    (void)state;
    static struct scene scene;
    struct world_options options;
    struct hub_settings settings;
    choose_users(&options, &settings, "[user a]\ncertificate = toy.example\n");
    settings.limits.connections_max = 3;
    scene_open(&scene, &options);
    struct cable *known = shake(&scene, "0toy.example\n");
    scene_pass(&scene, SECOND_NS / 100);
    struct cable *other = shake(&scene, "0toy.example.org\n");
    scene_pass(&scene, SECOND_NS / 100);
    struct cable *third = shake(&scene, ""), *guest = shake(&scene, "1toy.example\n");
    scene_pass(&scene, SECOND_NS);
    assert_true(cable_hub_closed(other));
    assert_false(cable_hub_closed(known) || cable_hub_closed(third) || cable_hub_closed(guest));
    scene_pass(&scene, 11 * SECOND_NS);
    assert_true(cable_hub_closed(third) && !cable_hub_closed(known) && !cable_hub_closed(guest));
    assert_int_equal(counted(&scene, COUNT_CLOSED_UNAUTHENTICATED), 2);
    cable_close(known), cable_close(other), cable_close(third), cable_close(guest);
    scene_check(&scene);
    scene_close(&scene);
}

// Also among those that came in one moment, on whatever shard.
static void who_came_first_gives_way_first(void **state) {
    (void)state;
    static struct scene scene;
    enum { STRANGERS = 6 };
    struct cable *strangers[STRANGERS], *known[STRANGERS];
    struct world_options options;
    struct hub_settings settings;
    choose_users(&options, &settings, "[user a]\ncertificate = toy.example\n");
    options.shard_count = 3;
    settings.limits.connections_max = STRANGERS;
    scene_open(&scene, &options);
    for (unsigned index = 0; index < STRANGERS; index++)
        strangers[index] = shake(&scene, "");
    for (unsigned index = 0; index < STRANGERS; index++) {
        known[index] = shake(&scene, "0toy.example\n");
        scene_pass(&scene, SECOND_NS / 10);
        for (unsigned other = 0; other < STRANGERS; other++)
            assert_int_equal(cable_hub_closed(strangers[other]), other <= index);
    }
    for (unsigned index = 0; index < STRANGERS; index++)
        cable_close(strangers[index]), cable_close(known[index]);
    scene_check(&scene);
    scene_close(&scene);
}

static struct cable *come(struct scene *scene, bool by_uid) {
    if (!by_uid)
        return shake(scene, "0toy.example\n");
    struct cable *cable = world_dial(&scene->world);
    cable_of_user(cable, 1000);
    cable_record(cable, TOY_DATA, "", 0);
    scene_settle(scene);
    return cable;
}

// The connection is one of its user's from then on. A connection too many gives its place to a new one, and has the
// time of a connection without a credential. When that connection sends something, it is told of the limit.
static void who_is_silent_counts_too(bool by_uid) {
    static struct scene scene;
    struct world_options options;
    struct hub_settings settings;
    choose_users(&options, &settings, "[user a]\ncertificate = toy.example\nuid = 1000\nconnections = 2\n");
    settings.limits.connections_max = 3;
    scene_open(&scene, &options);
    struct cable *first = come(&scene, by_uid), *second = come(&scene, by_uid);
    struct cable *third = come(&scene, by_uid), *guest = shake(&scene, "");
    scene_pass(&scene, SECOND_NS);
    assert_true(cable_hub_closed(third));
    assert_false(cable_hub_closed(first) || cable_hub_closed(second) || cable_hub_closed(guest));
    cable_close(guest), cable_close(third);
    scene_settle(&scene);
    struct cable *fourth = come(&scene, by_uid);
    scene_pass(&scene, 11 * SECOND_NS);
    assert_true(cable_hub_closed(fourth) && !cable_hub_closed(first) && !cable_hub_closed(second));
    cable_close(fourth);
    struct party *party = party_join(&scene);
    by_uid ? cable_of_user(party->cable, 1000) : cable_of_certificate(party->cable, "0toy.example\n");
    party_ask(party, "hub/ping", 0, "%s", "");
    scene_settle(&scene);
    assert_true(party->errors == 1 && cable_hub_ended(party->cable));
    cable_close(first);
    scene_settle(&scene);
    struct cable *last = come(&scene, by_uid);
    scene_pass(&scene, 12 * SECOND_NS);
    assert_false(cable_hub_closed(second) || cable_hub_closed(last));
    cable_close(second), cable_close(last);
    scene_check(&scene);
    scene_close(&scene);
}

static void who_is_silent_counts_by_a_certificate(void **state) {
    (void)state;
    who_is_silent_counts_too(false);
}

static void who_is_silent_counts_by_a_uid(void **state) {
    (void)state;
    who_is_silent_counts_too(true);
}

// More at once than a turn has room for: all have their turn.
static void handshakes_wait_for_their_turn(void **state) {
    (void)state;
    static struct scene scene;
    enum { MANY = 60 };
    open_secure(&scene, 1);
    struct party *parties[MANY];
    for (unsigned index = 0; index < MANY; index++)
        party_ask(parties[index] = party_join(&scene), "hub/ping", index * 700, "%s", "");
    scene_settle(&scene);
    for (unsigned index = 0; index < MANY; index++)
        assert_int_equal(parties[index]->results, 1);
    assert_int_equal(counted(&scene, COUNT_HANDSHAKES), MANY);
    scene_check(&scene);
    scene_close(&scene);
}

// The hub says all that is owed, and then its end.
static void a_half_close_is_said_and_answered(void **state) {
    (void)state;
    static struct scene scene;
    open_secure(&scene, 2);
    struct party *party = party_join(&scene);
    party_ask(party, "hub/ping", 100000, "%s", "");
    cable_shut(party->cable);
    scene_settle(&scene);
    assert_int_equal(party->results, 1);
    assert_true(cable_hub_ended(party->cable) && cable_at_end(party->cable));
    scene_close(&scene);
}

// The cipher's own messages for a peer that never reads are bounded.
static void who_makes_the_cipher_talk_is_ended(void **state) {
    (void)state;
    static struct scene scene;
    static uint8_t filler[1000];
    struct world_options options;
    world_defaults(&options, 7, 1);
    options.secure = true;
    options.faults.window_bytes = 2000;
    scene_open(&scene, &options);
    struct cable *cable = world_dial(&scene.world);
    for (unsigned record = 0; record < 200; record++)
        cable_record(cable, TOY_ASK, filler, sizeof filler);
    scene_settle(&scene);
    scene_pass(&scene, 20 * SECOND_NS);
    assert_true(cable_hub_closed(cable));
    assert_int_equal(counted(&scene, COUNT_CLOSED_NO_MEMORY), 1);
    cable_close(cable);
    scene_close(&scene);
}

// How much waits in the hub for the connection that has shown no credential.
static size_t waits_for_unknown(const struct scene *scene) {
    size_t most = 0;
    for (uint32_t index = 0; index < scene->world.shard_count; index++) {
        const struct peer_slots *peers = &scene->world.shards[index]->peers;
        for (uint32_t slot = 0; slot < peers->capacity; slot++)
            if (peers->slots[slot] && connection_waiting(&peers->slots[slot]->connection) > most)
                most = connection_waiting(&peers->slots[slot]->connection);
    }
    return most;
}

// Without a credential a peer that asks and reads nothing is read until 64 KiB wait for it, and on once it reads.
static void who_is_unknown_is_read_as_far_as_it_reads(void **state) {
    (void)state;
    static struct scene scene;
    static const char ask[] = "Content-Length: 37\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}";
    enum { ASKED = 20000, ASK_BYTES = sizeof ask - 1, SLACK_BYTES = 4096 };
    struct world_options options;
    struct hub_settings settings;
    static char answers[1 << 16];
    choose_users(&options, &settings, "[user a]\nrate = 1/s\n");
    options.secure = false;
    scene_open(&scene, &options);
    struct cable *cable = world_dial(&scene.world);
    for (unsigned count = 0; count < ASKED; count++)
        cable_write(cable, ask, ASK_BYTES);
    scene_settle(&scene);
    assert_true(counted(&scene, COUNT_BYTES_RECEIVED) < ASKED * ASK_BYTES / 2);
    assert_true(waits_for_unknown(&scene) >= CONFINED_BYTES_MAX);
    assert_true(waits_for_unknown(&scene) < CONFINED_BYTES_MAX + SLACK_BYTES);
    while (counted(&scene, COUNT_BYTES_RECEIVED) < ASKED * ASK_BYTES) {
        assert_true(cable_read(cable, answers, sizeof answers) > 0);
        scene_settle(&scene);
        assert_true(waits_for_unknown(&scene) < CONFINED_BYTES_MAX + SLACK_BYTES);
    }
    while (cable_read(cable, answers, sizeof answers) > 0)
        scene_settle(&scene);
    cable_close(cable);
    scene_settle(&scene);
    scene_check(&scene);
    scene_close(&scene);
}

// Returns the bytes that the hub holds, without those that lie at rest for the next peers.
static uint64_t bytes_in_use(const struct scene *scene) {
    for (uint32_t index = 0; index < scene->world.shard_count; index++) {
        buffer_pool_trim(&scene->world.shards[index]->buffers);
        parcel_pool_trim(&scene->world.shards[index]->parcels);
    }
    return atomic_load(&scene->world.hub->budget.bytes);
}

// Many connections without a credential ask and read nothing, by frames and arrays, each as it likes. After each step
// the test judges all that the hub holds for these connections, not only what waits for them.
static void play_strangers(uint64_t seed) {
    enum { STRANGERS = 24, STEPS = 400, MOST_BYTES = 52 * 1024, MEMBERS = 300, TEXT = 16 * 1024 };
    static const char member[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}";
    static struct scene scene;
    struct world_options options;
    struct hub_settings settings;
    static char frame[TEXT], array[TEXT], body[TEXT - 100];
    choose_users(&options, &settings, "[user a]\nrate = 1/s\n");
    options.secure = false;
    options.faults.window_bytes = 4096;
    scene_open(&scene, &options);
    struct random random;
    random_init(&random, seed);
    struct cable *cables[STRANGERS];
    size_t at = 0;
    for (unsigned count = 0; count < MEMBERS; count++)
        at += (size_t)snprintf(body + at, sizeof body - at, "%c%s", count ? ',' : '[', member);
    snprintf(body + at, sizeof body - at, "]");
    size_t array_bytes =
        (size_t)snprintf(array, sizeof array, "Content-Length: %zu\r\n\r\n%s", strlen(body), body);
    size_t frame_bytes =
        (size_t)snprintf(frame, sizeof frame, "Content-Length: %zu\r\n\r\n%s", strlen(member), member);
    assert_true(array_bytes < sizeof array);
    for (unsigned index = 0; index < STRANGERS; index++)
        cables[index] = world_dial(&scene.world);
    scene_settle(&scene);
    uint64_t before = bytes_in_use(&scene);
    for (unsigned step = 0; step < STEPS; step++) {
        struct cable *cable = cables[random_below(&random, STRANGERS)];
        if (random_below(&random, 8) == 0)
            cable_write(cable, array, array_bytes);
        for (unsigned count = random_below(&random, 200); count > 0; count--)
            cable_write(cable, frame, frame_bytes);
        for (unsigned turn = random_below(&random, 20); turn > 0; turn--)
            world_step(&scene.world);
        assert_true(bytes_in_use(&scene) < before + STRANGERS * MOST_BYTES);
    }
    scene_settle(&scene);
    assert_true(bytes_in_use(&scene) < before + STRANGERS * MOST_BYTES);
    for (unsigned index = 0; index < STRANGERS; index++)
        cable_close(cables[index]);
    scene_settle(&scene);
    scene_check(&scene);
    scene_close(&scene);
}

static void strangers_that_read_nothing_hold_little(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++)
        play_strangers(seed);
}

struct reload {
    struct scene *scene;
    struct hub_settings settings;
    unsigned count;
    bool changes; // the text of the users file, each time
};

static bool read_users_again(void *context, struct hub_settings *fresh) {
    struct reload *reload = context;
    const struct users *before =
        reload->count ? hub_settings(reload->scene->world.hub)->users : reload->settings.users;
    static const struct siphash_key key = {{1, 2}};
    char text[200];
    reload->count++;
    snprintf(text, sizeof text, "[user a]\nuid = 1000\nrate = %u/s\n[user u%u]\ncall = *\n", reload->count,
             reload->count % 7);
    fresh->users = reload->changes ? users_read(text, strlen(text), &key, before, no_complaint, NULL)
                                   : users_hold(reload->settings.users);
    return true;
}

// However often the configuration is read, the number of editions doesn't grow, nor that of references to their users.
// Nor does their memory, where each edition has another text.
static void read_again_and_again(bool changes) {
    static struct scene scene;
    static struct reload reload;
    reload = (struct reload){.scene = &scene, .changes = changes};
    enum { RELOADS = 100, EDITIONS_MAX = 3 };
    struct world_options options;
    struct hub_settings settings;
    choose_users(&options, &settings, "[user a]\nuid = 1000\n");
    settings.read_again = read_users_again;
    settings.read_context = &reload;
    reload.settings = settings;
    options.secure = false;
    scene_open(&scene, &options);
    for (unsigned count = 0; count < RELOADS; count++) {
        unsigned editions = 0;
        kernel_signal(scene.world.kernel, SIGHUP);
        scene_pass(&scene, 1000000);
        const struct hub_edition *edition = atomic_load(&scene.world.hub->edition);
        assert_int_equal(edition->number, count + 2);
        for (; edition; edition = edition->before)
            editions++;
        assert_true(editions <= EDITIONS_MAX);
        const struct users *users = hub_settings(scene.world.hub)->users;
        assert_true(atomic_load(&users->references) <= EDITIONS_MAX);
        assert_true(atomic_load(&users_at(users, 0)->references) <= EDITIONS_MAX);
    }
    scene_check(&scene);
    scene_close(&scene);
}

static void editions_that_nobody_reads_are_given_back(void **state) {
    (void)state;
    read_again_and_again(false);
}

static void users_files_that_nobody_reads_are_given_back(void **state) {
    (void)state;
    read_again_and_again(true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_split_at_every_byte),
        cmocka_unit_test(streams_are_cut_off_at_every_byte),
        cmocka_unit_test(records_are_changed_at_every_byte),
        cmocka_unit_test(handshakes_have_ten_seconds),
        cmocka_unit_test(handshakes_are_no_credentials),
        cmocka_unit_test(a_certificate_is_read_once),
        cmocka_unit_test(who_bears_a_certificate_may_be_silent),
        cmocka_unit_test(who_came_first_gives_way_first),
        cmocka_unit_test(who_is_silent_counts_by_a_certificate),
        cmocka_unit_test(who_is_silent_counts_by_a_uid),
        cmocka_unit_test(handshakes_wait_for_their_turn),
        cmocka_unit_test(a_half_close_is_said_and_answered),
        cmocka_unit_test(who_makes_the_cipher_talk_is_ended),
        cmocka_unit_test(who_is_unknown_is_read_as_far_as_it_reads),
        cmocka_unit_test(strangers_that_read_nothing_hold_little),
        cmocka_unit_test(editions_that_nobody_reads_are_given_back),
        cmocka_unit_test(users_files_that_nobody_reads_are_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
