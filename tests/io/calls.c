// The wall around system calls: whom it lets be killed. Tried where nobody else is: in a namespace of processes of its
// own, in which kill(-1) reaches nobody outside.
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "io/sandbox_layer.h"

enum { NOT_HERE = 77, NO_GROUP = 0x3ffffff0 };

// The first process of the namespace, which a kill of all doesn't reach.
static int try_kills(void) {
    if (getpid() != 1 || sandbox_layer_calls(false))
        return NOT_HERE;
    if (kill(-1, SIGKILL) == 0 || errno != EPERM)
        return 1;
    if (kill(1, SIGKILL) == 0 || errno != EPERM)
        return 2;
    if (kill(-2, SIGTERM) == 0 || errno != EPERM)
        return 3;
    if (kill(-2, SIGKILL) == 0 || errno != ESRCH)
        return 4;
    return kill(-NO_GROUP, SIGKILL) < 0 && errno == ESRCH ? 0 : 5;
}

static int status_of(pid_t process) {
    int status;
    if (process < 0 || waitpid(process, &status, 0) != process)
        return NOT_HERE;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

// Returns the result of try_kills, from inside.
static int kills_apart(void) {
    pid_t outside = fork();
    if (outside)
        return status_of(outside);
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID) && unshare(CLONE_NEWPID))
        _exit(NOT_HERE);
    pid_t inside = fork();
    _exit(inside ? status_of(inside) : try_kills());
}

static void a_group_may_be_killed_and_nobody_else(void **state) {
    (void)state;
    int status = kills_apart();
    if (status == NOT_HERE)
        skip();
    assert_int_equal(status, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_group_may_be_killed_and_nobody_else)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
