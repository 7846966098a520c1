// Fuzzes MCP over HTTP: the fields and the body of a request, and what the server says behind it. The first byte
// chooses the path, a session and the shards. Then come lines of the head up to an empty line, the body up to a byte
// 0x1e, and what the server says. There `#` is the id of the request that the server got. Each answer is HTTP, each
// event of it is JSON, and the hub gives everything back.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/child/child_settings.h"
#include "core/json/simdjson.h"
#include "tests/sim/kernel.h"
#include "tests/sim/naive.h"
#include "tests/sim/programs.h"
#include "tests/sim/world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ALL_SERVERS = 1, SESSION = 2, TWO_SHARDS = 4, GET = 8, ROOM = 1 << 16, TURNS = 12 };

static struct {
    struct world world;
    struct program *programs[2];
    uint8_t in[2][ROOM];
    size_t in_count[2];
    const uint8_t *words; // of the server
    size_t word_count;
} stage;

static void require(bool holds) {
    if (!holds)
        abort();
}

static struct child_settings *sections(void) {
    static const char *const rows[][2] = {{"command", "program lines"},
                                          {"protocol", "mcp"},
                                          {"framing", "lines"},
                                          {"data", "/data"},
                                          {"ask-clients", "yes"}};
    struct child_settings *settings = child_settings_create("server");
    require(settings);
    for (unsigned at = 0; at < sizeof rows / sizeof *rows; at++)
        require(!child_settings_set(settings, rows[at][0], rows[at][1]));
    require(!child_settings_finish(settings));
    return settings;
}

// --- The server

static void answer(struct program *program, uint64_t id, const char *result) {
    char line[512];
    int bytes =
        snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%" PRIu64 ",\"result\":%s}\n", id, result);
    cable_write(program->out, line, (size_t)bytes);
}

static void say_words(struct program *program, uint64_t id) {
    char digits[24];
    int bytes = snprintf(digits, sizeof digits, "%" PRIu64, id);
    for (size_t at = 0; at < stage.word_count; at++)
        if (stage.words[at] == '#')
            cable_write(program->out, digits, (size_t)bytes);
        else
            cable_write(program->out, stage.words + at, 1);
}

static void take(struct program *program, struct bit body) {
    struct bit method = naive_find(body, "method");
    uint64_t id = bit_number(naive_find(body, "id"));
    if (bit_is(method, "\"initialize\""))
        answer(program, id,
               "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":"
               "\"s\","
               "\"version\":\"1\"}}");
    else if (bit_is(method, "\"server/discover\""))
        answer(program, id,
               "{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}},\"serverInfo\":{"
               "\"name\":\"s\","
               "\"version\":\"1\"}}");
    else if (bit_is(method, "\"tools/list\""))
        answer(program, id,
               "{\"tools\":[{\"name\":\"work\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"a\":{"
               "\"type\":"
               "\"integer\",\"x-mcp-header\":\"A\"}}}}]}");
    else if (method.bytes && id != UINT64_MAX)
        say_words(program, id);
}

static bool serve(unsigned number) {
    struct program *program = stage.programs[number];
    struct naive_frame frame;
    bool any = false;
    if (!program || program->state != PROGRAM_RUNS || !program->in || !program->out)
        return false;
    uint8_t *in = stage.in[number];
    stage.in_count[number] +=
        cable_read(program->in, in + stage.in_count[number], ROOM - stage.in_count[number]);
    while (stage.in_count[number] && naive_line(&frame, in, stage.in_count[number]) == NAIVE_WHOLE) {
        take(program, frame.body);
        stage.in_count[number] -= frame.bytes;
        memmove(in, in + frame.bytes, stage.in_count[number]);
        any = true;
    }
    return any;
}

static void go(void) {
    unsigned quiet = 0;
    for (unsigned turns = 0; quiet < 2 && turns < TURNS; turns++) {
        world_settle(&stage.world);
        for (struct program *one = programs_first(stage.world.kernel); one; one = one->next)
            for (unsigned at = 0; at < 2 && one->state == PROGRAM_ORDERED; at++)
                if (!stage.programs[at]) {
                    stage.programs[at] = one;
                    one->driven = true;
                    program_start(stage.world.kernel, one);
                }
        quiet = serve(0) || serve(1) ? 0 : quiet + 1;
    }
    world_settle(&stage.world);
}

// Lets time pass, so that the server runs, or what is late is told.
static void pass(uint64_t ns) {
    uint64_t until_ns = kernel_now(stage.world.kernel) + ns;
    for (uint64_t next_ns; (next_ns = world_next_ns(&stage.world)) <= until_ns;) {
        kernel_advance(stage.world.kernel, next_ns);
        go();
    }
    kernel_advance(stage.world.kernel, until_ns);
    go();
}

// --- The client

static bool is_json(const void *text, size_t bytes) {
    static struct simdjson_parser *parser;
    static uint8_t body[ROOM + BUFFER_SLACK_BYTES];
    if (!parser)
        parser = simdjson_create();
    require(bytes < ROOM);
    memcpy(body, text, bytes);
    memset(body + bytes, 0, BUFFER_SLACK_BYTES);
    return simdjson_validate(parser, body, bytes) == SIMDJSON_VALID;
}

