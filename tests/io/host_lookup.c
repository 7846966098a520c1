// Lookups of hosts on real sockets; the test is the resolver.
#include "io/host_lookup.h"

#include <netdb.h>
#include <netinet/in.h>

#include "tests/io/fixture.h"

enum { TOKEN = 7, PORT = 4222 };

// A lookup and the resolver's end of its socket.
struct stage {
    struct io *io;
    struct host_lookup lookup;
    struct resolver resolver;
    int end;
};

static void stage_begin(struct stage *stage, void **state) {
    int pair[2];
    *stage = (struct stage){.io = ((struct fixture *)*state)->io};
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    stage->resolver.socket = pair[0];
    stage->end = pair[1];
    host_lookup_init(&stage->lookup, stage->io, &stage->resolver, TOKEN);
}

static enum host_lookup_step step(struct stage *stage) {
    struct io_event event = wait_event(stage->io);
    assert_int_equal(event.token, TOKEN);
    return host_lookup_take(&stage->lookup, &event);
}

static void stage_end(struct stage *stage) {
    host_lookup_stop(&stage->lookup);
    host_lookup_stop(&stage->lookup);
    while (stage->lookup.receives)
        assert_int_equal(step(stage), HOST_LOOKUP_OPEN);
    io_close_socket(stage->io, stage->resolver.socket);
    if (stage->end >= 0)
        close(stage->end);
}

static void ask(struct stage *stage, const char *name) {
    assert_true(host_lookup_ask(&stage->lookup, name, PORT));
    io_run(stage->io, 0);
}

static struct resolver_question question_of(const struct stage *stage) {
    struct resolver_question question;
    assert_int_equal(recv(stage->end, &question, sizeof question, 0), sizeof question);
    assert_int_equal(question.port, PORT);
    return question;
}

// Addresses are told apart by their ports.
static void answer(const struct stage *stage, uint32_t number, uint32_t count, int fault) {
    struct resolver_answer answer = {.number = number, .count = count, .fault = fault};
    for (uint32_t at = 0; at < count && at < RESOLVER_ADDRESSES_MAX; at++) {
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)(PORT + at))};
        memcpy(&answer.addresses[at].address, &address, sizeof address);
        answer.addresses[at].bytes = sizeof address;
    }
    assert_int_equal(send(stage->end, &answer, sizeof answer, 0), sizeof answer);
}

static int port_of(const struct stage *stage) {
    uint32_t bytes = 0;
    const struct sockaddr *address = host_lookup_address(&stage->lookup, &bytes);
    struct sockaddr_in found;
    if (!address)
        return -1;
    assert_int_equal(bytes, sizeof found);
    memcpy(&found, address, sizeof found);
    return ntohs(found.sin_port);
}

static void each_address_is_tried_once(void **state) {
    struct stage stage;
    stage_begin(&stage, state);
    ask(&stage, "a.example");
    struct resolver_question question = question_of(&stage);
    assert_string_equal(question.host, "a.example");
    assert_int_equal(port_of(&stage), -1);
    answer(&stage, question.number, 2, 0);
    assert_int_equal(step(&stage), HOST_LOOKUP_KNOWN);
    assert_int_equal(port_of(&stage), PORT);
    assert_true(host_lookup_advance(&stage.lookup));
    assert_int_equal(port_of(&stage), PORT + 1);
    assert_false(host_lookup_advance(&stage.lookup));
    assert_int_equal(port_of(&stage), -1);
    stage_end(&stage);
}

static void a_name_without_address_says_why(void **state) {
    struct stage stage;
    stage_begin(&stage, state);
    ask(&stage, "a");
    assert_string_equal(host_lookup_fault(&stage.lookup), "its name isn't known in time");
    answer(&stage, question_of(&stage).number, 0, EAI_NONAME);
    assert_int_equal(step(&stage), HOST_LOOKUP_KNOWN);
    assert_int_equal(port_of(&stage), -1);
    assert_string_equal(host_lookup_fault(&stage.lookup), gai_strerror(EAI_NONAME));
    ask(&stage, "b");
    answer(&stage, question_of(&stage).number, 0, 0);
    assert_int_equal(step(&stage), HOST_LOOKUP_KNOWN);
    assert_string_equal(host_lookup_fault(&stage.lookup), "its name has no address");
    stage_end(&stage);
}

// Answers to earlier questions, second answers, and what is no answer.
static void other_answers_change_nothing(void **state) {
    struct stage stage;
    stage_begin(&stage, state);
    ask(&stage, "a");
    uint32_t former = question_of(&stage).number;
    ask(&stage, "b");
    uint32_t number = question_of(&stage).number;
    assert_true(number != former);
    answer(&stage, former, 1, 0);
    assert_int_equal(step(&stage), HOST_LOOKUP_OPEN);
    assert_int_equal(send(stage.end, &number, sizeof number, 0), sizeof number);
    assert_int_equal(step(&stage), HOST_LOOKUP_OPEN);
    answer(&stage, number, RESOLVER_ADDRESSES_MAX + 1, 0);
    assert_int_equal(step(&stage), HOST_LOOKUP_OPEN);
    assert_int_equal(port_of(&stage), -1);
    answer(&stage, number, 1, 0);
    assert_int_equal(step(&stage), HOST_LOOKUP_KNOWN);
    answer(&stage, number, 2, 0);
    assert_int_equal(step(&stage), HOST_LOOKUP_OPEN);
    assert_false(host_lookup_advance(&stage.lookup));
    ask(&stage, "c");
    number = question_of(&stage).number;
    host_lookup_forget(&stage.lookup);
    answer(&stage, number, 1, 0);
    assert_int_equal(step(&stage), HOST_LOOKUP_OPEN);
    assert_int_equal(port_of(&stage), -1);
    stage_end(&stage);
}

// A question behind a stop is heard, also while the stop is under way.
static void a_lookup_goes_on_after_a_stop(void **state) {
    struct stage stage;
    stage_begin(&stage, state);
    ask(&stage, "a");
    question_of(&stage);
    host_lookup_stop(&stage.lookup);
    ask(&stage, "b");
    uint32_t number = question_of(&stage).number;
    answer(&stage, number, 1, 0);
    enum host_lookup_step last = HOST_LOOKUP_OPEN;
    for (int events = 0; events < 3 && last == HOST_LOOKUP_OPEN; events++)
        last = step(&stage);
    assert_int_equal(last, HOST_LOOKUP_KNOWN);
    host_lookup_stop(&stage.lookup);
    while (stage.lookup.receives)
        assert_int_equal(step(&stage), HOST_LOOKUP_OPEN);
    ask(&stage, "c");
    answer(&stage, question_of(&stage).number, 1, 0);
    assert_int_equal(step(&stage), HOST_LOOKUP_KNOWN);
    stage_end(&stage);
}

static void a_resolver_that_has_ended_is_asked_no_more(void **state) {
    struct stage stage;
    stage_begin(&stage, state);
    ask(&stage, "a");
    close(stage.end);
    stage.end = -1;
    assert_int_equal(step(&stage), HOST_LOOKUP_GONE);
    assert_false(stage.lookup.receives);
    assert_false(host_lookup_ask(&stage.lookup, "b", PORT));
    assert_string_equal(host_lookup_fault(&stage.lookup),
                        "the process that looks names up has ended: restart the hub");
    stage_end(&stage);
}

int main(int argc, char **argv) {
    choose_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_address_is_tried_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_name_without_address_says_why, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_answers_change_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lookup_goes_on_after_a_stop, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_resolver_that_has_ended_is_asked_no_more, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
