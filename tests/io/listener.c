#include "io/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

// Each test has a directory of its own.
struct place {
    char directory[32];
    char path[64];
    struct address address;
};

static int set_up(void **state) {
    struct place *place = test_calloc(1, sizeof *place);
    char uri[96];
    strcpy(place->directory, "/tmp/patchbay-test-XXXXXX");
    assert_non_null(mkdtemp(place->directory));
    snprintf(place->path, sizeof place->path, "%s/s", place->directory);
    snprintf(uri, sizeof uri, "unix://%s", place->path);
    assert_int_equal(address_parse(&place->address, uri), 0);
    *state = place;
    return 0;
}

// Nothing may be left in the directory.
static int tear_down(void **state) {
    struct place *place = *state;
    assert_int_equal(rmdir(place->directory), 0);
    test_free(place);
    return 0;
}

static struct address parsed(const char *uri) {
    struct address address;
    assert_int_equal(address_parse(&address, uri), 0);
    return address;
}

static void expect_open(struct listener *listener, const struct address *address) {
    const char *why = "";
    if (listener_open(listener, address, false, &why) != 0)
        fail_msg("%s", why);
}

static void expect_refused(const struct address *address, int result) {
    struct listener listener;
    const char *why = NULL;
    assert_int_equal(listener_open(&listener, address, false, &why), result);
    assert_non_null(why);
    assert_int_equal(listener.socket, -1);
}

static void expect_talk(const struct listener *listener) {
    int there = listener_dial(&listener->address);
    assert_true(there >= 0);
    int here = accept(listener->socket, NULL, NULL);
    char byte = 0;
    assert_int_equal(write(there, "x", 1), 1);
    assert_int_equal(read(here, &byte, 1), 1);
    assert_int_equal(byte, 'x');
    close(here);
    close(there);
}

static void tcp_port_0_is_picked(void **state) {
    (void)state;
    static const char *URIS[] = {"tcp://127.0.0.1:0", "tcp://[::1]:0"};
    for (int i = 0; i < 2; i++) {
        struct address address = parsed(URIS[i]);
        struct listener listener;
        char uri[64];
        expect_open(&listener, &address);
        assert_true(address_format(&listener.address, uri, sizeof uri) > strlen(URIS[i]));
        assert_memory_equal(uri, URIS[i], strlen(URIS[i]) - 1);
        expect_talk(&listener);
        expect_refused(&listener.address, -EADDRINUSE);
        listener_close(&listener);
        assert_int_equal(listener.socket, -1);
        assert_int_equal(listener_dial(&listener.address), -ECONNREFUSED);
    }
}

static void accepted_sockets_send_at_once(void **state) {
    (void)state;
    struct address address = parsed("tcp://127.0.0.1:0");
    struct listener listener;
    expect_open(&listener, &address);
    int there = listener_dial(&listener.address);
    int ends[] = {accept(listener.socket, NULL, NULL), there};
    for (int i = 0; i < 2; i++) {
        int on = 0;
        socklen_t bytes = sizeof on;
        assert_int_equal(getsockopt(ends[i], IPPROTO_TCP, TCP_NODELAY, &on, &bytes), 0);
        assert_true(on);
        close(ends[i]);
    }
    // The connection that was closed here first keeps the port busy for a while, but not for a hub that
    // starts again.
    struct address bound = listener.address;
    listener_close(&listener);
    expect_open(&listener, &bound);
    listener_close(&listener);
}

static void congestion_control_of(int socket, char name[16]) {
    socklen_t bytes = 16;
    memset(name, 0, 16);
    assert_int_equal(getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name, &bytes), 0);
}

// Only what never leaves the machine has another one than the machine's choice.
static void accepted_sockets_are_not_paced_on_loopback(void **state) {
    (void)state;
    static const char *URIS[] = {"tcp://127.0.0.1:0", "tcp://[::1]:0", "tcp://0.0.0.0:0", "tcp://[::]:0"};
    for (int i = 0; i < 4; i++) {
        struct address address = parsed(URIS[i]);
        struct listener listener;
        char want[16] = "reno", have[16];
        expect_open(&listener, &address);
        int there = listener_dial(&listener.address);
        int here = accept(listener.socket, NULL, NULL);
        if (i >= 2)
            congestion_control_of(there, want);
        congestion_control_of(here, have);
        assert_string_equal(have, want);
        close(here);
        close(there);
        listener_close(&listener);
    }
}

