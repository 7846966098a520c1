// Talks of the simulated NATS server with its clients, word for word. With --real the same talks are had with
// a nats-server, so that the one can stand for the other.
//
// A line of a talk is a client's letter and its act. `> text` sends it (a line; | stands for a line's end in
// it). `< text` is the next line that it is sent, or several. `nothing`: a PING is answered next. `over`: the
// server closes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sim/broker.h"

enum { CLIENTS_MAX = 4, ROOM = 65536, PATIENCE_MS = 10000 };

#define GREETING "CONNECT {\"verbose\":false,\"headers\":true,\"no_responders\":true,\"echo\":false}|PING"

static const char *const plain_talk[] = {"a > " GREETING,
                                         "a < PONG",
                                         "b > CONNECT {\"verbose\":false}|SUB x.* 1|SUB x.> 2|SUB y 3|PING",
                                         "b < PONG",
                                         "a > PUB x.y 1|m|PING",
                                         "a < PONG",
                                         "b has 2 MSG x.y",
                                         "a > PUB x.y.z back.1 0||PING",
                                         "a < PONG",
                                         "b < MSG x.y.z 2 back.1 0|",
                                         "b > UNSUB 2|PING",
                                         "b < PONG",
                                         "a > PUB x.y.z 1|m|PING",
                                         "a < PONG",
                                         "b nothing",
                                         "b > UNSUB 3 2|PING",
                                         "b < PONG",
                                         "a > pub y 1|1|PUB  y  1|2|PUB y 1|3|PING",
                                         "a < PONG",
                                         "b < MSG y 3 1|1|MSG y 3 1|2",
                                         "b nothing",
                                         NULL};

static const char *const head_talk[] = {"a > " GREETING,
                                        "a < PONG",
                                        "b > " GREETING,
                                        "b < PONG",
                                        "c > CONNECT {\"verbose\":false}|PING",
                                        "c < PONG",
                                        "b > SUB x 1|PING",
                                        "b < PONG",
                                        "c > SUB x 9|PING",
                                        "c < PONG",
                                        "a > HPUB x r.1 18 20|NATS/1.0|A: b||hi|PING",
                                        "a < PONG",
                                        "b < HMSG x 1 r.1 18 20|NATS/1.0|A: b||hi",
                                        "c < MSG x 9 r.1 2|hi",
                                        NULL};

static const char *const nobody_talk[] = {
    "a > " GREETING,
    "a < PONG",
    "a > SUB in.* 4|PUB not.there in.7 2|hi|PING",
    "a < HMSG in.7 4 16 16|NATS/1.0 503|||PONG",
    "a > SUB own 5|PUB own in.8 2|hi|PING",
    "a < HMSG in.8 4 16 16|NATS/1.0 503|||PONG",
    "a > PUB not.there 2|hi|PING",
    "a < PONG",
    "a > UNSUB 4|SUB in.* group 6|PUB not.there in.9 2|hi|PING",
    "a < PONG",
    "b > " GREETING,
    "b < PONG",
    "b > SUB own q 1|PING",
    "b < PONG",
    "a > PUB own in.10 2|hi|PING",
    "a < PONG",
    "b < MSG own 1 in.10 2|hi",
    "c > CONNECT {\"verbose\":false,\"headers\":true}|SUB in.* 1|PUB not.there in.1 1|x|PING",
    "c < PONG",
    NULL};

static const char *const group_talk[] = {
    "a > " GREETING,
    "a < PONG",
    "b > " GREETING,
    "b < PONG",
    "b > SUB e.* one 1|SUB e.x one 2|SUB e.> two 3|SUB e.x 4|UNSUB 2|PING",
    "b < PONG",
    "a > PUB e.x 1|m|PING",
    "a < PONG",
    "b has 3 MSG e.x",
    "b nothing",
    NULL};

