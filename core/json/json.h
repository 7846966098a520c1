// Reads JSON text (RFC 8259) as far as the hub needs: in place, lazily, without a tree. Positions are offsets into the
// text, so results stay valid when the bytes move.
//
// Every text must have BUFFER_SLACK_BYTES readable bytes behind its end, with any content.
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

// A stretch of the text: offset and bytes. A string's span includes its quotes.
struct span {
    uint32_t at;
    uint32_t bytes;
};

// A member of an object (`key` is the key's span with quotes), or an element of an array (key.bytes is 0).
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

// Results of `json_next`.
enum json_step { JSON_ITEM, JSON_END, JSON_BAD };

// Begins a walk of `value`, an object or array. Only the value's brackets must be known to be good.
void json_walk_begin(struct json_walk *walk, const uint8_t *text, struct span value);
// Reads the next item. Judges keys as JSON strings and scalar values as JSON tokens; skips containers, and judges only
// their balance. Returns JSON_BAD if the grammar is broken; the walk is then over.
enum json_step json_next(struct json_walk *walk, struct json_item *item);

// Returns the first member of the object `value` whose key means `key`. The type is JSON_NONE if there is no such
// member or `value` is no object.
struct json_item json_member(const uint8_t *text, struct span value, const char *key);
// Read a member of one type. json_member_true returns whether the member is true. json_member_whole returns a whole
// number, or 0 if the member is none. json_member_text decodes a string and returns its bytes; SIZE_MAX if the member
// is no string, or has more than `capacity` bytes.
bool json_member_true(const uint8_t *text, struct span value, const char *key);
uint64_t json_member_whole(const uint8_t *text, struct span value, const char *key);
size_t json_member_text(const uint8_t *text, struct span value, const char *key, char *out, size_t capacity);

// Decodes a string's escapes, to UTF-8 (a lone surrogate becomes U+FFFD). Writes up to `capacity` bytes, without a
// terminating zero. Returns the number of bytes; SIZE_MAX if the string needs more than `capacity`, or is no JSON
// string.
size_t json_string_decode(const uint8_t *text, struct span string, char *out, size_t capacity);
// Decodes as much of a string as fits, cut between two characters. Returns the number of bytes; 0 if the span doesn't
// begin as a JSON string.
size_t json_string_decode_begin(const uint8_t *text, struct span string, char *out, size_t capacity);
// Returns how many of the first `most` bytes of a UTF-8 text are whole characters.
size_t json_cut_at_character(const char *text, size_t bytes, size_t most);
// Return whether a string means `literal`, or means a text that begins with `literal`.
bool json_string_is(const uint8_t *text, struct span string, const char *literal);
bool json_string_begins(const uint8_t *text, struct span string, const char *literal);

// Returns whether the span has quotes at both ends, as a string's span does.
bool json_string_quoted(const uint8_t *text, struct span string);
// Returns whether two strings of different texts mean the same.
bool json_strings_same(const uint8_t *text, struct span value, const uint8_t *other_text, struct span other);
// Returns whether two scalars of different texts mean the same. Compares strings by their decoded text, numbers by
// their exact value, and others by their bytes. Compares numbers that json_number_decode can't write by their bytes.
bool json_same(const uint8_t *text, struct span value, const uint8_t *other_text, struct span other);

// --- For the lookup and the walk. `at` and `end` are offsets into `text`.

// Returns the first offset from `at` on that is no white space; `end` if there is none.
uint32_t json_skip_space(const uint8_t *text, uint32_t at, uint32_t end);
// Returns the offset behind the string that opens at `at` (text[at] is a quote). Finds only the string's end, and
// doesn't judge its content. Returns UINT32_MAX if the string doesn't end before `end`.
uint32_t json_skip_string(const uint8_t *text, uint32_t at, uint32_t end);
// Returns the offset behind the string that opens at `at`. Returns UINT32_MAX if the string is invalid or doesn't end
// before `end`.
uint32_t json_skip_valid_string(const uint8_t *text, uint32_t at, uint32_t end);
// Returns the offset behind the object or array that opens at `at`. Skips strings, and counts brackets of both kinds
// together. The value ends when as many brackets have closed as have opened; that last bracket must be of the kind that
// opened the value. Nothing inside is judged, not even the kinds of brackets. A backslash outside a string, which is no
// JSON, escapes the next byte as inside a string. Any depth needs no memory. Returns UINT32_MAX if the value doesn't
// close before `end`, or is closed by the wrong kind.
uint32_t json_skip_container(const uint8_t *text, uint32_t at, uint32_t end);
// Returns the offset behind the number, true, false or null that begins at `at`, and its type. Returns UINT32_MAX if
// there is no such JSON token. Bytes behind the token are not judged: of 01 the 0 is a number.
uint32_t json_skip_scalar(const uint8_t *text, uint32_t at, uint32_t end, enum json_type *type);
// Returns whether all bytes of the text are ASCII, and the text is so UTF-8.
bool json_ascii(const uint8_t *text, uint32_t bytes);
// Returns whether the span is a JSON string token: escapes well formed, no control characters.
bool json_string_valid(const uint8_t *text, struct span string);
// Returns whether the span is a JSON number token.
bool json_number_valid(const uint8_t *text, struct span number);

// Returns whether the whole text is one JSON value by grammar, nested at most JSON_GRAMMAR_DEPTH_MAX deep. UTF-8 isn't
// judged.
enum { JSON_GRAMMAR_DEPTH_MAX = 1024 };
bool json_valid(const uint8_t *text, uint32_t bytes);
// Judges as json_valid, byte by byte. Returns the offset at which the text breaks the grammar, or UINT32_MAX if the
// text is valid. The offset of a broken token is its first byte. *too_deep: the text is valid up to the offset, and
// nested too deep from there.
uint32_t json_grammar_fault(const uint8_t *text, uint32_t bytes, bool *too_deep);
bool json_grammar_valid(const uint8_t *text, uint32_t bytes);

// Reads a JSON number token that is a whole number from 0 to 2^53 - 1, in any spelling (7, 7.0, 70e-1). Returns false
// for any other span.
bool json_number_whole(const uint8_t *text, struct span number, uint64_t *out);
// Writes the value of a JSON number token in one form, so that equal numbers become equal bytes: -1.50 and -15e-1
// become -15e-1. Returns the number of bytes. Returns SIZE_MAX if the span is no such token, takes more than `capacity`
// bytes, or has an exponent too large to compare.
size_t json_number_decode(const uint8_t *text, struct span number, char *out, size_t capacity);

// --- The vector code. All levels give the same results. The processor's best level is chosen before main.

enum json_level { JSON_LEVEL_PORTABLE, JSON_LEVEL_AVX2, JSON_LEVEL_AVX512, JSON_LEVELS_COUNT };

enum json_level json_level_in_use(void);
// Uses another level. For tests and benchmarks, while no other thread runs. Returns false if the processor lacks that
// level.
bool json_level_use(enum json_level level);

// --- Lists of names
//
// Reads the names in a part of an agent's capabilities: the strings of an array, or the keys of an object whose values
// aren't false, null, 0 or "".

struct name_list {
    struct json_walk walk;
    bool array;
};

// Begins to read `list`, an array or object of a valid text.
void name_list_begin(struct name_list *listing, const uint8_t *text, struct span list);
// Reads the next name, a JSON string of the text. Returns false if there is none.
bool name_list_next(struct name_list *listing, struct span *name);
// Returns whether a member of an object counts: its value isn't false, null, 0 or "".
bool name_list_truthy(const uint8_t *text, const struct json_item *item);