static void ipv6_leaves_ipv4_alone(void **state) {
    (void)state;
    struct address address = parsed("tcp://[::]:0");
    struct listener six, four;
    char uri[64];
    expect_open(&six, &address);
    const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)&six.address.storage;
    snprintf(uri, sizeof uri, "tcp://0.0.0.0:%u", ntohs(in->sin6_port));
    address = parsed(uri);
    expect_open(&four, &address);
    listener_close(&four);
    listener_close(&six);
}

static void a_unix_socket_is_private_and_goes(void **state) {
    struct place *place = *state;
    struct listener listener;
    struct stat status;
    mode_t before = umask(0);
    expect_open(&listener, &place->address);
    assert_int_equal(umask(before), 0);
    assert_int_equal(stat(place->path, &status), 0);
    assert_int_equal(status.st_mode, S_IFSOCK | S_IRUSR | S_IWUSR);
    expect_talk(&listener);
    listener_close(&listener);
    assert_int_equal(stat(place->path, &status), -1);
    assert_int_equal(listener_dial(&place->address), -ENOENT);
}

static void an_abandoned_socket_is_replaced(void **state) {
    struct place *place = *state;
    struct listener first, second;
    expect_open(&first, &place->address);
    close(first.socket); // as a killed hub leaves it
    assert_int_equal(listener_dial(&place->address), -ECONNREFUSED);
    expect_open(&second, &place->address);
    expect_talk(&second);
    listener_close(&second);
}

// --- Two at a time

// While `racer` is set, the first unlink of a process comes as late as it can. Another thread, which opens
// the same address, has then either done so or begins to wait for this one.
static struct racer {
    const struct address *address;
    struct listener listener;
    pthread_t thread;
    sem_t goes_on;
    int result;
} * racer;

static void *open_too(void *context) {
    struct racer *mine = context;
    const char *why;
    mine->result = listener_open(&mine->listener, mine->address, false, &why);
    sem_post(&mine->goes_on);
    return NULL;
}

// Stand before the C library's.
int unlink(const char *path) {
    static bool is_late;
    if (racer && !is_late) {
        is_late = true;
        assert_int_equal(pthread_create(&racer->thread, NULL, open_too, racer), 0);
        sem_wait(&racer->goes_on);
    }
    return unlinkat(AT_FDCWD, path, 0);
}

int nanosleep(const struct timespec *time, struct timespec *left) {
    if (racer)
        sem_post(&racer->goes_on);
    return -clock_nanosleep(CLOCK_MONOTONIC, 0, time, left);
}

static void of_two_that_replace_one_serves(void **state) {
    struct place *place = *state;
    struct racer other = {.address = &place->address};
    struct listener abandoned, listener;
    const char *why = "";
    expect_open(&abandoned, &place->address);
    close(abandoned.socket);
    assert_int_equal(sem_init(&other.goes_on, 0, 0), 0);
    racer = &other;
    assert_int_equal(listener_open(&listener, &place->address, false, &why), 0);
    assert_int_equal(pthread_join(other.thread, NULL), 0);
    racer = NULL;
    assert_int_equal(other.result, -EADDRINUSE);
    close(accept(listener.socket, NULL, NULL)); // the other's look whether somebody listens
    expect_talk(&listener);
    listener_close(&listener);
    sem_destroy(&other.goes_on);
}

static void a_used_socket_stays(void **state) {
    struct place *place = *state;
    struct listener listener;
    expect_open(&listener, &place->address);
    expect_refused(&place->address, -EADDRINUSE);
    close(accept(listener.socket, NULL, NULL)); // the look whether somebody listens
    expect_talk(&listener);
    listener_close(&listener);
}