static const char *const echo_talk[] = {"a > CONNECT {\"verbose\":false}|SUB x 1|PUB x 1|m|PING",
                                        "a < MSG x 1 1|m|PONG",
                                        "b > CONNECT {\"verbose\":true}",
                                        "b < +OK",
                                        "b > SUB x 1|PUB y 1|m|UNSUB 1|PING",
                                        "b < +OK|+OK|+OK|PONG",
                                        NULL};

static const char *const fault_talk[] = {"a > " GREETING,
                                         "a < PONG",
                                         "a > HELLO",
                                         "a < -ERR 'Unknown Protocol Operation'",
                                         "a over",
                                         "b > " GREETING,
                                         "b < PONG",
                                         "b > PUB x 3000000",
                                         "b < -ERR 'Maximum Payload Violation'",
                                         "b over",
                                         "c > CONNECT {\"verbose\":false}|PING",
                                         "c < PONG",
                                         "c > SUB x..y 1|PING",
                                         "c < -ERR 'Invalid Subject'|PONG",
                                         "c > SUB x.>.y 1|PING",
                                         "c < -ERR 'Invalid Subject'|PONG",
                                         NULL};

// --- The two that can be talked to

static bool real;
static int port;
static struct random chance;
static struct brokers *brokers;

struct talker {
    struct broker_client *client;
    int socket;
    char in[ROOM];
    size_t count;
    bool over;
};
static struct talker talkers[CLIENTS_MAX];

static int dial_real(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (unsigned tries = 0; tries < PATIENCE_MS / 20; tries++) {
        int dialled = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(dialled, (struct sockaddr *)&address, sizeof address) == 0)
            return dialled;
        close(dialled);
        poll(NULL, 0, 20); // it is starting
    }
    return -1;
}

// A server asks when it likes for a sign of life; what is no more than the beginning of that is completed first.
static bool drop_pings(struct talker *talker) {
    static const char ping[] = "PING\r\n";
    char *found;
    talker->in[talker->count] = '\0';
    while ((found = strstr(talker->in, ping))) {
        memmove(found, found + 6, talker->count - (size_t)(found - talker->in) - 5);
        talker->count -= 6;
    }
    for (size_t count = 1; count < 6 && count <= talker->count; count++)
        if (memcmp(talker->in + talker->count - count, ping, count) == 0)
            return false;
    return true;
}

static bool more(struct talker *talker) {
    char *to = talker->in + talker->count;
    size_t room = ROOM - 1 - talker->count;
    if (!real) {
        size_t count = broker_say(talker->client, to, room);
        talker->count += count;
        talker->over |= !count && broker_over(talker->client);
    } else if (poll(&(struct pollfd){.fd = talker->socket, .events = POLLIN}, 1, PATIENCE_MS) == 1) {
        ssize_t count = recv(talker->socket, to, room, 0);
        talker->count += count > 0 ? (size_t)count : 0;
        talker->over |= count <= 0;
        return drop_pings(talker) || count <= 0 ? count > 0 : more(talker);
    } else {
        return false;
    }
    talker->in[talker->count] = '\0';
    return to < talker->in + talker->count;
}

// The next bytes, once there are so many; their number else.
static size_t await(struct talker *talker, size_t count) {
    while (talker->count < count && more(talker))
        ;
    return talker->count < count ? talker->count : count;
}

static void drop(struct talker *talker, size_t count) {
    memmove(talker->in, talker->in + count, talker->count - count);
    talker->count -= count;
}

static void say(struct talker *talker, const char *bytes, size_t count) {
    if (real)
        assert_int_equal(send(talker->socket, bytes, count, MSG_NOSIGNAL), count);
    else
        broker_hear(talker->client, bytes, count);
}

static void join(struct talker *talker) {
    if (real)
        talker->socket = dial_real();
    else
        talker->client = broker_join(brokers, 0);
    assert_true(real ? talker->socket >= 0 : talker->client != NULL);
    char *end;
    do {
        assert_true(await(talker, talker->count + 1) > 0);
        talker->in[talker->count] = '\0';
    } while (!(end = strstr(talker->in, "\r\n")));
    assert_memory_equal(talker->in, "INFO {", 6);
    drop(talker, (size_t)(end + 2 - talker->in));
}

