// Fuzzes the judge of whole texts. The first byte fills the slack behind the rest, which is the text. All
// levels of vector code must agree with the judge that goes byte by byte. They must agree with simdjson, too,
// where the text is UTF-8 and not too deep for it.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/json/json.h"
#include "core/json/simdjson.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds)
        abort();
}

static void judge(const uint8_t *text, uint32_t bytes) {
    static struct simdjson_parser *parser;
    if (!parser)
        parser = simdjson_create();
    bool too_deep;
    uint32_t fault = json_grammar_fault(text, bytes, &too_deep);
    require(fault == UINT32_MAX || fault <= bytes);
    bool valid = fault == UINT32_MAX;
    for (enum json_level level = JSON_LEVEL_PORTABLE; level < JSON_LEVELS_COUNT; level++)
        require(!json_level_use(level) || json_valid(text, bytes) == valid);
    enum simdjson_verdict verdict = simdjson_validate(parser, text, bytes);
    if (verdict == SIMDJSON_VALID)
        require(valid);
    else if (verdict == SIMDJSON_INVALID && simdjson_utf8(text, bytes))
        require(!valid);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2)
        return 0;
    size_t bytes = size - 1;
    uint8_t *text = malloc(bytes + BUFFER_SLACK_BYTES); // of just that size, so that a read past it is seen
    if (!text)
        return 0;
    memcpy(text, data + 1, bytes);
    memset(text + bytes, data[0], BUFFER_SLACK_BYTES);
    judge(text, (uint32_t)bytes);
    free(text);
    return 0;
}
