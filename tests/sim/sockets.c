// Guests that speak WebSocket. First comes a handshake, then messages in fragments under masks, with control frames
// before and between them, and in the end a close. All that RFC 6455 says of either side is judged here by the bytes,
// without the hub's own code.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/kernel.h"
#include "tests/sim/parts.h"

#define SECOND_NS UINT64_C(1000000000)

enum {
    CONTINUATION,
    TEXT,
    BINARY,
    CLOSE = 8,
    PING,
    PONG,
    LAST = 0x80,
    CONTROL_BYTES_MAX = 125,
    FRAGMENTS_MAX = 5,
    PING_BYTES = 2, // as the hub sends it
    SILENCE_S = 25,
    ANSWER_S = 10,
    SLACK_S = 1,
};

// --- Frames

static void put_length(struct guest *guest, uint64_t count, unsigned bytes) {
    while (bytes-- > 0) {
        uint8_t byte = (uint8_t)(count >> 8 * bytes);
        queue_bytes_add(&guest->out, &byte, 1);
    }
}

// The header and the mask; the payload is masked by put_payload.
static void put_head(struct run *run, struct guest *guest, unsigned first, uint64_t count, uint8_t mask[4]) {
    uint8_t head[2] = {(uint8_t)first, (uint8_t)(0x80 | (count < 126           ? count
                                                         : count <= UINT16_MAX ? 126
                                                                               : 127))};
    bool plain = random_chance(run->random, 50); // a mask of zeros is one, too
    for (unsigned at = 0; at < 4; at++)
        mask[at] = plain ? 0 : (uint8_t)random_below(run->random, 256);
    queue_bytes_add(&guest->out, head, 2);
    put_length(guest, count, count < 126 ? 0 : count <= UINT16_MAX ? 2 : 8);
    queue_bytes_add(&guest->out, mask, 4);
}

static void put_payload(struct guest *guest, const uint8_t *bytes, size_t count, const uint8_t mask[4]) {
    struct queue_bytes *out = &guest->out;
    queue_bytes_add(out, bytes, count);
    for (size_t at = 0; at < count; at++)
        out->bytes[out->count - count + at] ^= mask[at % 4];
}

static void put_frame(struct run *run, struct guest *guest, unsigned first, const void *bytes, size_t count) {
    uint8_t mask[4];
    put_head(run, guest, first, count, mask);
    put_payload(guest, bytes, count, mask);
}

// The text of the n-th ping, which its pong must have.
static size_t ping_text(char *out, unsigned number) {
    size_t count = (size_t)snprintf(out, CONTROL_BYTES_MAX, "%u ", number);
    for (size_t most = number * 37 % 126; count < most; count++)
        out[count] = 'p';
    return count;
}

static void put_control(struct run *run, struct guest *guest) {
    char text[CONTROL_BYTES_MAX + 1];
    if (random_chance(run->random, 300)) {
        put_frame(run, guest, LAST | PONG, "unasked", random_below(run->random, 8));
        return;
    }
    size_t count = ping_text(text, guest->socket.pings++);
    put_frame(run, guest, LAST | PING, text, count);
}

static void put_fragments(struct run *run, struct guest *guest, const uint8_t *body, size_t count) {
    unsigned fragments = random_chance(run->random, 700) ? 1 : 2 + random_below(run->random, FRAGMENTS_MAX);
    bool tiny = count < 100 && random_chance(run->random, 100);
    size_t at = 0;
    for (unsigned number = 0; number == 0 || at < count || number < fragments; number++) {
        size_t piece = count - at;
        bool last = number + 1 >= fragments && !(tiny && piece > 1);
        if (!last)
            piece = tiny && piece ? 1 : random_below(run->random, (uint32_t)piece + 1); // or nothing
        put_frame(run, guest, (number ? CONTINUATION : TEXT) | (last ? LAST : 0U), body + at, piece);
        at += piece;
        if (last)
            return;
        if (random_chance(run->random, 300))
            put_control(run, guest);
    }
}

void sockets_put(struct run *run, struct guest *guest, const void *body, size_t count) {
    if (random_chance(run->random, 100))
        put_control(run, guest);
    put_fragments(run, guest, body, count);
}

// --- The handshake

// Chooses the header fields that stand for each of its messages.
static void choose_standing(struct run *run, struct socket *socket) {
    int count = 0;
    if (random_chance(run->random, 150)) {
        socket->governance = (int)random_below(run->random, 4);
        count = snprintf(socket->fields, sizeof socket->fields, "Governance-Level: %s\r\n",
                         parts_level_names[socket->governance]);
    }
    if (run->profile.silent && random_chance(run->random, 150)) {
        socket->short_timeout = true;
        snprintf(socket->fields + count, sizeof socket->fields - (size_t)count, "Custom-Timeout-Ms: %u\r\n",
                 1 + random_below(run->random, 500));
    }
}