// Returns whether all lines of the server are JSON. The digits that stand for # don't matter.
static bool words_are_json(void) {
    static char line[ROOM];
    for (size_t at = 0, bytes; at < stage.word_count; at += bytes + 1) {
        const uint8_t *end = memchr(stage.words + at, '\n', stage.word_count - at);
        bytes = end ? (size_t)(end - stage.words) - at : stage.word_count - at;
        require(bytes < ROOM);
        for (size_t to = 0; to < bytes; to++)
            line[to] = (char)(stage.words[at + to] == '#' ? '1' : stage.words[at + to]);
        if (!is_json(line, bytes))
            return false;
    }
    return true;
}

// Checks that each event is JSON, as long as the server said nothing else: the hub passes on what lies deep in a body
// as the body came, without judging it.
static void check_events(const uint8_t *text, size_t count) {
    for (const uint8_t *at; (at = memmem(text, count, "\ndata: {", 8));) {
        const uint8_t *end = memchr(at + 1, '\n', count - (size_t)(at + 1 - text));
        if (!end)
            return;
        size_t bytes = (size_t)(end - at) - 7;
        require(is_json(at + 7, bytes) || !words_are_json());
        count -= (size_t)(end - text);
        text = end;
    }
}

// Reads all that has come; the session's id, if there is one.
static void hear(struct cable *cable, char *session, size_t capacity) {
    static uint8_t text[ROOM];
    size_t count = cable_read(cable, text, sizeof text - 1);
    text[count] = 0;
    require(count == 0 || memcmp(text, "HTTP/1.1 ", 9) == 0);
    const char *id = strstr((const char *)text, "\r\nMcp-Session-Id: ");
    if (id && capacity)
        snprintf(session, capacity, "%.*s", (int)strcspn(id + 18, "\r"), id + 18);
    check_events(text, count);
}

static void open_session(struct cable *cable, const char *path, char *session, size_t capacity) {
    static const char body[] =
        "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
        "\"2025-11-25\",\"capabilities\":{\"sampling\":{}},\"clientInfo\":{\"name\":\"c\","
        "\"version\":\"1\"}}}";
    char head[512];
    int bytes = snprintf(
        head, sizeof head,
        "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %zu"
        "\r\n\r\n%s",
        path, sizeof body - 1, body);
    cable_write(cable, head, (size_t)bytes);
    go();
    hear(cable, session, capacity);
    require(*session);
}

static void send(struct cable *cable, uint8_t flags, const char *path, const char *session,
                 const uint8_t *fields, size_t field_bytes, const uint8_t *body, size_t bytes) {
    char head[512];
    int count = snprintf(head, sizeof head, "%s %s HTTP/1.1\r\nHost: localhost\r\n%s%s%s",
                         flags & GET ? "GET" : "POST", path, *session ? "Mcp-Session-Id: " : "", session,
                         *session ? "\r\n" : "");
    cable_write(cable, head, (size_t)count);
    for (size_t at = 0; at < field_bytes; at++)
        cable_write(cable, fields[at] == '\n' ? (const void *)"\r\n" : fields + at,
                    fields[at] == '\n' ? 2 : 1);
    count = snprintf(head, sizeof head, "%sContent-Length: %zu\r\n\r\n",
                     field_bytes && fields[field_bytes - 1] != '\n' ? "\r\n" : "", bytes);
    cable_write(cable, head, (size_t)count);
    cable_write(cable, body, bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct world_options options;
    char session[64] = "";
    if (size < 2)
        return 0;
    uint8_t flags = *data++;
    const char *path = flags & ALL_SERVERS ? "/mcp" : "/mcp/server";
    const uint8_t *end = data + size - 1, *blank = memmem(data, size - 1, "\n\n", 2),
                  *body = blank ? blank + 2 : end;
    const uint8_t *words = memchr(body, 0x1e, (size_t)(end - body));
    memset(&stage, 0, sizeof stage);
    world_defaults(&options, flags, flags & TWO_SHARDS ? 2 : 1);
    options.keeps = true;
    options.children = sections;
    world_open(&stage.world, &options);
    programs_hold(stage.world.kernel, true);
    go();
    pass(UINT64_C(1100) * 1000000);
    struct cable *cable = world_dial_http(&stage.world);
    if (flags & SESSION)
        open_session(cable, path, session, sizeof session);
    stage.words = words ? words + 1 : end;
    stage.word_count = (size_t)(end - stage.words);
    send(cable, flags, path, session, data, (size_t)((blank ? blank + 1 : end) - data), body,
         (size_t)((words ? words : end) - body));
    go();
    hear(cable, session, 0);
    cable_close(cable);
    go();
    for (unsigned at = 0; at < 2; at++)
        if (stage.programs[at])
            stage.programs[at]->driven = false;
    programs_hold(stage.world.kernel, false);
    world_stop(&stage.world);
    world_close(&stage.world);
    return 0;
}
