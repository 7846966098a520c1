// Success: each question has a process of its own, so that a slow name delays no other. Failure: the answer has the
// fault. There is no answer if sending fails or the lookup takes longer than RESOLVER_S.
#include "io/resolver.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "io/privdrop.h"
#include "io/process.h"

enum { RESOLVERS_END = 3 };

static void add(struct resolver_answer *answer, const struct addrinfo *found, uint16_t port) {
    struct sockaddr_storage *address = &answer->addresses[answer->count].address;
    bool is_v6 = found->ai_family == AF_INET6;
    if (answer->count == RESOLVER_ADDRESSES_MAX || (!is_v6 && found->ai_family != AF_INET))
        return;
    assert(found->ai_addrlen <= sizeof *address);
    memcpy(address, found->ai_addr, found->ai_addrlen);
    if (is_v6)
        ((struct sockaddr_in6 *)address)->sin6_port = htons(port);
    else
        ((struct sockaddr_in *)address)->sin_port = htons(port);
    answer->addresses[answer->count++].bytes = found->ai_addrlen;
}

__attribute__((noreturn)) static void look_up(int socket, const struct resolver_question *question) {
    const struct addrinfo wanted = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct resolver_answer answer = {.number = question->number};
    struct addrinfo *found = NULL;
    alarm(RESOLVER_S);
    answer.fault = getaddrinfo(question->host, NULL, &wanted, &found);
    for (const struct addrinfo *next = answer.fault ? NULL : found; next; next = next->ai_next)
        add(&answer, next, question->port);
    send(socket, &answer, sizeof answer, MSG_NOSIGNAL);
    _exit(0);
}

// Closes all descriptors of the hub but the resolver's socket. Otherwise the keeper, or a new listener on the hub's
// address, would wait for a slow lookup.
static void keep_only(int socket) {
    dup2(socket, RESOLVERS_END);
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int stream = 0; nothing >= 0 && stream <= 2; stream++)
        dup2(nothing, stream);
    close_range(RESOLVERS_END + 1, ~0u, 0);
}

// Separates the resolver from the hub. Signals of a terminal end the hub, not the resolver, which ends when the hub
// ends. No core dump, because the memory has the hub's command line.
static void isolate_resolver(int socket) {
    keep_only(socket);
    setsid();
    process_name_set("patchbay-names");
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    signal(SIGCHLD, SIG_IGN); // the children that answer aren't waited for
    signal(SIGHUP, SIG_IGN);
}

__attribute__((noreturn)) static void be_resolver(int socket, const struct privdrop_user *user) {
    struct resolver_question question;
    if (user && privdrop_become(user) < 0)
        _exit(1);
    isolate_resolver(socket);
    for (;;) {
        ssize_t count = recv(RESOLVERS_END, &question, sizeof question, 0);
        if (count == 0 || (count < 0 && errno != EINTR))
            _exit(0);
        if (count != sizeof question)
            continue;
        question.host[RESOLVER_HOST_BYTES_MAX] = '\0';
        if (fork() == 0)
            look_up(RESOLVERS_END, &question);
    }
}

int resolver_fork(struct resolver *resolver, const struct privdrop_user *user) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    pid_t process = fork();
    if (process == 0) {
        close(ends[0]);
        be_resolver(ends[1], user);
    }
    int failed = process < 0 ? -errno : 0;
    close(ends[1]);
    if (failed)
        close(ends[0]);
    else
        *resolver = (struct resolver){ends[0], process};
    return failed;
}

void resolver_close(struct resolver *resolver) {
    assert(resolver->process > 0);
    close(resolver->socket);
}