void sockets_begin(struct run *run, struct guest *guest) {
    static const char *const upgrades[] = {"Upgrade: websocket\r\nConnection: Upgrade\r\n",
                                           "connection: keep-alive, upgrade\r\nupgrade:WebSocket\r\n"};
    struct socket *socket = &guest->socket;
    char text[512];
    choose_standing(run, socket);
    socket->asks_protocol = random_chance(run->random, 300);
    int count = snprintf(text, sizeof text,
                         "GET /ws HTTP/1.1\r\nHost: localhost:7412\r\n%s%sSec-WebSocket-Version: 13\r\n"
                         "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n%s\r\n",
                         upgrades[random_below(run->random, 2)], socket->fields,
                         socket->asks_protocol ? "Sec-WebSocket-Protocol: other, hugai.v2\r\n" : "");
    queue_bytes_add(&guest->out, text, (size_t)count);
}

static bool has(struct bit head, const char *text) {
    return memmem(head.bytes, head.count, text, strlen(text)) != NULL;
}

// Nothing more is due.
static void give_up(struct guest *guest) {
    guest->doomed = guest->leaving = guest->silenced = guest->socket.refused = true;
    guest->null_errors++;
}

static void check_upgrade(const struct run *run, struct guest *guest, struct bit head) {
    if (has(head, "HTTP/1.1 503 ") && run->draining) {
        give_up(guest);
        return;
    }
    if (has(head, "HTTP/1.1 408 ") && guest->has_halted) {
        give_up(guest);
        return;
    }
    if (has(head, "HTTP/1.1 431 ") && run->profile.lossy) { // limits change there
        give_up(guest);
        return;
    }
    bool proves = has(head, "\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n");
    bool speaks = has(head, "\r\nSec-WebSocket-Protocol: hugai.v2\r\n");
    if (!has(head, "HTTP/1.1 101 ") || !proves || speaks != guest->socket.asks_protocol ||
        has(head, "Extensions"))
        oracle_fail(run, NOBODY, &(struct naive_frame){.fields = head}, "an upgrade was answered wrongly");
    guest->socket.open = true;
}

static enum naive_result read_upgrade(const struct run *run, struct guest *guest, struct naive_frame *frame,
                                      struct bit came) {
    const uint8_t *end = memmem(came.bytes, came.count, "\r\n\r\n", 4);
    if (!end)
        return NAIVE_PARTIAL;
    frame->bytes = (size_t)(end - came.bytes) + 4;
    check_upgrade(run, guest, (struct bit){came.bytes, frame->bytes});
    return NAIVE_WHOLE;
}

// --- What comes

static void check_pong(const struct run *run, struct socket *socket, struct bit payload) {
    char text[CONTROL_BYTES_MAX + 1];
    size_t count = ping_text(text, socket->pongs);
    if (socket->pongs++ == socket->pings || !bit_equal(payload, (struct bit){(uint8_t *)text, count}))
        oracle_fail(run, NOBODY, &(struct naive_frame){.fields = {(uint8_t *)text, count}, .body = payload},
                    "a pong came that isn't that of the next ping");
}

// Only a silent guest is asked for a sign of life. A guest that reads slowly may have said something since.
static void check_ping(struct run *run, struct guest *guest) {
    uint64_t now_ns = kernel_now(run->world.kernel);
    guest->socket.pinged_ns = now_ns;
    uint64_t silent_ns = now_ns - guest->cable->heard_ns;
    bool slow = guest->piece || run->profile.timed || guest->reads < 1000;
    if (!slow && silent_ns > SLACK_S * SECOND_NS && silent_ns < (SILENCE_S - SLACK_S) * SECOND_NS)
        oracle_fail(run, NOBODY, NULL, "a guest was pinged that isn't silent");
    if (guest->stalled || guest->breaks || guest->halted || guest->shut)
        return;
    bool alone = guest->out.at == guest->out.count;
    put_frame(run, guest, LAST | PONG, "", 0);
    guest->socket.sign_of_life = alone ? guest->out.count : 0;
}

bool sockets_idle(const struct guest *guest) {
    const struct queue_bytes *out = &guest->out;
    bool writes = out->at < out->count;
    return guest->socket.on &&
           (writes ? out->count == guest->socket.sign_of_life : cable_readable(guest->cable) <= PING_BYTES);
}

// Returns whether the hub may close with this code; 0: with none.
static bool code_fits(const struct run *run, const struct guest *guest, unsigned code) {
    const struct socket *socket = &guest->socket;
    bool late = guest->has_halted || guest->stalled;
    if (code == 1009 && run->profile.lossy) // limits are narrow then
        return true;
    if (socket->ends)
        return code == socket->code || (late && (code == 1002 || code == 1001));
    if (code == 1001) // the hub ends, or it gave no sign of life
        return run->draining || guest->deaf || late || guest->piece; // or hadn't come to the ping yet
    return (guest->breaks && code == socket->code) || (guest->exits && code == 1000) ||
           (late && code == 1002);
}

