// The grammar of JSON text (RFC 8259), as far as the hub reads it: in place, lazily, without a tree.
// Positions are offsets into the text, so results stay valid when the bytes move.
//
// Every text must have BUFFER_SLACK_BYTES readable bytes behind its end; what they hold doesn't matter.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_type {
    JSON_NONE,
    JSON_STRING,
    JSON_NUMBER,
    JSON_OBJECT,
    JSON_ARRAY,
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL
};

// A stretch of the text. A string's span holds its quotes.
struct span {
    uint32_t at;
    uint32_t bytes;
};

// One member of an object (key is its span with quotes) or element of an array (key.bytes is 0).
struct json_item {
    struct span key;
    struct span value;
    enum json_type type;
};

// Walks the members or elements of one object or array.
struct json_walk {
    const uint8_t *text;
    uint32_t at;
    uint32_t end;
    bool object;
    bool begun;
};

// Ends of `json_next`.
enum json_step { JSON_ITEM, JSON_END, JSON_BAD };

// Begins a walk of `value`, an object or array of which only the outside need be known.
void json_walk_begin(struct json_walk *walk, const uint8_t *text, struct span value);
// The next item. Keys are judged as JSON strings and scalar values as JSON tokens; containers are skipped
// over, judged only for balance. JSON_BAD when the grammar is broken; the walk is then over.
enum json_step json_next(struct json_walk *walk, struct json_item *item);

// The first member of the object `value` whose key means `key`; type JSON_NONE when there is none or it is no
// object.
struct json_item json_member(const uint8_t *text, struct span value, const char *key);
// Read a member of one type. json_member_true returns whether the member is true. json_member_whole returns a whole number,
// 0 where the member is none. json_member_text decodes a string and returns its bytes, SIZE_MAX where the member is no
// string or has more than `capacity` bytes.
bool json_member_true(const uint8_t *text, struct span value, const char *key);
uint64_t json_member_whole(const uint8_t *text, struct span value, const char *key);
size_t json_member_text(const uint8_t *text, struct span value, const char *key, char *out, size_t capacity);

// Decodes a string: its escapes undone, as UTF-8 (a lone surrogate becomes U+FFFD). Writes up to `capacity`
// bytes and no zero byte. Returns the number of bytes. Returns SIZE_MAX when it would be more than capacity
// or is no JSON string.
size_t json_string_decode(const uint8_t *text, struct span string, char *out, size_t capacity);
// Decodes as much of a string as fits, cut between two characters. Returns the number of bytes; 0 where it is no JSON
// string from its begin on.
size_t json_string_decode_begin(const uint8_t *text, struct span string, char *out, size_t capacity);
// How many of the first `most` bytes of a text in UTF-8 are whole characters.
size_t json_cut_at_character(const char *text, size_t bytes, size_t most);
// Whether a string means `literal`, or begins with what that means.
bool json_string_is(const uint8_t *text, struct span string, const char *literal);
bool json_string_begins(const uint8_t *text, struct span string, const char *literal);

// Whether it has quotes at both ends, as a string's span does.
bool json_string_quoted(const uint8_t *text, struct span string);
// Whether two strings of different texts mean the same.
bool json_strings_same(const uint8_t *text, struct span value, const uint8_t *other_text, struct span other);
// Returns whether two scalars of different texts mean the same. Strings are compared by their decoded text, numbers by
// their exact value, all others by their bytes. Numbers that json_number_decode can't write are compared by their bytes.
bool json_same(const uint8_t *text, struct span value, const uint8_t *other_text, struct span other);

// --- The base of the lookup and the walk. `at` and `end` are offsets into `text`.