static void leave(struct talker *talker) {
    if (talker->client)
        broker_leave(talker->client);
    if (talker->socket > 0)
        close(talker->socket);
    *talker = (struct talker){0};
}

// --- Talks

static size_t with_ends(const char *text, char *out) {
    size_t count = 0;
    for (; *text; text++) {
        if (*text == '|')
            out[count++] = '\r';
        out[count++] = *text == '|' ? '\n' : *text;
    }
    memcpy(out + count, "\r\n", 3);
    return count + 2;
}

static void expect(struct talker *talker, const char *text) {
    char wanted[ROOM];
    size_t count = with_ends(text, wanted);
    size_t came = await(talker, count);
    if (came != count || memcmp(talker->in, wanted, count) != 0)
        fail_msg("%s was to come, and it was: %.*s", wanted, (int)talker->count, talker->in);
    drop(talker, count);
}

// Expects so many messages with this beginning, in any order.
static void expect_several(struct talker *talker, const char *text) {
    char *end;
    unsigned long count = strtoul(text, &end, 10);
    const char *beginning = end + 1;
    for (unsigned long number = 0; number < count; number++) {
        char *line;
        while (!(line = strstr(talker->in, "\r\nm\r\n")))
            assert_true(more(talker));
        assert_memory_equal(talker->in, beginning, strlen(beginning));
        drop(talker, (size_t)(line + 5 - talker->in));
        talker->in[talker->count] = '\0';
    }
}

static void play_line(const char *line) {
    char bytes[ROOM];
    struct talker *talker = &talkers[line[0] - 'a'];
    if (!talker->client && !talker->socket)
        join(talker);
    if (line[2] == '>') {
        say(talker, bytes, with_ends(line + 4, bytes));
    } else if (line[2] == '<') {
        expect(talker, line + 4);
    } else if (strncmp(line + 2, "has ", 4) == 0) {
        expect_several(talker, line + 6);
    } else if (strcmp(line + 2, "nothing") == 0) {
        say(talker, "PING\r\n", 6);
        expect(talker, "PONG");
    } else {
        while (!talker->over && more(talker))
            ;
        assert_true(talker->over);
    }
}

static void talk(void **state) {
    random_init(&chance, 1);
    if (!real)
        brokers = brokers_open(&(struct broker_options){.count = 1}, &chance);
    for (const char *const *line = *state; *line; line++)
        play_line(*line);
    for (unsigned index = 0; index < CLIENTS_MAX; index++)
        leave(&talkers[index]);
    if (!real)
        brokers_close(brokers);
}

// --- Talks of the one alone

static void open_cluster(uint32_t count) {
    random_init(&chance, 1);
    brokers = brokers_open(&(struct broker_options){.count = count}, &chance);
}

static void close_cluster(void) {
    for (unsigned index = 0; index < CLIENTS_MAX; index++)
        leave(&talkers[index]);
    brokers_close(brokers);
}

static void join_at(unsigned letter, uint32_t server) {
    talkers[letter].client = broker_join(brokers, server);
    assert_non_null(talkers[letter].client);
    await(&talkers[letter], SIZE_MAX);
    talkers[letter].count = 0;
    play_line(letter ? "b > " GREETING : "a > " GREETING);
    play_line(letter ? "b < PONG" : "a < PONG");
}

