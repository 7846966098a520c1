// Requests over HTTP: each on a connection of its own, in the name of a guest.
#include "tests/sim/clusters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/kernel.h"

static struct caller *free_place(void) {
    for (unsigned at = 0; at < CALLERS; at++)
        if (!stage.callers[at].cable)
            return &stage.callers[at];
    return NULL;
}

static void hang_up(struct caller *caller) {
    cable_close(caller->cable);
    caller->cable = NULL;
    caller->count = 0;
}

void call_send(unsigned tag, const char *body) {
    char head[512], bearer[128] = "", token[MODEL_TOKEN_BYTES];
    const struct letter *letter = &stage.letters[tag];
    struct caller *caller = free_place();
    if (letter->user != NOBODY) {
        unsigned generation = stage.guests[letter->source].generation;
        model_token((unsigned)letter->user, 0, generation, token);
        snprintf(bearer, sizeof bearer, "Authorization: Bearer %s\r\n", token);
    }
    caller->cable = world_dial_http(&stage.fleet.sites[stage.guests[letter->source].site].world);
    caller->tag = tag;
    if (!caller->cable)
        return;
    int count = snprintf(
        head, sizeof head,
        "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%sContent-Length: "
        "%zu\r\n\r\n",
        bearer, strlen(body));
    cable_write(caller->cable, head, (size_t)count);
    cable_write(caller->cable, body, strlen(body));
    sums.calls++;
}

bool call_may(void) {
    return free_place() != NULL;
}

void call_leave(unsigned by) {
    for (unsigned at = 0; at < CALLERS; at++)
        if (stage.callers[at].cable && stage.letters[stage.callers[at].tag].source == by)
            hang_up(&stage.callers[at]);
}

// The body of an answer that is whole.
static bool read_answer(const struct caller *caller, struct bit *body) {
    static const char key[] = "Content-Length: ";
    const uint8_t *end = memmem(caller->in, caller->count, "\r\n\r\n", 4);
    const uint8_t *length = end ? memmem(caller->in, (size_t)(end - caller->in), key, sizeof key - 1) : NULL;
    if (end && !length)
        kernel_fail("an answer of HTTP doesn't say how long it is: %.*s", (int)caller->count,
                    (const char *)caller->in);
    if (!end)
        return false;
    size_t bytes = strtoul((const char *)length + sizeof key - 1, NULL, 10);
    *body = (struct bit){end + 4, bytes};
    return caller->count - (size_t)(end + 4 - caller->in) >= bytes;
}

// A hub that has just begun to end, or one without memory, says so otherwise; its source is told nothing more.
static bool is_turned_away(const struct caller *caller) {
    static const char status[] = "HTTP/1.1 503 ";
    return (stage.scarce || !stage.calm) && memcmp(caller->in, status, sizeof status - 1) == 0;
}

static void give_up(struct caller *caller) {
    if (!stage.scarce && stage.calm)
        letter_fails("a call has ended without an answer", caller->tag);
    stage.letters[caller->tag].life = 0;
    hang_up(caller);
}

static void end_with(struct caller *caller, struct bit body) {
    if (getenv("CLUSTER_SAY"))
        fprintf(stderr, "call %u hears %.*s\n", caller->tag, (int)body.count, (const char *)body.bytes);
    if (is_turned_away(caller)) {
        give_up(caller);
        return;
    }
    if (bit_number(naive_find(body, "id")) != caller->tag)
        letter_fails("a call got another one's answer, or none", caller->tag);
    letter_end(caller->tag, body);
    hang_up(caller);
}

static bool hear(struct caller *caller) {
    size_t more = cable_readable(caller->cable);
    struct bit body;
    if (!more && cable_at_end(caller->cable))
        give_up(caller);
    if (!more)
        return false;
    caller->in = realloc(caller->in, caller->count + more);
    if (!caller->in)
        abort();
    caller->count += cable_read(caller->cable, caller->in + caller->count, more);
    if (read_answer(caller, &body))
        end_with(caller, body);
    return true;
}

bool calls_hear(void) {
    bool any = false;
    for (unsigned at = 0; at < CALLERS; at++)
        if (stage.callers[at].cable)
            any |= hear(&stage.callers[at]);
    return any;
}
