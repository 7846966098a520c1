// Fuzzes the scanner of lines. The input's first three bytes choose the limit and how the rest is cut. The
// rest must be read alike whole and cut, line for line, and as a second, naive reader of the same rules reads
// it. Every piece is handed over in memory of just its size, so the address sanitizer sees each read past it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds)
        abort();
}

struct input {
    const uint8_t *text;
    size_t bytes;
    struct unit_limits limits;
    uint32_t seed;
};

// The line that starts at `at`: it goes up to `end`, with its line feed if it has one, and so much of it is a
// body. Or it is too long, or a line that HTTP begins with.
struct line {
    size_t end, body_bytes;
    bool too_long, http;
};

// --- The naive reader: nothing here is shared with the scanner.

static struct line naive_line(const struct input *input, size_t at) {
    char *copy = malloc(input->bytes - at + 1);
    require(copy != NULL);
    size_t count = 0;
    struct line line = {.end = at};
    while (line.end < input->bytes) {
        char byte = (char)input->text[line.end++];
        if (byte == '\n')
            break;
        copy[count++] = byte;
    }
    if (count && copy[count - 1] == '\r')
        count--;
    line.too_long = count > input->limits.body_bytes_max;
    line.http = !line.too_long && count > strlen(" HTTP/1.1") && copy[0] >= 'A' && copy[0] <= 'Z' &&
                strncmp(copy + count - strlen(" HTTP/1.1"), " HTTP/", strlen(" HTTP/")) == 0;
    while (line.body_bytes < count && strchr(" \t\r", copy[line.body_bytes]) && copy[line.body_bytes])
        line.body_bytes++;
    line.body_bytes = line.body_bytes == count ? 0 : count;
    free(copy);
    return line;
}

// --- The scanner

static enum unit_result scan_copy(struct unit *unit, const uint8_t *text, size_t bytes,
                                  const struct unit_limits *limits, bool ends) {
    uint8_t *copy = malloc(bytes ? bytes : 1);
    require(copy != NULL);
    if (bytes)
        memcpy(copy, text, bytes);
    enum unit_result result = ends ? lines_end(unit, copy, bytes) : lines_scan(unit, copy, bytes, limits);
    free(copy);
    return result;
}

// How many bytes from `at` on are there when so many were; more of them while there are some.
static size_t more(struct input *input, size_t at, size_t come, bool cut) {
    input->seed = input->seed * 1664525u + 1013904223u;
    size_t step = !cut ? SIZE_MAX : input->seed >> 16 & 1 ? 1 : input->seed >> 20 & 63;
    size_t left = input->bytes - at - come;
    return come + (step < left ? step : left);
}

static struct line scan_line(struct input *input, size_t at, size_t *come, bool cut) {
    const uint8_t *text = input->text + at;
    struct unit unit;
    unit_begin(&unit);
    for (;;) {
        enum unit_result result = scan_copy(&unit, text, *come, &input->limits, false);
        bool all = *come == input->bytes - at;
        if (result == UNIT_OPEN)
            require(*come < lines_open_max(&input->limits) && !unit.length_known);
        if (result == UNIT_OPEN && all)
            result = scan_copy(&unit, text, *come, &input->limits, true);
        if (result == UNIT_OPEN) {
            *come = more(input, at, *come, cut);
            continue;
        }
        if (result == UNIT_BAD) {
            bool http = unit.fault == UNIT_FAULT_HTTP;
            require(http || unit.fault == UNIT_FAULT_BODY_TOO_LARGE);
            require(unit.fault_at == (http ? 0 : input->limits.body_bytes_max));
            require(scan_copy(&unit, text, *come, &input->limits, false) == UNIT_BAD);
            return (struct line){.too_long = !http, .http = http};
        }
        require(result == UNIT_WHOLE && unit.length_known && unit.bytes > 0 && unit.bytes <= *come);
        require(unit.body_at == 0 && unit.fault == UNIT_FAULT_NONE && !unit.canonical);
        require(scan_copy(&unit, text, *come, &input->limits, false) == UNIT_WHOLE);
        return (struct line){.end = at + unit.bytes, .body_bytes = unit.body_bytes};
    }
}

static void read_all(struct input *input, bool cut) {
    size_t come = 0;
    for (size_t at = 0; at < input->bytes;) {
        come = come ? come : more(input, at, come, cut);
        struct line naive = naive_line(input, at), line = scan_line(input, at, &come, cut);
        require(line.too_long == naive.too_long && line.http == naive.http);
        if (line.too_long || line.http)
            return;
        require(line.end == naive.end && line.body_bytes == naive.body_bytes);
        come -= line.end - at;
        at = line.end;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint32_t limits[] = {1, 16, 200, UINT32_MAX - 512};
    if (size < 3)
        return 0;
    struct input input = {.text = data + 3,
                          .bytes = size - 3,
                          .limits = {.header_bytes_max = 24, .body_bytes_max = limits[data[0] & 3]},
                          .seed = (uint32_t)data[1] << 8 | data[2]};
    read_all(&input, false);
    read_all(&input, true);
    return 0;
}