static void check_close(const struct run *run, struct guest *guest, struct bit payload) {
    unsigned code = payload.count ? (unsigned)payload.bytes[0] << 8 | payload.bytes[1] : 0;
    bool crossed = guest->socket.ends && run->draining && code == 1001; // both close at once
    if (payload.count == 1 || (!crossed && !code_fits(run, guest, code))) {
        fprintf(stderr, "  guest %d was closed with %u, and should be with %u: %.*s\n", guest->index, code,
                guest->socket.code, payload.count ? (int)payload.count - 2 : 0,
                (const char *)payload.bytes + 2);
        oracle_fail(run, NOBODY, NULL, "a WebSocket was closed with the wrong code");
    }
    guest->silenced = guest->socket.closed = true;
    guest->null_errors++;
}

static void check_control(struct run *run, struct guest *guest, unsigned opcode, struct bit payload) {
    if (guest->silenced)
        oracle_fail(run, NOBODY, NULL, "a control frame came behind a close");
    if (opcode == PONG)
        check_pong(run, &guest->socket, payload);
    else if (opcode == PING)
        check_ping(run, guest);
    else if (opcode == CLOSE)
        check_close(run, guest, payload);
    else
        oracle_fail(run, NOBODY, NULL, "a frame has an opcode that the hub doesn't send");
}

// The hub sends each message in one frame, without a mask, its length in as few bytes as it needs.
static enum naive_result read_frame(struct run *run, struct guest *guest, struct naive_frame *frame,
                                    struct bit came) {
    if (came.count < 2)
        return NAIVE_PARTIAL;
    unsigned opcode = came.bytes[0] & 15, wide = came.bytes[1] == 126 ? 2 : came.bytes[1] == 127 ? 8 : 0;
    if ((came.bytes[0] & 0xF0) != LAST || came.bytes[1] > 127)
        return NAIVE_BAD;
    if (came.count < 2 + wide)
        return NAIVE_PARTIAL;
    uint64_t count = wide ? 0 : came.bytes[1];
    for (unsigned at = 0; at < wide; at++)
        count = count << 8 | came.bytes[2 + at];
    if ((wide == 2 && count < 126) || (wide == 8 && count <= UINT16_MAX) || (opcode >= CLOSE && wide))
        return NAIVE_BAD;
    if (came.count - 2 - wide < count)
        return NAIVE_PARTIAL;
    struct bit payload = {came.bytes + 2 + wide, count};
    frame->bytes = 2 + wide + count;
    if (opcode == TEXT)
        frame->body = payload;
    else
        check_control(run, guest, opcode, payload);
    return NAIVE_WHOLE;
}

enum naive_result sockets_read(struct run *run, struct guest *guest, struct naive_frame *frame,
                               const uint8_t *bytes, size_t count) {
    *frame = (struct naive_frame){.headless = true};
    if (guest->socket.refused) { // the rest of why
        frame->bytes = count;
        return NAIVE_WHOLE;
    }
    if (!guest->socket.open)
        return read_upgrade(run, guest, frame, (struct bit){bytes, count});
    return read_frame(run, guest, frame, (struct bit){bytes, count});
}

// --- Ends

void sockets_close(struct run *run, struct guest *guest) {
    static const uint16_t codes[] = {0, 1000, 1001, 1008, 3000, 4999};
    unsigned code = codes[random_below(run->random, 6)];
    uint8_t payload[] = {(uint8_t)(code >> 8), (uint8_t)code, 'b', 'y', 'e'};
    put_frame(run, guest, LAST | CLOSE, payload, code ? 2 + random_below(run->random, 4) : 0);
    guest->socket.ends = guest->doomed = guest->leaving = true;
    guest->socket.code = (uint16_t)code;
    guest->plan = 0;
}

struct fault {
    const char *bytes; // the mask is one of zeros
    size_t count;
    uint16_t code;
};

#define FAULT(text, code)                                                                                    \
    { text, sizeof(text) - 1, code }