static void routes_carry_and_are_cut(void **state) {
    (void)state;
    open_cluster(2);
    join_at(0, 0);
    join_at(1, 1);
    play_line("b > SUB x q 1|SUB x 2|PING");
    play_line("b < PONG");
    play_line("a > SUB in 1|PUB x in 1|m|PING"); // nobody has told it yet
    play_line("a < HMSG in 1 16 16|NATS/1.0 503|||PONG");
    while (brokers_step(brokers))
        ;
    play_line("a > PUB x in 1|m|PING");
    play_line("a < PONG");
    play_line("b nothing");
    while (brokers_step(brokers))
        ;
    play_line("b has 2 MSG x");
    brokers_cut(brokers, 0, 1, true);
    play_line("a > PUB x in 1|m|PING");
    play_line("a < HMSG in 1 16 16|NATS/1.0 503|||PONG");
    brokers_cut(brokers, 0, 1, false);
    while (brokers_step(brokers))
        ;
    play_line("a > PUB x in 1|m|PING");
    play_line("a < PONG");
    close_cluster();
}

static void who_is_killed_is_over_and_forgotten(void **state) {
    (void)state;
    open_cluster(2);
    join_at(0, 0);
    join_at(1, 1);
    play_line("b > SUB x 2|PING");
    play_line("b < PONG");
    while (brokers_step(brokers))
        ;
    broker_kill(brokers, 1);
    assert_true(broker_over(talkers[1].client));
    assert_null(broker_join(brokers, 1));
    play_line("a > SUB in 1|PUB x in 1|m|PING");
    play_line("a < HMSG in 1 16 16|NATS/1.0 503|||PONG");
    broker_start(brokers, 1);
    leave(&talkers[1]);
    join_at(1, 1);
    close_cluster();
}

static void who_is_too_slow_is_closed(void **state) {
    (void)state;
    random_init(&chance, 1);
    brokers = brokers_open(&(struct broker_options){.count = 1, .waiting_max = 700}, &chance);
    join_at(0, 0);
    join_at(1, 0);
    play_line("b > SUB x 2|SUB x 3|PING");
    play_line("b < PONG");
    for (unsigned number = 0; number < 40; number++)
        play_line("a > PUB x 1|m");
    assert_true(broker_over(talkers[1].client));
    assert_int_equal(broker_subscriptions(talkers[1].client), 0);
    close_cluster();
}

// --- The real one

static pid_t start_real(void) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t bytes = sizeof address;
    char text[16];
    int taken = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(taken, (struct sockaddr *)&address, bytes) ||
        getsockname(taken, (struct sockaddr *)&address, &bytes))
        abort();
    port = ntohs(address.sin_port);
    snprintf(text, sizeof text, "%d", port);
    close(taken);
    pid_t child = fork();
    if (child == 0) {
        execlp("nats-server", "nats-server", "-a", "127.0.0.1", "-p", text, "-l", "/dev/null", (char *)NULL);
        _exit(127);
    }
    return child;
}

int main(int argc, char **argv) {
    real = argc > 1 && strcmp(argv[1], "--real") == 0;
    const struct CMUnitTest talks[] = {
        {"messages", talk, NULL, NULL, (void *)(uintptr_t)plain_talk},
        {"headers", talk, NULL, NULL, (void *)(uintptr_t)head_talk},
        {"no responders", talk, NULL, NULL, (void *)(uintptr_t)nobody_talk},
        {"queue groups", talk, NULL, NULL, (void *)(uintptr_t)group_talk},
        {"echo and verbose", talk, NULL, NULL, (void *)(uintptr_t)echo_talk},
        {"faults", talk, NULL, NULL, (void *)(uintptr_t)fault_talk},
    };
    const struct CMUnitTest alone[] = {
        cmocka_unit_test(routes_carry_and_are_cut),
        cmocka_unit_test(who_is_killed_is_over_and_forgotten),
        cmocka_unit_test(who_is_too_slow_is_closed),
    };
    pid_t server = real ? start_real() : 0;
    int failed = cmocka_run_group_tests(talks, NULL, NULL);
    if (!real)
        return failed + cmocka_run_group_tests(alone, NULL, NULL);
    kill(server, SIGTERM);
    waitpid(server, NULL, 0);
    return failed;
}
