// The C interface of simdjson: validity of a whole text, and of its UTF-8. The library chooses its vector code for the
// processor when the program starts.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Returns whether the bytes are well-formed UTF-8 (RFC 3629). Reads nothing past `bytes`.
bool simdjson_utf8(const uint8_t *text, size_t bytes);

// A parser, which keeps memory between documents and belongs to one thread.
struct simdjson_parser;
// Makes a parser. Returns NULL without memory.
struct simdjson_parser *simdjson_create(void);
void simdjson_destroy(struct simdjson_parser *parser);

enum simdjson_verdict { SIMDJSON_VALID, SIMDJSON_INVALID, SIMDJSON_TOO_DEEP, SIMDJSON_NO_MEMORY };

// Judges a whole JSON text by grammar and UTF-8. BUFFER_SLACK_BYTES behind the text must be readable.
enum simdjson_verdict simdjson_validate(struct simdjson_parser *parser, const uint8_t *text, size_t bytes);

#ifdef __cplusplus
}
#endif
