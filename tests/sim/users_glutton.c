// A user that fills its half of what the hub keeps for peers (quota.h), and goes on asking for more. No other player
// knows of the user: where another player is refused for it, the oracle finds fault with the hub.
#include "tests/sim/users.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CONNECTIONS = 16,
    NAME_BYTES = 240, // of an event that nobody publishes
    EVENTS_OF_ASK = 20,
    ASKS_OF_CONNECTION = 50, // so that a connection has fewer patterns than it may
    ASKS_AGAIN = 2,
};

static struct glutton {
    struct voice voices[CONNECTIONS];
    struct answers {
        uint8_t *bytes;
        size_t count;
    } answers[CONNECTIONS];
    unsigned asked, refused, taken, serial;
} glutton;

size_t glutton_write(char *text, size_t capacity) {
    int bytes = snprintf(text, capacity, "[user glutton]\nuid = %u\nsubscribe = *\n", GLUTTON_UID);
    return (size_t)bytes < capacity ? (size_t)bytes : 0;
}

static void ask(unsigned at) {
    static char body[EVENTS_OF_ASK * (NAME_BYTES + 8) + 128];
    int used =
        snprintf(body, sizeof body,
                 "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"hub/subscribe\",\"params\":{\"events\":[",
                 ++glutton.asked);
    for (unsigned number = 0; number < EVENTS_OF_ASK; number++)
        used += snprintf(body + used, sizeof body - (size_t)used, "%s\"glut-%0*u\"", number ? "," : "",
                         NAME_BYTES - 5, ++glutton.serial);
    used += snprintf(body + used, sizeof body - (size_t)used, "]}}");
    voice_write(&glutton.voices[at], body, (size_t)used, "");
}

static void take(const struct naive_frame *frame) {
    struct bit code = naive_find(frame->body, "error.code");
    if (!naive_find(frame->body, "id").bytes)
        kernel_fail("the glutton was sent what it didn't ask for");
    if (code.bytes && !bit_is(code, "-32052"))
        kernel_fail("the glutton was refused otherwise than for what it has");
    glutton.refused += code.bytes != NULL;
    glutton.taken += code.bytes == NULL;
}

bool glutton_hear(void) {
    bool any = false;
    for (unsigned at = 0; stage.has_glutton && at < CONNECTIONS; at++) {
        struct voice *voice = &glutton.voices[at];
        struct answers *answers = &glutton.answers[at];
        size_t more = voice->cable ? cable_readable(voice->cable) : 0, done = 0;
        struct naive_frame frame;
        if (!more)
            continue;
        answers->bytes = realloc(answers->bytes, answers->count + more);
        if (!answers->bytes)
            abort();
        answers->count += cable_read(voice->cable, answers->bytes + answers->count, more);
        for (enum naive_result result; done < answers->count; done += frame.bytes) {
            result = voice_read(voice, &frame, answers->bytes + done, answers->count - done);
            if (result == NAIVE_BAD)
                kernel_fail("the hub sent the glutton what is no frame");
            if (result == NAIVE_PARTIAL)
                break;
            take(&frame);
        }
        memmove(answers->bytes, answers->bytes + done, answers->count - done);
        answers->count -= done;
        any = true;
    }
    return any;
}

void glutton_fill(void (*settle)(void)) {
    for (unsigned at = 0; at < CONNECTIONS; at++) {
        if (!voice_dial(&glutton.voices[at], &stage.world, FRAMES))
            kernel_fail("nobody listens to the glutton");
        cable_of_user(glutton.voices[at].cable, GLUTTON_UID);
        voice_greet(&glutton.voices[at]);
    }
    for (unsigned round = 0; round < ASKS_OF_CONNECTION; round++) {
        for (unsigned at = 0; at < CONNECTIONS; at++)
            ask(at);
        settle();
    }
    if (glutton.taken + glutton.refused != glutton.asked)
        kernel_fail("the glutton was answered %u of %u times", glutton.taken + glutton.refused,
                    glutton.asked);
    if (glutton.refused == 0)
        kernel_fail("the glutton had room for all: %u times", glutton.taken);
    users_sums.gluttons++;
}

// Checks that the full user is refused, since it has let nothing go. A smaller registration may still take the last
// places.
void glutton_go_on(void (*settle)(void)) {
    unsigned refused = glutton.refused;
    if (!stage.has_glutton)
        return;
    for (unsigned number = 0; number < ASKS_AGAIN; number++)
        ask(number);
    settle();
    if (glutton.refused != refused + ASKS_AGAIN)
        kernel_fail("the glutton had room again");
}

void glutton_leave(void) {
    for (unsigned at = 0; stage.has_glutton && at < CONNECTIONS; at++) {
        if (glutton.voices[at].cable)
            cable_close(glutton.voices[at].cable);
        free(glutton.answers[at].bytes);
    }
    memset(&glutton, 0, sizeof glutton);
}
