// The verbs on files, on a real file system.
#include "tests/io/fixture.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

static char directory[64], path[96];

static int set_up_file(void **state) {
    snprintf(directory, sizeof directory, "/tmp/patchbay-file-XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/journal", directory);
    return set_up(state);
}

static int tear_down_file(void **state) {
    unlink(path);
    assert_int_equal(rmdir(directory), 0);
    return tear_down(state);
}

static void holds(const char *expected) {
    char bytes[256];
    int descriptor = open(path, O_RDONLY);
    ssize_t count = read(descriptor, bytes, sizeof bytes);
    close(descriptor);
    assert_int_equal(count, strlen(expected));
    assert_memory_equal(bytes, expected, strlen(expected));
}

static void put(const char *bytes, int flags) {
    int descriptor = open(path, O_WRONLY | O_CREAT | flags, 0640);
    write_all(descriptor, bytes, strlen(bytes));
    close(descriptor);
}

static struct io_file open_file(struct io *io) {
    struct io_file file;
    assert_int_equal(io_file_open(io, path, &file), 0);
    return file;
}

static int32_t wait_written(struct io *io, const struct io_file *file, const struct iovec *vectors,
                            unsigned count) {
    io_file_write(io, file, 77, vectors, count);
    struct io_event event = wait_event(io);
    assert_int_equal(event.kind, IO_WRITTEN);
    assert_int_equal(event.token, 77);
    assert_false(event.more);
    return event.result;
}

static int32_t append(struct io *io, const struct io_file *file, const char *text) {
    struct iovec vector = {.iov_base = (char *)text, .iov_len = strlen(text)};
    return wait_written(io, file, &vector, 1);
}

static void lines_are_appended_and_synced(void **state) {
    struct io *io = ((struct fixture *)*state)->io;
    struct io_file file = open_file(io);
    assert_true(file.bytes == 0 && !file.torn);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    struct iovec vectors[] = {{(char[]){"one\n"}, 4}, {(char[]){""}, 0}, {(char[]){"two\n"}, 4}};
    assert_int_equal(wait_written(io, &file, vectors, 3), 8);
    io_file_sync(io, &file, 78);
    struct io_event event = wait_event(io);
    assert_int_equal(event.kind, IO_SYNCED);
    assert_int_equal(event.token, 78);
    assert_int_equal(event.result, 0);
    io_file_close(io, &file);
    file = open_file(io);
    assert_true(file.bytes == 8 && !file.torn);
    put("x", O_APPEND); // by somebody else: what follows doesn't overwrite it
    assert_int_equal(append(io, &file, "three"), 5);
    holds("one\ntwo\nxthree");
    io_file_close(io, &file);
    file = open_file(io);
    assert_true(file.bytes == 14 && file.torn);
    io_file_close(io, &file);
}

static void a_thousand_vectors(void **state) {
    struct io *io = ((struct fixture *)*state)->io;
    struct io_file file = open_file(io);
    struct iovec vectors[IOV_MAX];
    for (int i = 0; i < IOV_MAX; i++)
        vectors[i] = (struct iovec){.iov_base = "line\n", .iov_len = 5};
    assert_int_equal(wait_written(io, &file, vectors, IOV_MAX), 5 * IOV_MAX);
    io_file_close(io, &file);
}

static void what_was_appended_is_cut(void **state) {
    struct io *io = ((struct fixture *)*state)->io;
    put("good\nhalf", 0);
    struct io_file file = open_file(io);
    assert_true(file.bytes == 9 && file.torn);
    assert_int_equal(append(io, &file, "bad\n"), 4);
    assert_int_equal(io_file_cut(io, &file, 4), 0);
    assert_true(file.bytes == 9 && file.torn);
    holds("good\nhalf");
    io_file_close(io, &file);
}

// The bytes behind the end may be another one's.
static void what_others_changed_is_not_cut(void **state) {
    struct io *io = ((struct fixture *)*state)->io;
    struct io_file file = open_file(io);
    assert_int_equal(append(io, &file, "mine\n"), 5);
    put("theirs\n", O_APPEND);
    assert_int_equal(io_file_cut(io, &file, 5), -ESTALE);
    assert_true(file.bytes == 12 && !file.torn);
    holds("mine\ntheirs\n");
    assert_int_equal(truncate(path, 2), 0);
    assert_int_equal(io_file_cut(io, &file, 0), -ESTALE);
    assert_true(file.bytes == 2 && file.torn);
    io_file_close(io, &file);
}

// First as much as there is room for, then why not more.
static void a_full_file_says_so(void **state) {
    struct io *io = ((struct fixture *)*state)->io;
    struct io_file file = open_file(io);
    struct rlimit before, low = {.rlim_cur = 6, .rlim_max = RLIM_INFINITY};
    getrlimit(RLIMIT_FSIZE, &before);
    low.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    assert_int_equal(append(io, &file, "12345678"), 6);
    assert_int_equal(append(io, &file, "78"), -EFBIG);
    assert_int_equal(io_file_cut(io, &file, 6), 0);
    holds("");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(append(io, &file, "12345678"), 8);
    holds("12345678");
    io_file_close(io, &file);
}

static void what_is_no_file_is_refused(void **state) {
    struct io *io = ((struct fixture *)*state)->io;
    struct io_file file;
    assert_int_equal(io_file_open(io, "/dev/null", &file), -EOPNOTSUPP);
    assert_int_equal(io_file_open(io, directory, &file), -EISDIR);
    assert_int_equal(io_file_open(io, "/nowhere/at/all", &file), -ENOENT);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(io_file_open(io, path, &file), -EOPNOTSUPP);
}

// A file that another program has renamed is replaced, and its number stays.
static void a_number_stands_for_the_file_opened_since(void **state) {
    struct io *io = ((struct fixture *)*state)->io;
    char aside[128];
    snprintf(aside, sizeof aside, "%s/journal.1", directory);
    struct io_file file = open_file(io);
    int number = file.number;
    assert_int_equal(append(io, &file, "before\n"), 7);
    assert_int_equal(rename(path, aside), 0);
    put("half", 0);
    struct io_file fresh = open_file(io);
    assert_int_equal(io_file_replace(io, &file, &fresh), 0);
    assert_true(file.number == number && file.bytes == 4 && file.torn && fresh.number == -1);
    assert_true(fcntl(number, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(append(io, &file, "\nafter\n"), 7);
    holds("half\nafter\n");
    struct stat status;
    assert_int_equal(stat(aside, &status), 0);
    assert_int_equal(status.st_size, 7);
    assert_int_equal(unlink(aside), 0);
    io_file_close(io, &file);
}

#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, set_up_file, tear_down_file)

int main(int argc, char **argv) {
    choose_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        WITH_FILE(lines_are_appended_and_synced),
        WITH_FILE(a_number_stands_for_the_file_opened_since),
        WITH_FILE(a_thousand_vectors),
        WITH_FILE(what_was_appended_is_cut),
        WITH_FILE(what_others_changed_is_not_cut),
        WITH_FILE(a_full_file_says_so),
        WITH_FILE(what_is_no_file_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