// The first offset from `at` on that is no white space; `end` when there is none.
uint32_t json_skip_space(const uint8_t *text, uint32_t at, uint32_t end);
// The offset behind the string that opens at `at` (text[at] is a quote): only its end is looked for, what is
// inside is not judged. UINT32_MAX when it doesn't end before `end`.
uint32_t json_skip_string(const uint8_t *text, uint32_t at, uint32_t end);
// Returns the place behind a string that must be valid. UINT32_MAX when the string is invalid or doesn't end before
// `end`.
uint32_t json_skip_valid_string(const uint8_t *text, uint32_t at, uint32_t end);
// Returns the offset behind the object or array that opens at `at`. Strings are skipped over, and brackets of
// both kinds are counted together. Where as many have closed as have opened, the value ends, and that bracket
// must be of the kind that opened it. Brackets in between are not judged by kind, as nothing else is judged
// there. A backslash outside a string, which is no JSON, takes the next byte's meaning as one inside does.
// Any depth, without memory for it. Returns UINT32_MAX when the value doesn't close before `end`, or is
// closed by the wrong kind.
uint32_t json_skip_container(const uint8_t *text, uint32_t at, uint32_t end);
// Returns the offset behind the number, true, false or null that begins at `at`, judged as a JSON token, and
// its type. Returns UINT32_MAX when there is none. Bytes behind the token are not looked at: of 01 the 0 is a
// number.
uint32_t json_skip_scalar(const uint8_t *text, uint32_t at, uint32_t end, enum json_type *type);
// Whether all bytes of the text are ASCII, and it so is UTF-8.
bool json_ascii(const uint8_t *text, uint32_t bytes);
// Whether the span is a JSON string token: escapes well formed, no control characters.
bool json_string_valid(const uint8_t *text, struct span string);
// Whether the span is a JSON number token.
bool json_number_valid(const uint8_t *text, struct span number);

// Whether the whole text is one JSON value by grammar, nested JSON_GRAMMAR_DEPTH_MAX deep at most. UTF-8
// isn't judged.
enum { JSON_GRAMMAR_DEPTH_MAX = 1024 };
bool json_valid(const uint8_t *text, uint32_t bytes);
// Judges likewise, byte by byte. Returns the offset at which the text breaks the grammar, or UINT32_MAX when the text is
// valid. The offset of a broken token is its first byte. *too_deep: the text is valid up to the offset, and nested too
// deep from there.
uint32_t json_grammar_fault(const uint8_t *text, uint32_t bytes, bool *too_deep);
bool json_grammar_valid(const uint8_t *text, uint32_t bytes);

// The value of a JSON number token that is a whole number from 0 to 2^53 - 1 however it is written (7, 7.0,
// 70e-1). False when it is anything else.
bool json_number_whole(const uint8_t *text, struct span number, uint64_t *out);
// Writes the value of a JSON number token in the one form that all tokens of this value have, so that equal
// numbers become equal bytes: -1.50 and -15e-1 become -15e-1. Returns their number; SIZE_MAX when it is no
// such token, takes more than `capacity` bytes, or is too large or too small to be told from others.
size_t json_number_decode(const uint8_t *text, struct span number, char *out, size_t capacity);

// --- The vector code: the same results at every level. The best that the processor has is found before main.

enum json_level { JSON_LEVEL_PORTABLE, JSON_LEVEL_AVX2, JSON_LEVEL_AVX512, JSON_LEVELS_COUNT };

enum json_level json_level_in_use(void);
// For tests and benchmarks, while no other thread runs: uses another level. False when the processor lacks
// it.
bool json_level_use(enum json_level level);

// --- Lists of names
//
// The names that a part of an agent's capabilities lists: the strings of an array, or those members of an
// object that aren't false, null, 0 or "".

struct name_list {
    struct json_walk walk;
    bool array;
};

// Begins to read `list`, an array or object of a valid text.
void name_list_begin(struct name_list *listing, const uint8_t *text, struct span list);
// The next name, a JSON string of the text; false when there is none.
bool name_list_next(struct name_list *listing, struct span *name);
// Whether a member of an object counts: it isn't false, null, 0 or "".
bool name_list_truthy(const uint8_t *text, const struct json_item *item);