static const struct fault faults[] = {
    FAULT("\x81\x02{}", 1002),
    FAULT("\xc1\x82\0\0\0\0{}", 1002),
    FAULT("\xa1\x82\0\0\0\0{}", 1002),
    FAULT("\x91\x82\0\0\0\0{}", 1002),
    FAULT("\xc9\x80\0\0\0\0", 1002),
    FAULT("\x83\x82\0\0\0\0{}", 1002),
    FAULT("\x8b\x80\0\0\0\0", 1002),
    FAULT("\x80\x82\0\0\0\0{}", 1002),
    FAULT("\x01\x81\0\0\0\0{\x81\x81\0\0\0\0}", 1002),
    FAULT("\x01\x81\0\0\0\0{\x82\x81\0\0\0\0}", 1002),
    FAULT("\x09\x80\0\0\0\0", 1002),
    FAULT("\x89\xfe\0\x7e\0\0\0\0", 1002),
    FAULT("\x81\xfe\0\x02\0\0\0\0{}", 1002),
    FAULT("\x81\xff\0\0\0\0\0\0\xff\xff\0\0\0\0", 1002),
    FAULT("\x88\x82\0\0\0\0\x03\xed", 1002),
    FAULT("\x88\x81\0\0\0\0\x03", 1002),
    FAULT("\x82\x82\0\0\0\0{}", 1003),
    FAULT("\x02\x80\0\0\0\0", 1003),
    FAULT("\x81\x83\0\0\0\0\"\xff\"", 1007),
    FAULT("\x01\x82\0\0\0\0\"\xe2\x8a\x80\0\0\0\0\x80\x82\0\0\0\0\x82\"", 1007),
    FAULT("\x81\x83\0\0\0\0\"\xe2\x82", 1007),
    FAULT("\x81\xff\0\0\x01\0\0\0\0\0\0\0\0\0{", 1009),
    FAULT("\x01\x82\0\0\0\0{}\x80\xff\0\0\x01\0\0\0\0\0\0\0\0\0{", 1009),
};

// Over the limit also by one byte, in its last fragment.
void sockets_junk(struct run *run, struct guest *guest) {
    const struct fault *fault = &faults[random_below(run->random, sizeof faults / sizeof *faults)];
    uint64_t most = run->limits.frame_bytes_max;
    if (fault->code == 1009 && random_chance(run->random, 500)) { // just one byte too many
        uint8_t mask[4];
        put_head(run, guest, TEXT, 1, mask);
        put_payload(guest, (const uint8_t *)"{", 1, mask);
        put_head(run, guest, LAST | CONTINUATION, most, mask);
    } else {
        queue_bytes_add(&guest->out, fault->bytes, fault->count);
    }
    guest->socket.code = fault->code;
    guest->breaks = guest->doomed = guest->leaving = true;
}

void sockets_stall(struct run *run, struct guest *guest) {
    static const struct fault starts[] = {FAULT("\x81", 1002), FAULT("\x81\xfe\x01\0\0\0\0\0{", 1002),
                                          FAULT("\x01\x81\0\0\0\0{", 1002),
                                          FAULT("\x01\x80\0\0\0\0\x89\x85\0\0", 1002)};
    const struct fault *start = &starts[random_below(run->random, 4)];
    queue_bytes_add(&guest->out, start->bytes, start->count);
    guest->socket.code = start->code;
}

// --- Judgement

bool sockets_silent(const struct guest *guest) {
    return guest->socket.on &&
           guest->cable->closed_ns >= guest->cable->heard_ns + (SILENCE_S + ANSWER_S - SLACK_S) * SECOND_NS;
}

bool sockets_turned_away(const struct run *run, const struct guest *guest) {
    bool waits = guest->caller.on || (guest->socket.on && !guest->socket.open);
    waits |= guest->subscriber.on && !guest->subscriber.open;
    return waits && run->world.kept_bytes && !guest->in.count;
}

void sockets_end(const struct run *run, const struct guest *guest) {
    if (guest->socket.on && !guest->socket.closed && !guest->socket.refused &&
        (guest->socket.open || !run->draining))
        oracle_fail(run, NOBODY, NULL, "a WebSocket was ended without a close");
}

static bool is_settled(const struct guest *guest) {
    return guest->socket.on && guest->socket.open && !guest->gone && !guest->doomed && !guest->ended_by_hub &&
           !guest->deaf && !guest->halted && guest->out.at == guest->out.count;
}

void sockets_rest(const struct run *run) {
    for (unsigned index = 0; index < run->guest_count; index++) {
        const struct guest *guest = run->guests[index];
        if (is_settled(guest) && guest->socket.pongs != guest->socket.pings)
            oracle_fail(run, NOBODY, NULL, "a ping was not answered");
    }
}

void sockets_check(const struct run *run, uint64_t next_ns) {
    for (unsigned index = 0; index < run->guest_count; index++) {
        const struct guest *guest = run->guests[index];
        if (!is_settled(guest) || cable_hub_closed(guest->cable) || guest->cable->reset ||
            cable_unread(guest->cable) || cable_readable(guest->cable))
            continue;
        if (next_ns > guest->cable->heard_ns + (SILENCE_S + SLACK_S) * SECOND_NS)
            oracle_fail(run, NOBODY, NULL, "a silent guest was not pinged");
    }
}
