#include "io/host_lookup.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <string.h>

void host_lookup_init(struct host_lookup *lookup, struct io *io, const struct resolver *resolver,
                      uint64_t token) {
    assert(io);
    *lookup = (struct host_lookup){.io = io, .resolver = resolver, .token = token};
}

static void receive(struct host_lookup *lookup) {
    if (lookup->receives)
        return;
    lookup->receives = true;
    io_receive(lookup->io, lookup->resolver->socket, lookup->token, 0);
}

void host_lookup_forget(struct host_lookup *lookup) {
    lookup->answer = (struct resolver_answer){.count = 0};
    lookup->next = 0;
    lookup->asks = false;
}

bool host_lookup_ask(struct host_lookup *lookup, const char *host, uint16_t port) {
    struct resolver_question question = {.number = lookup->number + 1, .port = port};
    host_lookup_forget(lookup);
    if (!lookup->resolver)
        return false;
    assert(strlen(host) < sizeof question.host);
    strcpy(question.host, host);
    lookup->number = question.number;
    lookup->asks = true;
    lookup->is_stopped = false;
    receive(lookup);
    io_send_now(lookup->io, lookup->resolver->socket, &question, sizeof question);
    return true;
}

// Takes a packet. Returns whether the packet is the answer to the last question. A packet comes whole.
static bool take_answer(struct host_lookup *lookup, const struct io_event *event) {
    struct resolver_answer answer;
    if (event->result != sizeof answer || !lookup->asks)
        return false;
    memcpy(&answer, buffer_arrival(event->buffer), sizeof answer);
    if (answer.number != lookup->number || answer.count > RESOLVER_ADDRESSES_MAX)
        return false;
    host_lookup_forget(lookup);
    lookup->answer = answer;
    return true;
}

// Returns whether the event means that the resolver has ended, and not only the receive.
static bool is_end(const struct io_event *event) {
    return event->result <= 0 && event->result != -ENOBUFS && event->result != -EINTR &&
           event->result != -ECANCELED;
}

enum host_lookup_step host_lookup_take(struct host_lookup *lookup, const struct io_event *event) {
    assert(event->kind == IO_RECEIVED && lookup->receives);
    bool is_known = take_answer(lookup, event);
    buffer_drop(event->buffer);
    lookup->receives = event->more;
    if (!event->more && is_end(event)) {
        lookup->resolver = NULL;
        return lookup->is_stopped ? HOST_LOOKUP_OPEN : HOST_LOOKUP_GONE;
    }
    if (!lookup->is_stopped)
        receive(lookup);
    return is_known ? HOST_LOOKUP_KNOWN : HOST_LOOKUP_OPEN;
}

const struct sockaddr *host_lookup_address(const struct host_lookup *lookup, uint32_t *bytes) {
    const struct resolver_answer *answer = &lookup->answer;
    assert(answer->count <= RESOLVER_ADDRESSES_MAX);
    if (lookup->next >= answer->count)
        return NULL;
    *bytes = answer->addresses[lookup->next].bytes;
    return (const struct sockaddr *)&answer->addresses[lookup->next].address;
}

bool host_lookup_advance(struct host_lookup *lookup) {
    assert(lookup->next <= RESOLVER_ADDRESSES_MAX);
    if (++lookup->next < lookup->answer.count)
        return true;
    host_lookup_forget(lookup);
    return false;
}

const char *host_lookup_fault(const struct host_lookup *lookup) {
    assert(lookup->io);
    if (!lookup->resolver)
        return "the process that looks names up has ended: restart the hub";
    if (lookup->asks)
        return "its name isn't known in time";
    return lookup->answer.fault ? gai_strerror(lookup->answer.fault) : "its name has no address";
}

void host_lookup_stop(struct host_lookup *lookup) {
    assert(lookup->io);
    if (lookup->receives && !lookup->is_stopped)
        io_cancel(lookup->io, lookup->resolver->socket, lookup->token);
    lookup->is_stopped = true;
}
