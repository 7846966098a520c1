// The shim around simdjson: UTF-8, and the judgement of a whole text by its DOM parser, whose tree is thrown
// away. The hub judges whole texts by json_valid, which needs no memory. The client judges its inputs by the
// parser, and tests hold json_valid against it.
//
// simdjson refuses numbers that no machine type holds (1e400, a whole number of thirty digits) and lone
// surrogates, which the grammar of RFC 8259 allows. A text that is refused for these is judged again by
// json_grammar_valid. By then the parser has found the text to be UTF-8.
//
// The parser's memory grows to the longest text that it has seen and is then used again. Failures are
// verdicts: the library is built here without its exceptions, and allocates without throwing.

#define SIMDJSON_EXCEPTIONS 0
#include <simdjson.h>

#include <new>

extern "C" {
#include "core/json/json.h"
}
#include "core/base/limits.h"
#include "core/json/simdjson.h"

static_assert(static_cast<size_t>(BUFFER_SLACK_BYTES) >= simdjson::SIMDJSON_PADDING,
              "texts can be parsed where they lie");

struct simdjson_parser {
    simdjson::dom::parser dom;
};

bool simdjson_utf8(const uint8_t *text, size_t bytes) {
    return simdjson::validate_utf8(reinterpret_cast<const char *>(text), bytes);
}

simdjson_parser *simdjson_create(void) {
    return new (std::nothrow) simdjson_parser;
}

void simdjson_destroy(simdjson_parser *parser) {
    delete parser;
}

simdjson_verdict simdjson_validate(simdjson_parser *parser, const uint8_t *text, size_t bytes) {
    switch (parser->dom.parse(text, bytes, false).error()) {
    case simdjson::SUCCESS:
        return SIMDJSON_VALID;
    case simdjson::DEPTH_ERROR:
        return SIMDJSON_TOO_DEEP;
    case simdjson::MEMALLOC:
        return SIMDJSON_NO_MEMORY;
    case simdjson::NUMBER_ERROR:
    case simdjson::STRING_ERROR:
        return json_grammar_valid(text, static_cast<uint32_t>(bytes)) ? SIMDJSON_VALID : SIMDJSON_INVALID;
    default:
        return SIMDJSON_INVALID;
    }
}
