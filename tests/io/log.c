// The log as it is written: levels, the bound of a second, the journal's mark, processes that share the settings.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "io/log.h"

static int kept, ends[2];

// Standard error is a pipe from now on.
static void catch_stderr(void) {
    kept = dup(2);
    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], 2);
}

// Returns what was written since.
static const char *caught(void) {
    static char text[65536];
    dup2(kept, 2);
    close(kept);
    close(ends[1]);
    size_t used = 0;
    for (ssize_t count; (count = read(ends[0], text + used, sizeof text - 1 - used)) > 0;)
        used += (size_t)count;
    close(ends[0]);
    text[used] = '\0';
    return text;
}

static void levels(void **state) {
    (void)state;
    catch_stderr();
    log_set(LOG_FORMAT_TEXT, LOG_LEVEL_WARNING);
    log_write(LOG_RELOADED, LOG_NO_FIELDS, "one");
    log_write(LOG_NOTICE, LOG_NO_FIELDS, "two %d", 2);
    assert_false(log_is_written(LOG_RELOADED));
    log_set(LOG_FORMAT_TEXT, LOG_LEVEL_DEBUG);
    log_write(LOG_CONNECTION_CLOSED, LOG_FIELDS(log_text("why"), log_number(1)), "three");
    log_write(LOG_READY, LOG_NO_FIELDS, "four");
    log_mute(true);
    log_write(LOG_NOTICE, LOG_NO_FIELDS, "five");
    log_mute(false);
    log_set(LOG_FORMAT_TEXT, LOG_LEVEL_INFO);
    assert_string_equal(caught(), "patchbayd: two 2\npatchbayd: three\n");
}

static void credentials_are_hidden(void **state) {
    (void)state;
    catch_stderr();
    log_set(LOG_FORMAT_LOGFMT, LOG_LEVEL_INFO);
    log_write(LOG_LISTENING, LOG_FIELDS(log_text("tcp://me:s3cret@host:1")), "listening %s",
              "tcp://me:s3cret@host:1");
    log_set(LOG_FORMAT_TEXT, LOG_LEVEL_INFO);
    const char *text = caught();
    assert_null(strstr(text, "s3cret"));
    assert_non_null(strstr(text, " uri=tcp://***@host:1 message=\"listening tcp://***@host:1\"\n"));
}

static size_t count_of(const char *text, const char *part) {
    size_t count = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        count++;
    return count;
}

// Fifty at once are ten lines; the others are told by their number.
static void a_bound_for_each_second(void **state) {
    (void)state;
    struct timespec now;
    do
        clock_gettime(CLOCK_REALTIME, &now);
    while (now.tv_nsec > 500000000); // all in one second
    catch_stderr();
    log_set(LOG_FORMAT_JSON, LOG_LEVEL_INFO);
    for (int number = 0; number < 50; number++)
        assert_int_equal(log_write(LOG_CREDENTIAL_REFUSED, LOG_FIELDS(log_text("10.0.0.1")), "refused"),
                         number < 10);
    log_tell_suppressed();
    log_tell_suppressed();
    log_set(LOG_FORMAT_TEXT, LOG_LEVEL_INFO);
    const char *text = caught();
    assert_int_equal(count_of(text, "\"message\":\"refused\""), 10);
    assert_int_equal(count_of(text, ",\"suppressed\":40,"), 1);
    assert_int_equal(count_of(text, "\n"), 11);
}

static void no_more_than_there_is_room_for(void **state) {
    (void)state;
    uint64_t lost = log_lines_lost();
    catch_stderr();
    for (int number = 0; number < 1000; number++)
        log_write(LOG_NOTICE, LOG_NO_FIELDS, "%0*d", 1000, 7); // nobody reads
    const char *text = caught();
    assert_true(strlen(text) >= 4096);
    assert_int_equal(count_of(text, "\n") + log_lines_lost() - lost, 1000);
    assert_int_equal(strlen(text) % (sizeof "patchbayd: \n" - 1 + 1000), 0); // no line in part
}

// A write fails, and no look at the log has foreseen that.
static void what_a_disk_does_not_take_is_counted(void **state) {
    (void)state;
    uint64_t lost = log_lines_lost();
    kept = dup(2);
    int full = open("/dev/full", O_WRONLY);
    assert_true(full >= 0 && dup2(full, 2) == 2);
    log_write(LOG_NOTICE, LOG_NO_FIELDS, "one");
    log_write_lines("two\nthree\n", 10);
    dup2(kept, 2);
    close(kept);
    close(full);
    assert_int_equal(log_lines_lost() - lost, 3);
}

// Lines that a pipe takes in parts come whole, whoever writes at the same time; one that is cut ends before the next.
static void long_lines_are_whole(void **state) {
    (void)state;
    catch_stderr();
    pid_t processes[3];
    for (int process = 0; process < 3; process++) {
        processes[process] = fork();
        if (processes[process] > 0)
            continue;
        for (int number = 0; number < 2; number++)
            log_write(LOG_NOTICE, LOG_NO_FIELDS, "%c%0*d", 'a' + process, 6000, 0);
        _exit(0);
    }
    for (int process = 0; process < 3; process++)
        waitpid(processes[process], NULL, 0);
    const char *text = caught();
    assert_int_equal(strlen(text), 6 * (sizeof "<4>patchbayd: \n" - 1 + 6001));
    for (int number = 0; number < 6; number++, text = strchr(text, '\n') + 1)
        assert_int_equal(strcspn(text, "\n"), sizeof "<4>patchbayd: " - 1 + 6001);
}

static void processes_share_it(void **state) {
    (void)state;
    struct stat status;
    char stream[64];
    catch_stderr();
    assert_int_equal(fstat(2, &status), 0);
    snprintf(stream, sizeof stream, "%llu:%llu", (unsigned long long)status.st_dev,
             (unsigned long long)status.st_ino);
    setenv("JOURNAL_STREAM", stream, 1);
    log_begin();
    int gate[2];
    assert_int_equal(pipe(gate), 0);
    pid_t process = fork();
    if (process == 0) {
        char byte;
        _exit(read(gate[0], &byte, 1) == 1 && !log_is_written(LOG_RELOADED) ? 0 : 1);
    }
    log_set(LOG_FORMAT_TEXT, LOG_LEVEL_ERROR);
    assert_int_equal(write(gate[1], "", 1), 1);
    int ended;
    waitpid(process, &ended, 0);
    assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
    log_write(LOG_FAILED, LOG_NO_FIELDS, "gone");
    assert_string_equal(caught(), "<3>patchbayd: gone\n");
    log_set(LOG_FORMAT_TEXT, LOG_LEVEL_INFO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels),
        cmocka_unit_test(credentials_are_hidden),
        cmocka_unit_test(a_bound_for_each_second),
        cmocka_unit_test(no_more_than_there_is_room_for),
        cmocka_unit_test(what_a_disk_does_not_take_is_counted),
        cmocka_unit_test(processes_share_it), // what it begins goes on
        cmocka_unit_test(long_lines_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
