#include "tools/input.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/json/simdjson.h"
#include "core/wire/frame.h"

enum { INPUT_BYTES_MAX = 1 << 30, READ_BYTES = 64 * 1024 };

static const char no_memory[] = "memory is used up";

bool input_is_text(const char *argument) {
    return simdjson_utf8((const uint8_t *)argument, strlen(argument));
}

// --- JSON

static const char *read_stream(struct text *out, FILE *in) {
    char block[READ_BYTES];
    size_t count;
    while ((count = fread(block, 1, sizeof block, in)) > 0) {
        text_add(out, block, count);
        if (out->failed || out->length > INPUT_BYTES_MAX) {
            return out->failed ? no_memory : "it is larger than any message";
        }
    }
    return ferror(in) ? strerror(errno) : NULL;
}

static const char *read_argument(struct text *out, const char *argument) {
    if (strcmp(argument, "-") == 0) {
        return read_stream(out, stdin);
    }
    if (argument[0] != '@') {
        text_put(out, argument);
        return NULL;
    }
    FILE *file = fopen(argument + 1, "re");
    if (file == NULL) {
        return strerror(errno);
    }
    const char *fault = read_stream(out, file);
    fclose(file);
    return fault;
}

// Checks a JSON text, which needs slack behind it for simdjson. Returns NULL or the fault.
static const char *judge(const struct text *json) {
    struct simdjson_parser *parser = simdjson_create();
    if (parser == NULL) {
        return no_memory;
    }
    enum simdjson_verdict verdict =
        json->length == 0 ? SIMDJSON_INVALID
                          : simdjson_validate(parser, (const uint8_t *)json->bytes, json->length);
    simdjson_destroy(parser);
    switch (verdict) {
    case SIMDJSON_VALID:
        return NULL;
    case SIMDJSON_TOO_DEEP:
        return "it is nested too deep";
    case SIMDJSON_NO_MEMORY:
        return no_memory;
    default:
        return "it must be valid JSON";
    }
}

const char *input_json(struct text *json, const char *argument) {
    static const char slack[BUFFER_SLACK_BYTES];
    const char *fault = read_argument(json, argument);
    if (fault != NULL) {
        return fault;
    }
    text_add(json, slack, sizeof slack);
    if (json->failed) {
        return no_memory;
    }
    json->length -= sizeof slack;
    return judge(json);
}

// --- Header fields

// Checks that the lines, behind the client's own line, are one header block. Returns NULL or the fault.
static const char *judge_fields(const struct text *fields) {
    static const struct unit_limits limits = {.header_bytes_max = 1U << 20, .body_bytes_max = 1};
    static const char length_line[] = "Content-Length: 1\r\n";
    struct text block = {0};
    struct unit scan = {0};
    text_put(&block, length_line);
    text_add(&block, fields->bytes, fields->length);
    text_put(&block, "\r\n");
    const char *fault = no_memory;
    if (!block.failed) {
        enum unit_result result = frame_scan(&scan, (const uint8_t *)block.bytes, block.length, &limits);
        fault = result == UNIT_BAD ? unit_fault_text(scan.fault)
                : scan.body_at < block.length
                    ? "it must be one line, NAME: VALUE" // the line has ended the block
                    : NULL;
    }
    text_deinit(&block);
    return fault;
}

const char *input_field(struct text *fields, const char *line) {
    if (strpbrk(line, "\r\n") != NULL) {
        return "it must be one line, NAME: VALUE";
    }
    text_put(fields, line);
    text_add(fields, "\r\n", 3); // with the terminating zero
    if (fields->failed) {
        return no_memory;
    }
    fields->length--;
    return judge_fields(fields);
}
