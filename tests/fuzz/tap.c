// Fuzzes what taps and lists of pending requests show. The input is the params of hub/tap and hub/pending up to the
// first line feed, and the body of a request up to the next. Nobody answers that request. The rest is said as well. A
// tap without params sees all that taps may see. The other one is refused, or sees those entries that its pattern of
// methods matches.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json/simdjson.h"
#include "io/log.h"
#include "tests/sim/kernel.h"
#include "tests/sim/naive.h"
#include "tests/sim/world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NUMBERS_MAX = 64, METHOD_BYTES = 512, TEXT_BYTES = 1024 };

static void require(bool holds) {
    if (!holds)
        abort();
}

// A connection that taps, and the messages of which it has seen entries.
struct tapper {
    struct cable *cable;
    bool is_on, is_refused;
    unsigned count;
    uint64_t numbers[NUMBERS_MAX];
    char methods[NUMBERS_MAX][METHOD_BYTES]; // as JSON; empty: longer
};

static void say(struct cable *cable, const char *before, struct bit text, const char *behind) {
    char head[64];
    size_t bytes = strlen(before) + text.count + strlen(behind);
    cable_write(cable, head, (size_t)snprintf(head, sizeof head, "Content-Length: %zu\r\n\r\n", bytes));
    cable_write(cable, before, strlen(before));
    cable_write(cable, text.bytes, text.count);
    cable_write(cable, behind, strlen(behind));
}

static void take_entries(struct tapper *tapper, struct bit body) {
    struct bit entries = naive_find(body, "params.entries");
    struct naive_item item;
    size_t at = 0;
    require(tapper->is_on && entries.bytes);
    while (naive_next(entries, &at, &item) && tapper->count < NUMBERS_MAX) {
        struct bit method = naive_find(item.value, "method");
        require(method.bytes && method.count > 2);
        tapper->numbers[tapper->count] = bit_number(naive_find(item.value, "n"));
        tapper->methods[tapper->count][0] = 0;
        if (method.count < METHOD_BYTES)
            snprintf(tapper->methods[tapper->count], METHOD_BYTES, "%.*s", (int)method.count,
                     (const char *)method.bytes);
        tapper->count++;
    }
}

static void take_frame(struct tapper *tapper, struct bit body) {
    struct bit id = naive_find(body, "id");
    if (bit_is(naive_find(body, "method"), "\"hub/tapped\"")) {
        take_entries(tapper, body);
    } else if (id.bytes && bit_is(id, "\"tap\"")) {
        tapper->is_on = naive_find(body, "result.tap").bytes != NULL;
        tapper->is_refused = !tapper->is_on;
        require(tapper->is_on || bit_integer(naive_find(body, "error.code")) < 0);
    }
}

// Everything that has come is JSON in frames.
static void hear(struct tapper *tapper) {
    static struct simdjson_parser *parser;
    size_t count = cable_readable(tapper->cable);
    uint8_t *bytes = malloc(count + BUFFER_SLACK_BYTES);
    if (!parser)
        parser = simdjson_create();
    require(parser && bytes && cable_read(tapper->cable, bytes, count) == count);
    memset(bytes + count, 0, BUFFER_SLACK_BYTES);
    struct naive_frame frame;
    for (size_t at = 0; at < count; at += frame.bytes) {
        require(naive_frame(&frame, bytes + at, count - at) == NAIVE_WHOLE);
        require(simdjson_validate(parser, frame.body.bytes, frame.body.count) == SIMDJSON_VALID);
        take_frame(tapper, frame.body);
    }
    free(bytes);
}

// Returns whether a pattern matches a method, both as they lie in JSON, without escapes.
static bool matches(struct bit pattern, const char *method) {
    size_t bytes = pattern.count - 2, method_bytes = strlen(method) - 2;
    bool is_prefix = pattern.bytes[bytes] == '*';
    bytes -= is_prefix;
    return (is_prefix ? method_bytes >= bytes : method_bytes == bytes) &&
           memcmp(pattern.bytes + 1, method + 1, bytes) == 0;
}

