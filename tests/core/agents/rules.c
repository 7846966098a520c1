// The routing rules, as a table: who is meant, and what is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/agents/rules.h"
#include "tests/core/base/account.h"

static uint32_t nothing_owed(const void *context, uint64_t connection) {
    (void)context, (void)connection;
    return 0;
}

static void put(struct agents *agents, const char *id, uint64_t connection, enum governance governance) {
    static const char capabilities[] =
        "{\"methods\":[\"work\",\"governance/approval\"],\"tools\":[\"ci\"],\"review\":true}";
    struct agent_profile profile = {
        .connection = connection, .id = id, .id_bytes = strlen(id), .governance = governance};
    assert_non_null(put_offer(agents, &profile, capabilities, sizeof capabilities - 1));
}

enum target { ABSENT, STRING, TOO_LONG, NOT_A_STRING };

static struct rules_field field(enum target given, const char *text) {
    return (struct rules_field){.is_present = given != ABSENT,
                                .is_string = given == STRING || given == TOO_LONG,
                                .text = text,
                                .bytes = text ? strlen(text) : 0};
}

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
        {"work", STRING, "@review", GOVERNANCE_AUTONOMOUS, 1, ERROR_NONE, "strict"}, // not itself
        {"work", STRING, "@review", GOVERNANCE_AUTONOMOUS, 2, ERROR_NONE, "loose"},
        {"work", STRING, "@work", GOVERNANCE_AUTONOMOUS, 9, ERROR_AGENT_NOT_FOUND, NULL}, // no capability
        {"work", STRING, "@", GOVERNANCE_AUTONOMOUS, 9, ERROR_AGENT_NOT_FOUND, NULL},
        {"work", TOO_LONG, NULL, GOVERNANCE_AUTONOMOUS, 9, ERROR_AGENT_NOT_FOUND, NULL},
        {"work", NOT_A_STRING, NULL, GOVERNANCE_AUTONOMOUS, 9, ERROR_INVALID_PARAMS, NULL},
        {"work", ABSENT, NULL, GOVERNANCE_AUTONOMOUS, 1, ERROR_NONE, "strict"}, // not itself
        {"work", ABSENT, NULL, GOVERNANCE_AUTONOMOUS, 2, ERROR_NONE, "loose"},
        {"play", ABSENT, NULL, GOVERNANCE_AUTONOMOUS, 9, ERROR_METHOD_NOT_FOUND, NULL},
        {NULL, ABSENT, NULL, GOVERNANCE_AUTONOMOUS, 9, ERROR_METHOD_NOT_FOUND, NULL},
        {NULL, STRING, "loose", GOVERNANCE_AUTONOMOUS, 9, ERROR_NONE, "loose"},
        {"", ABSENT, NULL, GOVERNANCE_AUTONOMOUS, 9, ERROR_METHOD_NOT_FOUND, NULL},
        {"anything", STRING, "loose", GOVERNANCE_HUMAN, 9, ERROR_GOVERNANCE_VIOLATION, "loose"},
        {"work", ABSENT, NULL, GOVERNANCE_MANUAL, 2, ERROR_GOVERNANCE_VIOLATION, "loose"},
        {"work", ABSENT, NULL, GOVERNANCE_HUMAN, 9, ERROR_NONE, "strict"}, // the only one that may
        {"work", ABSENT, NULL, GOVERNANCE_HUMAN, 9, ERROR_NONE, "strict"}, // it isn't the other's turn
        {"work", STRING, "@review", GOVERNANCE_MANUAL, 9, ERROR_NONE, "strict"},
        {"work", STRING, "@review", GOVERNANCE_MANUAL, 9, ERROR_NONE, "strict"},
        {"work", STRING, "@review", GOVERNANCE_MANUAL, 2, ERROR_GOVERNANCE_VIOLATION, "loose"},
        {"anything", STRING, "loose", GOVERNANCE_SUPERVISED, 9, ERROR_NONE, "loose"},
    };
    struct agents agents;
    agents_init(&agents, &TABLE_KEY, account());
    put(&agents, "loose", 1, GOVERNANCE_SUPERVISED);
    put(&agents, "strict", 2, GOVERNANCE_MANUAL);
    for (size_t index = 0; index < sizeof table / sizeof *table; index++) {
        struct rules_message message = {.method = table[index].method,
                                        .method_bytes = table[index].method ? strlen(table[index].method) : 0,
                                        .target = field(table[index].given, table[index].target),
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

// Rules that read a second field: what it says, and who gets the message.
static void tools_and_approvers(void **state) {
    (void)state;
    static const struct {
        const char *method;
        enum target given;
        const char *text;
        enum error error;
        const char *agent;
    } table[] = {
        {"tool/integration", STRING, "ci", ERROR_NONE, "only"},
        {"tool/integration", STRING, "cd", ERROR_TOOL, NULL},
        {"tool/integration", STRING, "review", ERROR_TOOL, NULL}, // a capability is no tool
        {"tool/integration", TOO_LONG, NULL, ERROR_TOOL, NULL},
        {"tool/integration", NOT_A_STRING, NULL, ERROR_INVALID_PARAMS, NULL},
        {"tool/integration", ABSENT, NULL, ERROR_INVALID_PARAMS, NULL},
        {"governance/approval", STRING, "human", ERROR_NONE, "human"},
        {"governance/approval", STRING, "nobody", ERROR_NONE, "only"}, // then by method
        {"governance/approval", ABSENT, NULL, ERROR_NONE, "only"},
    };
    struct agents agents;
    agents_init(&agents, &TABLE_KEY, account());
    put(&agents, "only", 1, GOVERNANCE_MANUAL);
    struct agent_profile human = {.connection = 2, .id = "human", .id_bytes = 5};
    assert_non_null(put_offer(&agents, &human, "{}", 2));
    for (size_t index = 0; index < sizeof table / sizeof *table; index++) {
        struct rules_message message = {
            .method = table[index].method, .method_bytes = strlen(table[index].method), .source = 9};
        assert_true(rules_is_tool_call(&message) != rules_is_approval(&message));
        *(rules_is_tool_call(&message) ? &message.tool : &message.approver) =
            field(table[index].given, table[index].text);
        struct rules_verdict verdict = rules_route(&agents, &message, nothing_owed, NULL);
        assert_int_equal(verdict.error, table[index].error);
        assert_int_equal(verdict.stands_in, table[index].text && strcmp(table[index].text, "nobody") == 0);
        assert_true(verdict.error != ERROR_INVALID_PARAMS || strcmp(verdict.field, "params.tool") == 0);
        if (table[index].agent)
            assert_memory_equal(verdict.agent->id, table[index].agent, strlen(table[index].agent));
        else
            assert_null(verdict.agent);
    }
    agents_deinit(&agents);
}

static const char *chosen(struct agents *agents, const char *target) {
    struct rules_message message = {
        .method = "m", .method_bytes = 1, .source = 9, .target = field(STRING, target)};
    struct rules_verdict verdict = rules_route(agents, &message, nothing_owed, NULL);
    return verdict.agent ? verdict.agent->id : "";
}

static void offer_child(struct agents *agents, const char *id, uint64_t connection, bool resting,
                        bool absent) {
    struct agent_profile profile = {.connection = connection,
                                    .id = id,
                                    .id_bytes = strlen(id),
                                    .pool_bytes = 4,
                                    .resting = resting,
                                    .absent = absent};
    assert_non_null(put_offer(agents, &profile, "{}", 2));
}

// The instances of a child: who runs comes first, in turn; who is absent is nobody.
static void a_pool(void **state) {
    (void)state;
    struct agents agents;
    agents_init(&agents, &TABLE_KEY, account());
    offer_child(&agents, "pool", 1, true, false);
    assert_memory_equal(chosen(&agents, "pool"), "pool", 4); // it waits for it
    offer_child(&agents, "pool#1", 2, false, false);
    offer_child(&agents, "pool#2", 3, false, false);
    assert_memory_equal(chosen(&agents, "pool"), "pool#1", 6);
    assert_memory_equal(chosen(&agents, "pool"), "pool#2", 6);
    assert_memory_equal(chosen(&agents, "pool"), "pool#1", 6);
    offer_child(&agents, "pool", 1, false, false);
    assert_string_equal(chosen(&agents, "pool#2"), ""); // which is no name to be said
    offer_child(&agents, "pool", 1, true, true);
    offer_child(&agents, "pool#1", 2, true, true);
    assert_memory_equal(chosen(&agents, "pool"), "pool#2", 6);
    offer_child(&agents, "pool#2", 3, true, true);
    assert_string_equal(chosen(&agents, "pool"), "");
    agents_deinit(&agents);
}

// An agent that is for peers at its own hub is nobody for a peer of another one, by whatever address.
static void who_is_for_its_own_hub(void **state) {
    static const char capabilities[] = "{\"methods\":[\"m\"],\"tools\":[\"t\"],\"c\":true}";
    static const char *const targets[] = {"own", "@c"};
    struct agents agents;
    (void)state;
    agents_init(&agents, &TABLE_KEY, account());
    struct agent_profile own = {.connection = 1, .id = "own", .id_bytes = 3, .local_only = true};
    assert_non_null(put_offer(&agents, &own, capabilities, sizeof capabilities - 1));
    for (unsigned is_remote = 0; is_remote < 2; is_remote++) {
        struct rules_message message = {
            .method = "m", .method_bytes = 1, .source = 9, .is_remote = is_remote};
        assert_int_equal(rules_route(&agents, &message, nothing_owed, NULL).error,
                         is_remote ? ERROR_METHOD_NOT_FOUND : ERROR_NONE);
        for (unsigned at = 0; at < 2; at++) {
            message.target = field(STRING, targets[at]);
            assert_int_equal(rules_route(&agents, &message, nothing_owed, NULL).error,
                             is_remote ? ERROR_AGENT_NOT_FOUND : ERROR_NONE);
        }
    }
    agents_deinit(&agents);
}

static void an_event_is_one_that_names_no_agent(void **state) {
    (void)state;
    struct rules_message message = {.method = "event", .method_bytes = 5};
    assert_true(rules_is_event(&message));
    message.target = field(STRING, "agent");
    assert_false(rules_is_event(&message));
    message.target = field(NOT_A_STRING, NULL);
    assert_false(rules_is_event(&message));
    message = (struct rules_message){.method = "events", .method_bytes = 6};
    assert_false(rules_is_event(&message));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table),
        cmocka_unit_test(tools_and_approvers),
        cmocka_unit_test(a_pool),
        cmocka_unit_test(who_is_for_its_own_hub),
        cmocka_unit_test(an_event_is_one_that_names_no_agent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