static void another_file_stays(void **state) {
    struct place *place = *state;
    int file = open(place->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    expect_refused(&place->address, -EEXIST);
    assert_int_equal(unlink(place->path), 0);
    assert_int_equal(symlink("/dev/null", place->path), 0);
    expect_refused(&place->address, -EEXIST);
    assert_int_equal(unlink(place->path), 0);
    close(file);
}

// A connection to a socket of another type isn't refused, it's impossible.
static void a_socket_of_another_type_stays(void **state) {
    struct place *place = *state;
    int datagrams = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const struct sockaddr *name = (const struct sockaddr *)&place->address.storage;
    assert_int_equal(bind(datagrams, name, place->address.bytes), 0);
    expect_refused(&place->address, -EADDRINUSE);
    assert_int_equal(unlink(place->path), 0);
    close(datagrams);
}

static void anothers_socket_stays_at_close(void **state) {
    struct place *place = *state;
    struct listener first, second;
    expect_open(&first, &place->address);
    assert_int_equal(unlink(place->path), 0);
    expect_open(&second, &place->address);
    listener_close(&first);
    expect_talk(&second);
    listener_close(&second);
}

struct dialer {
    const struct address *address;
    atomic_bool over;
    int refused; // what the first connection that came to nobody got
};

// A kernel that has found the socket of a path, and is then kept waiting until that is closed, refuses whatever lies
// there now: so who was refused asks again.
static int dial_again(const struct dialer *dialer) {
    int connection = listener_dial(dialer->address);
    for (int more = 0; connection == -ECONNREFUSED && more < 3; more++)
        connection = listener_dial(dialer->address);
    return connection;
}

static void *dial_on(void *context) {
    struct dialer *dialer = context;
    while (!dialer->refused && !atomic_load(&dialer->over)) {
        int connection = dial_again(dialer);
        if (connection < 0)
            dialer->refused = connection;
        else
            close(connection);
    }
    return NULL;
}

// Listeners take the path over, each from the one before. A client that connects reaches one of them.
static void who_takes_over_listens_already(void **state) {
    struct place *place = *state;
    struct dialer dialer = {.address = &place->address};
    struct listener now, next;
    pthread_t thread;
    const char *why = "";
    assert_int_equal(listener_open(&now, &place->address, true, &why), 0);
    assert_int_equal(pthread_create(&thread, NULL, dial_on, &dialer), 0);
    for (int round = 0; round < 5000; round++) {
        assert_int_equal(listener_open(&next, &place->address, true, &why), 0);
        listener_close(&now);
        now = next;
    }
    atomic_store(&dialer.over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    listener_close(&now);
    assert_int_equal(dialer.refused, 0);
}

static void a_missing_directory_is_an_error(void **state) {
    (void)state;
    struct address address = parsed("unix:///tmp/patchbay-test-missing/none/s");
    expect_refused(&address, -ENOENT);
}

static struct address default_under(const char *directory) {
    char uri[128];
    setenv("XDG_RUNTIME_DIR", directory, 1);
    assert_int_equal(address_default_unix(uri, sizeof uri), 0);
    return parsed(uri);
}

static void the_default_directory_is_made(void **state) {
    struct place *place = *state;
    struct address address = default_under(place->path);
    struct listener listener;
    struct stat status;
    mode_t before = umask(0);
    for (int round = 0; round < 2; round++) { // made, then found
        expect_open(&listener, &address);
        assert_int_equal(stat(place->path, &status), 0);
        assert_int_equal(status.st_mode, S_IFDIR | S_IRWXU);
        expect_talk(&listener);
        listener_close(&listener);
    }
    umask(before);
    assert_int_equal(rmdir(place->path), 0);
}

static void anothers_default_directory_is_refused(void **state) {
    struct place *place = *state;
    struct address address = default_under(place->path);
    assert_int_equal(listener_dial(&address), -ENOENT);
    assert_int_equal(mkdir(place->path, 0700), 0);
    assert_int_equal(chmod(place->path, 0720), 0);
    expect_refused(&address, -EPERM);
    assert_int_equal(listener_dial(&address), -EPERM);
    if (geteuid() == 0) { // only root can give a directory away
        assert_int_equal(chmod(place->path, 0700), 0);
        assert_int_equal(chown(place->path, 12345, 12345), 0);
        expect_refused(&address, -EPERM);
        assert_int_equal(listener_dial(&address), -EPERM);
    }
    assert_int_equal(rmdir(place->path), 0);
    assert_int_equal(symlink(place->directory, place->path), 0);
    expect_refused(&address, -ENOTDIR);
    assert_int_equal(unlink(place->path), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tcp_port_0_is_picked),
        cmocka_unit_test(accepted_sockets_send_at_once),
        cmocka_unit_test(accepted_sockets_are_not_paced_on_loopback),
        cmocka_unit_test(ipv6_leaves_ipv4_alone),
        cmocka_unit_test_setup_teardown(a_unix_socket_is_private_and_goes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_abandoned_socket_is_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(of_two_that_replace_one_serves, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_used_socket_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_file_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_socket_of_another_type_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(anothers_socket_stays_at_close, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_takes_over_listens_already, set_up, tear_down),
        cmocka_unit_test(a_missing_directory_is_an_error),
        cmocka_unit_test_setup_teardown(the_default_directory_is_made, set_up, tear_down),
        cmocka_unit_test_setup_teardown(anothers_default_directory_is_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
