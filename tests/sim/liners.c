// Guests that speak one JSON text a line: blank lines between them, ends of both kinds or, before the end of
// the stream, none. A line that is no JSON costs them an error, as no header block is there to break. A line
// that is too long costs them the connection.
#include <stdlib.h>
#include <string.h>

#include "tests/sim/run.h"

#define TOO_LARGE  "{\"fault\":\"the body is over the limit\"}"
#define NO_MESSAGE "{\"fault\":\"the body is neither a request, a notification nor a response\"}"

enum { LONG_BYTES_MAX = 500000 };

struct cable *liners_dial(struct run *run, bool lines) {
    return lines ? world_dial_lines(&run->world) : world_dial(&run->world);
}

static bool is_space(char byte) {
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

// A line feed would end it; a CR is as good, wherever it stands. White space at its end would be lost with a
// guest that closes before it is written.
void liners_fit(struct draft *body) {
    for (size_t at = 0; at < body->count; at++)
        if (body->bytes[at] == '\n')
            body->bytes[at] = '\r';
    while (body->count && is_space(body->bytes[body->count - 1]))
        body->count--;
}

static void put(struct guest *guest, const char *text) {
    queue_bytes_add(&guest->out, text, strlen(text));
}

static void put_blank_lines(struct run *run, struct guest *guest) {
    static const char *const blanks[] = {"\n", "\r\n", " \n", "\t \r\n", "\r\r\n", "\n\n\r\n"};
    if (random_chance(run->random, 150))
        put(guest, blanks[random_below(run->random, sizeof blanks / sizeof *blanks)]);
}

void liners_put(struct run *run, struct guest *guest, const void *body, size_t count) {
    put_blank_lines(run, guest);
    queue_bytes_add(&guest->out, body, count);
    put(guest, random_chance(run->random, 300) ? "\r\n" : "\n");
}

// --- What isn't right

static void put_long(struct run *run, struct guest *guest) {
    static char text[LONG_BYTES_MAX];
    size_t bytes = run->limits.frame_bytes_max + 1 + random_below(run->random, 3);
    memset(text, random_chance(run->random, 500) ? ' ' : 'x', bytes);
    queue_bytes_add(&guest->out, text, bytes);
    if (random_chance(run->random, 500))
        put(guest, "\n{}\n");
    dues_add(&guest->dues, (struct due){.code = -32055,
                                        .data = TOO_LARGE,
                                        .offset_least = run->limits.frame_bytes_max,
                                        .offset_most = run->limits.frame_bytes_max,
                                        .last = true});
    guest->breaks = guest->doomed = guest->leaving = true;
}

void liners_junk(struct run *run, struct guest *guest, bool long_too) {
    static const struct {
        const char *text;
        unsigned faults; // lines that aren't JSON
        bool empty;      // and an object without anything
    } texts[] = {
        {"Host: localhost\r\n\r\n", 1, false},
        {"Content-Length: 2\r\n\r\n{}\n", 1, true},
        {"\x0b\n", 1, false},
        {"{\"jsonrpc\":\n\"2.0\"}\n", 2, false},
        {"{}\r\n", 0, true},
        {"\xef\xbb\xbf{}\n", 1, false},
    };
    if (long_too && run->limits.frame_bytes_max < LONG_BYTES_MAX - 3) {
        put_long(run, guest);
        return;
    }
    uint32_t which = random_below(run->random, sizeof texts / sizeof *texts);
    put(guest, texts[which].text);
    for (unsigned fault = 0; fault < texts[which].faults; fault++)
        dues_add(&guest->dues, (struct due){.code = -32700, .data = "{}"});
    if (texts[which].empty)
        dues_add(&guest->dues, (struct due){.code = -32600, .data = NO_MESSAGE});
}

const char *liners_start(struct run *run) {
    static const char *const starts[] = {"{", " ", "{\"jsonrpc\":\"2.0\",\"method\":\"x\"}", "\r", "7"};
    return starts[random_below(run->random, sizeof starts / sizeof *starts)];
}

void liners_end(struct run *run, struct guest *guest) {
    struct queue_bytes *out = &guest->out;
    if (guest->lines && guest->shutting && out->count > out->at && out->bytes[out->count - 1] == '\n' &&
        random_chance(run->random, 600))
        out->count--;
}

bool liners_open(const struct guest *guest) {
    const struct queue_bytes *out = &guest->out;
    return guest->lines && out->at && out->bytes[out->at - 1] != '\n';
}

// If that was an answer, it is a broken one.
void liners_left(const struct run *run, struct guest *guest) {
    if (guest->torn || !liners_open(guest))
        return;
    guest->torn = true;
    for (unsigned tag = 0; tag < run->record_count; tag++) {
        const struct record *answer = run->records[tag];
        if (answer->source == guest->index && answer->kind == RECORD_ANSWER && answer->answers != NOBODY)
            run->records[answer->answers]->broken_answer = true;
    }
}
