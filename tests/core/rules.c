// The routing rules, as a table: who is meant, and what is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/rules.h"

static uint32_t nothing_owed(const void *context, uint64_t connection) {
    (void)context, (void)connection;
    return 0;
}

static void put(struct agents *agents, const char *id, uint64_t connection, enum governance governance) {
    char capabilities[128] = "{\"methods\":[\"work\"]}";
    struct agent_offer offer = {.connection = connection,
                                .id = id,
                                .id_bytes = strlen(id),
                                .capabilities = capabilities,
                                .capabilities_bytes = strlen(capabilities),
                                .governance = governance};
    assert_non_null(agents_put(agents, &offer));
}

enum target { ABSENT, STRING, TOO_LONG, NOT_A_STRING };

static void the_table(void **state) {
    (void)state;
    static const struct {
        const char *method;
        enum target given;
        const char *target;
        enum governance required;
        uint64_t source;
        enum error error;
        const char *agent; // NULL: none
    } table[] = {
        {"anything", STRING, "loose", GOVERNANCE_AUTONOMOUS, 9, ERROR_NONE, "loose"},
        {"anything", STRING, "strict", GOVERNANCE_MANUAL, 9, ERROR_NONE, "strict"},
        {"work", STRING, "strict", GOVERNANCE_AUTONOMOUS, 9, ERROR_NONE, "strict"},
        {"anything", STRING, "loose", GOVERNANCE_AUTONOMOUS, 1, ERROR_NONE, "loose"}, // itself, by name
        {"work", STRING, "nobody", GOVERNANCE_AUTONOMOUS, 9, ERROR_AGENT_NOT_FOUND, NULL},
        {"work", STRING, "loos", GOVERNANCE_AUTONOMOUS, 9, ERROR_AGENT_NOT_FOUND, NULL},
        {"work", STRING, "", GOVERNANCE_AUTONOMOUS, 9, ERROR_AGENT_NOT_FOUND, NULL},
        {"work", TOO_LONG, NULL, GOVERNANCE_AUTONOMOUS, 9, ERROR_AGENT_NOT_FOUND, NULL},
        {"work", NOT_A_STRING, NULL, GOVERNANCE_AUTONOMOUS, 9, ERROR_INVALID_PARAMS, NULL},
        {"work", ABSENT, NULL, GOVERNANCE_AUTONOMOUS, 1, ERROR_NONE, "strict"}, // not itself
        {"work", ABSENT, NULL, GOVERNANCE_AUTONOMOUS, 2, ERROR_NONE, "loose"},
        {"play", ABSENT, NULL, GOVERNANCE_AUTONOMOUS, 9, ERROR_METHOD_NOT_FOUND, NULL},
        {"", ABSENT, NULL, GOVERNANCE_AUTONOMOUS, 9, ERROR_METHOD_NOT_FOUND, NULL},
        {"anything", STRING, "loose", GOVERNANCE_HUMAN, 9, ERROR_GOVERNANCE_VIOLATION, "loose"},
        {"work", ABSENT, NULL, GOVERNANCE_MANUAL, 2, ERROR_GOVERNANCE_VIOLATION, "loose"},
        {"anything", STRING, "loose", GOVERNANCE_SUPERVISED, 9, ERROR_NONE, "loose"},
    };
    struct agents agents;
    agents_init(&agents, 1);
    put(&agents, "loose", 1, GOVERNANCE_SUPERVISED);
    put(&agents, "strict", 2, GOVERNANCE_MANUAL);
    for (size_t index = 0; index < sizeof table / sizeof *table; index++) {
        struct rules_message message = {.method = table[index].method,
                                        .method_bytes = strlen(table[index].method),
                                        .target_given = table[index].given != ABSENT,
                                        .target_is_string = table[index].given != NOT_A_STRING,
                                        .target = table[index].target,
                                        .target_bytes = table[index].target ? strlen(table[index].target) : 0,
                                        .required = table[index].required,
                                        .source = table[index].source};
        struct rules_verdict verdict = rules_route(&agents, &message, nothing_owed, NULL);
        assert_int_equal(verdict.error, table[index].error);
        assert_int_equal(verdict.agent != NULL, table[index].agent != NULL);
        if (!verdict.agent)
            continue;
        assert_int_equal(verdict.agent->id_bytes, strlen(table[index].agent));
        assert_memory_equal(verdict.agent->id, table[index].agent, verdict.agent->id_bytes);
    }
    agents_deinit(&agents);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