static bool has_entry(const struct tapper *tapper, uint64_t number) {
    for (unsigned at = 0; at < tapper->count; at++)
        if (tapper->numbers[at] == number)
            return true;
    return false;
}

// `text`: the params of the tap that chooses.
static void compare(const struct tapper *all, const struct tapper *some, struct bit text) {
    bool is_plain = some->is_on && !memchr(text.bytes, '\\', text.count);
    struct bit method = is_plain ? naive_find(text, "method") : (struct bit){0};
    bool has_others = !is_plain || naive_find(text, "agent").bytes || naive_find(text, "slowMs").bytes ||
                      naive_find(text, "errors").bytes || naive_find(text, "rate").bytes ||
                      naive_find(text, "body").bytes;
    for (unsigned at = 0; at < some->count; at++)
        require(has_entry(all, some->numbers[at]));
    for (unsigned at = 0; is_plain && at < all->count && all->count < NUMBERS_MAX; at++) {
        bool is_known = all->methods[at][0] && !strchr(all->methods[at], '\\');
        bool is_wanted = is_known && (!method.bytes || matches(method, all->methods[at]));
        bool is_shown = has_entry(some, all->numbers[at]);
        require(!is_known || is_wanted || !is_shown);
        require(!is_wanted || is_shown || has_others);
    }
}

static struct bit next_line(const uint8_t **at, const uint8_t *end) {
    const uint8_t *begin = *at, *line_end = begin < end ? memchr(begin, '\n', (size_t)(end - begin)) : NULL;
    line_end = line_end ? line_end : end;
    *at = line_end < end ? line_end + 1 : end;
    return (struct bit){begin, (size_t)(line_end - begin)};
}

static void play(struct world *world, struct bit params, const uint8_t *rest, const uint8_t *end) {
    static struct tapper all, some;
    struct cable *source = world_dial(world);
    memset(&all, 0, sizeof all);
    memset(&some, 0, sizeof some);
    all.cable = world_dial(world);
    some.cable = world_dial(world);
    say(all.cable, "{\"jsonrpc\":\"2.0\",\"id\":\"tap\",\"method\":\"hub/tap\",\"params\":",
        (struct bit){(const uint8_t *)"{}", 2}, "}");
    say(some.cable, "{\"jsonrpc\":\"2.0\",\"id\":\"tap\",\"method\":\"hub/tap\",\"params\":", params, "}");
    say(source, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"agent/register\",\"params\":",
        (struct bit){(const uint8_t *)"{\"agentId\":\"a\",\"capabilities\":{}}", 33}, "}");
    world_settle(world);
    while (rest < end) {
        say(source, "", next_line(&rest, end), "");
        world_settle(world);
    }
    say(source, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"hub/pending\",\"params\":", params, "}");
    world_settle(world);
    cable_close(source);
    world_settle(world);
    hear(&all);
    hear(&some);
    require(all.is_on);
    if (naive_valid(params))
        compare(&all, &some, params);
    cable_close(all.cable);
    cable_close(some.cable);
    world_settle(world);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static uint8_t text[TEXT_BYTES + BUFFER_SLACK_BYTES];
    struct world world;
    struct world_options options;
    if (size < 3 || size > TEXT_BYTES)
        return 0;
    log_mute(true); // of taps that begin and end
    memset(text, 0, sizeof text);
    memcpy(text, data, size);
    const uint8_t *at = text + 1, *end = text + size;
    world_defaults(&options, text[0], 1 + (text[0] >> 7));
    options.limits.connections_max = 8;
    options.faults.lent_max = 2;
    world_open(&world, &options);
    struct bit params = next_line(&at, end);
    play(&world, params, at, end);
    world_stop(&world);
    world_close(&world);
    return 0;
}
