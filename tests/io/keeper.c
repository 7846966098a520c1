// The keeper on a real kernel: what a program is started with, what is reported of the program, and who is left without
// the hub.
#include "io/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/io.h"

enum { PATIENCE_MS = 20000, TEXT_BYTES = 64 << 10 };

// A program, as its hub has it.
struct started {
    int in, out;
    pid_t process;
};

static struct keeper keeper;

static int open_keeper(void **state) {
    (void)state;
    return keeper_fork(&keeper, NULL);
}

// The keeper ends as soon as no program is left.
static int close_keeper(void **state) {
    int status;
    (void)state;
    keeper_close(&keeper);
    return waitpid(keeper.process, &status, 0) == keeper.process && WIFEXITED(status) ? 0 : -1;
}

static struct keeper_report next_report(void) {
    struct keeper_report report;
    struct pollfd ready = {.fd = keeper.reports, .events = POLLIN};
    assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
    assert_int_equal(recv(keeper.reports, &report, sizeof report, MSG_WAITALL), sizeof report);
    return report;
}

static void expect_report(enum keeper_report_kind kind, uint32_t serial, int32_t value) {
    struct keeper_report report = next_report();
    assert_int_equal(report.kind, kind);
    assert_int_equal(report.serial, serial);
    assert_int_equal(report.value, value);
}

static size_t put(char *packet, size_t at, const char *text) {
    strcpy(packet + at, text);
    return at + strlen(text) + 1;
}

static struct started order(uint32_t serial, const char *const *words, const char *const *variables) {
    static char packet[8192];
    struct keeper_command command = {.kind = KEEPER_START, .place = 3, .serial = serial, .value = 100};
    struct started started = {.process = 0};
    size_t at = sizeof command;
    at = put(packet, at, "tested");
    at = put(packet, at, "");
    at = put(packet, at, "");
    for (; *words; words++, command.words++)
        at = put(packet, at, *words);
    for (; variables && *variables; variables++, command.variables++)
        at = put(packet, at, *variables);
    memcpy(packet, &command, sizeof command);
    assert_int_equal(io_start(NULL, keeper.commands, packet, at, &started.in, &started.out), 0);
    return started;
}

static struct started start_words(uint32_t serial, const char *const *words, const char *const *variables) {
    struct started started = order(serial, words, variables);
    struct keeper_report report = next_report();
    assert_int_equal(report.kind, KEEPER_STARTED);
    assert_int_equal(report.place, 3);
    assert_true(report.value > 1);
    started.process = report.value;
    return started;
}

static struct started start(uint32_t serial, const char *script, const char *const *variables) {
    return start_words(serial, (const char *const[]){"sh", "-c", script, NULL}, variables);
}

static void tell(uint32_t kind, uint32_t serial, uint32_t value) {
    struct keeper_command command = {.kind = kind, .place = 3, .serial = serial, .value = value};
    assert_int_equal(io_tell_keeper(NULL, keeper.commands, &command, sizeof command), 0);
}

// All that it writes, up to the end; or one line.
static const char *hear(const struct started *started, bool line) {
    static char text[TEXT_BYTES];
    size_t count = 0;
    struct pollfd ready = {.fd = started->out, .events = POLLIN};
    for (ssize_t got = 1; got > 0 && !(line && count && text[count - 1] == '\n'); count += (size_t)got) {
        assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
        got = read(started->out, text + count, line ? 1 : TEXT_BYTES - 1 - count);
        assert_true(got >= 0);
    }
    text[count] = '\0';
    return text;
}

static void close_streams(const struct started *started) {
    close(started->in);
    close(started->out);
}

static void expect_end(const struct started *started, uint32_t serial, int32_t status) {
    expect_report(KEEPER_EXITED, serial, status);
    expect_report(KEEPER_GONE, serial, 0);
    close_streams(started);
}

// --- The state in which a program starts

static const char *const path[] = {"PPATH", NULL};

// The keeper is forked anew: it has what the test has by then.
static void fork_again(void) {
    assert_int_equal(close_keeper(NULL), 0);
    assert_int_equal(open_keeper(NULL), 0);
}

static void it_has_three_descriptors(void **state) {
    (void)state;
    int mine = open("/dev/null", O_RDONLY); // as somebody's library might
    fork_again();
    struct started started =
        start(1, "n=0; while [ $n -lt 64 ]; do [ -e /proc/$$/fd/$n ] && echo $n; n=$((n+1)); done; echo done",
              path);
    assert_string_equal(hear(&started, false), "0\n1\n2\ndone\n");
    expect_end(&started, 1, 0);
    close(mine);
}

