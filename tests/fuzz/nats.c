// Fuzzes the scanner of a NATS server's words. The input's first two bytes choose how the rest is cut. The
// rest must be read alike whole and cut, and as a second, naive reader of the same rules reads it. Every
// piece is handed over in memory of just its size, so the address sanitizer sees each read past it.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/cluster/hub_header.h"
#include "core/wire/nats.h"
#include "tests/fuzz/cutting.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds)
        abort();
}

struct input {
    const uint8_t *text;
    size_t bytes;
    uint32_t seed;
};

// --- The naive reader: nothing here is shared with the scanner.

struct naive {
    bool bad, whole;
    size_t bytes, body_at, body_bytes;
    unsigned words;
};

static bool naive_size(const char *word, size_t *out) {
    if (!*word || strlen(word) > 9 || strspn(word, "0123456789") != strlen(word))
        return false;
    *out = strtoul(word, NULL, 10);
    return true;
}

// Reads "MSG …" or "HMSG …" without its end.
static struct naive naive_message(char *line, size_t line_bytes, bool has_headers) {
    struct naive naive = {.bad = true};
    char *words[8] = {0}, *rest = NULL;
    for (char *word = strtok_r(line, " ", &rest); word && naive.words < 8; word = strtok_r(NULL, " ", &rest))
        words[naive.words++] = word;
    size_t headers = 0, all = 0;
    unsigned sizes = has_headers ? 2 : 1;
    if (naive.words != 3 + sizes && naive.words != 4 + sizes)
        return naive;
    if (!naive_size(words[naive.words - 1], &all) ||
        (has_headers && !naive_size(words[naive.words - 2], &headers)))
        return naive;
    if (headers > all || all > NATS_PAYLOAD_BYTES_MAX)
        return naive;
    naive.bad = false;
    naive.bytes = line_bytes + all + 2;
    naive.body_at = line_bytes + headers;
    naive.body_bytes = all - headers;
    return naive;
}

static struct naive naive_unit(const uint8_t *text, size_t bytes) {
    static const char *const plain[] = {"INFO", "PING", "PONG", "+OK", "-ERR"};
    struct naive naive = {0};
    const uint8_t *feed = memchr(text, '\n', bytes < NATS_LINE_BYTES_MAX ? bytes : NATS_LINE_BYTES_MAX);
    if (!feed) {
        naive.bad = bytes >= NATS_LINE_BYTES_MAX;
        return naive;
    }
    size_t line_bytes = (size_t)(feed - text) + 1;
    naive.bad = true;
    if (line_bytes < 2 || feed[-1] != '\r' || memchr(text, 0, line_bytes))
        return naive;
    char *line = strndup((const char *)text, line_bytes - 2);
    require(line != NULL);
    size_t verb = strcspn(line, " ");
    if ((verb == 3 && strncasecmp(line, "MSG", 3) == 0) || (verb == 4 && strncasecmp(line, "HMSG", 4) == 0)) {
        naive = naive_message(line, line_bytes, verb == 4);
    } else {
        for (size_t at = 0; at < sizeof plain / sizeof *plain; at++)
            naive.bad &= verb != strlen(plain[at]) || strncasecmp(line, plain[at], verb) != 0;
        naive.bytes = naive.body_at = line_bytes;
    }
    free(line);
    if (naive.bad || bytes < naive.bytes)
        return naive;
    naive.bad = memcmp(text + naive.bytes - 2, "\r\n", 2) != 0;
    naive.whole = !naive.bad;
    return naive;
}

// --- The scanner

static enum unit_result scan_copy(struct unit *unit, const uint8_t *text, size_t bytes) {
    static const struct unit_limits limits = {16, 16};
    uint8_t *copy = malloc(bytes ? bytes : 1);
    require(copy != NULL);
    if (bytes)
        memcpy(copy, text, bytes);
    enum unit_result result = nats_scan(unit, copy, bytes, &limits);
    if (result == UNIT_WHOLE) {
        struct nats_message message;
        struct hub_header header;
        nats_read(copy, unit, &message);
        require(message.headers.bytes == 0 || message.headers.at + message.headers.bytes == unit->body_at);
        (void)nats_status(copy, message.headers);
        hub_header_read(copy, message.headers, NULL, &header);
        require(!header.is_present ||
                header.user.at + header.user.bytes <= message.headers.at + message.headers.bytes);
        require(!header.is_present ||
                header.agent.at + header.agent.bytes <= message.headers.at + message.headers.bytes);
        require(!header.is_present ||
                header.from.at + header.from.bytes <= message.headers.at + message.headers.bytes);
        if (header.is_present)
            (void)frame_offset_original(copy + header.from.at, header.from.bytes, 7);
    }
    free(copy);
    return result;
}

static void read_all(struct input *input, bool cut) {
    size_t come = 0;
    for (size_t at = 0; at < input->bytes;) {
        struct unit unit;
        enum unit_result result = UNIT_OPEN;
        struct naive naive = naive_unit(input->text + at, input->bytes - at);
        unit_begin(&unit);
        for (;;) {
            result = scan_copy(&unit, input->text + at, come);
            if (result >= UNIT_WHOLE || come == input->bytes - at)
                break;
            come += cutting_next(&input->seed, input->bytes - at - come, cut);
        }
        // A line with a zero byte isn't the naive reader's to judge.
        const uint8_t *feed = memchr(input->text + at, '\n', input->bytes - at);
        if (feed && memchr(input->text + at, 0, (size_t)(feed - input->text) - at))
            return;
        require((result == UNIT_BAD) == naive.bad);
        require((result == UNIT_WHOLE) == naive.whole);
        if (result != UNIT_WHOLE)
            return;
        require(unit.bytes == naive.bytes && unit.body_at == naive.body_at &&
                unit.body_bytes == naive.body_bytes);
        come -= unit.bytes;
        at += unit.bytes;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2)
        return 0;
    struct input input = {data + 2, size - 2, (uint32_t)data[0] << 8 | data[1]};
    read_all(&input, false);
    read_all(&input, true);
    return 0;
}
