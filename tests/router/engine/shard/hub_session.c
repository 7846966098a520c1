// The names under which connections are known: under a secret of their own, and one's tells nothing of
// another's.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "router/engine/shard/hub.h"

enum { SHARDS = 2, SLOTS = 30, GENERATIONS = 3, SESSIONS = SHARDS * SLOTS * GENERATIONS };

struct session {
    char name[HUB_SESSION_BYTES];
};

static void all_names(const struct hub_secrets *secrets, struct session *sessions) {
    struct hub hub = {.start_settings.secrets = *secrets};
    for (uint32_t index = 0; index < SESSIONS; index++)
        hub_session(&hub,
                    connection_id_make(index % SHARDS, index / SHARDS % SLOTS, 1 + index / SHARDS / SLOTS),
                    sessions[index].name);
}

static unsigned same(const struct session *left, const struct session *right) {
    unsigned count = 0;
    for (uint32_t one = 0; one < SESSIONS; one++)
        for (uint32_t other = 0; other < SESSIONS; other++)
            count += memcmp(&left[one], &right[other], sizeof *left) == 0;
    return count;
}

static void a_name_is_the_keyed_hash_of_the_connection(void **state) {
    (void)state;
    // SipHash-2-4-128 of 00 01 ... 07 under 00 01 ... 0f, by its authors' vectors.
    const struct hub hub = {
        .start_settings.secrets.sessions = {{UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)}}};
    char name[HUB_SESSION_BYTES];
    hub_session(&hub, UINT64_C(0x0706050403020100), name);
    assert_memory_equal(name, "3b62a9ba6258f5610f83e264f31497b4", sizeof name);
}

static void no_two_connections_have_the_same(void **state) {
    (void)state;
    static struct session sessions[SESSIONS];
    all_names(&(struct hub_secrets){.sessions = {{3, 4}}}, sessions);
    assert_int_equal(same(sessions, sessions), SESSIONS);
}

static void only_their_own_secret_counts(void **state) {
    (void)state;
    static struct session sessions[SESSIONS], others[SESSIONS];
    const struct hub_secrets secrets = {.tables = {{1, 2}}, .sessions = {{3, 4}}};
    all_names(&secrets, sessions);
    for (unsigned bit = 0; bit < 128; bit++) {
        struct hub_secrets changed = secrets;
        changed.tables.words[bit / 64] ^= UINT64_C(1) << bit % 64;
        all_names(&changed, others);
        assert_memory_equal(sessions, others, sizeof sessions);
        changed.sessions.words[bit / 64] ^= UINT64_C(1) << bit % 64;
        all_names(&changed, others);
        assert_int_equal(same(sessions, others), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_the_keyed_hash_of_the_connection),
        cmocka_unit_test(no_two_connections_have_the_same),
        cmocka_unit_test(only_their_own_secret_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