static void its_signals_are_as_usual(void **state) {
    (void)state;
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    signal(SIGUSR1, SIG_IGN);
    sigprocmask(SIG_BLOCK, &set, &before);
    fork_again();
    signal(SIGUSR1, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    // A shell sets what it is used to.
    const char *const words[] = {"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status", NULL};
    struct started started = start_words(1, words, path);
    assert_string_equal(hear(&started, false), "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
    expect_end(&started, 1, 0);
}

static void it_leads_a_group(void **state) {
    (void)state;
    char wanted[64];
    struct started started = start(
        1, "read pid comm state parent group rest </proc/self/stat; echo $pid $group; kill -0 -$$", path);
    snprintf(wanted, sizeof wanted, "%d %d\n", started.process, started.process);
    assert_string_equal(hear(&started, false), wanted);
    expect_end(&started, 1, 0);
}

static void its_environment_is_what_was_told(void **state) {
    (void)state;
    char secret[] = "/tmp/patchbay-keeper-XXXXXX", variable[128];
    int file = mkstemp(secret);
    assert_int_equal(write(file, "hidden\n", 7), 7);
    snprintf(variable, sizeof variable, "FTOKEN=%s", secret);
    setenv("PASSED", "mine", 1);
    setenv("KEPT_BACK", "mine", 1);
    fork_again();
    const char *const variables[] = {"PPASSED", "PNOT_THERE",          "SPASSED_TOO=a b",
                                     variable,  "SPATH=/usr/bin:/bin", NULL};
    struct started started = start(1, "exec /usr/bin/env", variables);
    const char *text = hear(&started, false);
    assert_non_null(strstr(text, "PASSED=mine\n"));
    assert_non_null(strstr(text, "PASSED_TOO=a b\n"));
    assert_non_null(strstr(text, "TOKEN=hidden\n"));
    assert_null(strstr(text, "KEPT_BACK"));
    assert_null(strstr(text, "NOT_THERE"));
    assert_null(strstr(text, "HOME="));
    expect_end(&started, 1, 0);
    close(file);
    unlink(secret);
}

static void its_limits_and_umask_are_the_hubs(void **state) {
    (void)state;
    char wanted[128];
    struct rlimit limit;
    mode_t mask = umask(027);
    fork_again();
    umask(mask);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    struct started started = start(1, "umask; ulimit -n", path);
    snprintf(wanted, sizeof wanted, "0027\n%llu\n", (unsigned long long)limit.rlim_cur);
    assert_string_equal(hear(&started, false), wanted);
    expect_end(&started, 1, 0);
}

// --- What is reported

static void who_cannot_be_run_is_told(void **state) {
    (void)state;
    static char log[KEEPER_LOG_BYTES];
    struct started started = order(1, (const char *const[]){"/nonexistent/program", NULL}, NULL);
    assert_int_equal(next_report().kind, KEEPER_STARTED);
    expect_end(&started, 1, 127 << 8);
    size_t bytes = keeper_read_log(&keeper.shared->places[3], 0, log);
    static const char said[] = "can't run /nonexistent/program: No such file or directory\n";
    assert_true(bytes >= sizeof said - 1);
    assert_memory_equal(log + bytes - (sizeof said - 1), said, sizeof said - 1);
}

static void an_end_is_told_once(void **state) {
    (void)state;
    for (uint32_t serial = 1; serial <= 50; serial++) {
        struct started started = start(serial, serial % 2 ? "exit 3" : "kill -9 $$", path);
        expect_end(&started, serial, serial % 2 ? 3 << 8 : SIGKILL);
    }
    struct pollfd ready = {.fd = keeper.reports, .events = POLLIN};
    assert_int_equal(poll(&ready, 1, 50), 0);
}

static void who_ignores_sigterm_is_killed(void **state) {
    (void)state;
    struct started started =
        start(1, "trap '' TERM; echo ready; while :; do read x || :; sleep 60; done", path);
    assert_string_equal(hear(&started, true), "ready\n");
    tell(KEEPER_END, 1, 50);
    expect_end(&started, 1, SIGKILL);
}

static void others_of_its_group_end_with_it(void **state) {
    (void)state;
    struct started started = start(1, "(trap '' TERM; echo ready; exec sleep 60) & exec sleep 60", path);
    assert_string_equal(hear(&started, true), "ready\n");
    kill(started.process, SIGKILL);
    expect_end(&started, 1, SIGKILL);
    assert_int_equal(kill(-started.process, 0), -1);
    assert_int_equal(errno, ESRCH);
}

// --- The hub's end

static void the_hubs_end_is_theirs(void **state) {
    (void)state;
    struct started started =
        start(1, "trap '' TERM; (trap '' TERM; echo ready; exec sleep 60) & read x; wait", path);
    int status;
    assert_string_equal(hear(&started, true), "ready\n");
    int out = dup(started.out);
    keeper_close(&keeper);
    assert_int_equal(waitpid(keeper.process, &status, 0), keeper.process);
    assert_int_equal(kill(-started.process, 0), -1); // before the keeper itself
    struct started rest = {.out = out};
    assert_string_equal(hear(&rest, false), "");
    close(out);
    close_streams(&started);
    assert_int_equal(open_keeper(NULL), 0);
}

static void the_keepers_end_is_its_programs(void **state) {
    (void)state;
    struct started started = start(1, "(trap '' TERM; echo ready; exec sleep 60) & exec sleep 60", path);
    int status;
    assert_string_equal(hear(&started, true), "ready\n");
    kill(keeper.process, SIGKILL);
    assert_int_equal(waitpid(keeper.process, &status, 0), keeper.process);
    assert_string_equal(hear(&started, false), ""); // the output ends with the last who has it
    close_streams(&started);
    keeper_close(&keeper);
    assert_int_equal(open_keeper(NULL), 0);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_keeper, close_keeper)
        TEST(it_has_three_descriptors),
        TEST(its_signals_are_as_usual),
        TEST(it_leads_a_group),
        TEST(its_environment_is_what_was_told),
        TEST(its_limits_and_umask_are_the_hubs),
        TEST(who_cannot_be_run_is_told),
        TEST(an_end_is_told_once),
        TEST(who_ignores_sigterm_is_killed),
        TEST(others_of_its_group_end_with_it),
        TEST(the_hubs_end_is_theirs),
        TEST(the_keepers_end_is_its_programs),
    };
    alarm(100);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
