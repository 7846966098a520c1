// Lines of an INI text: `[SECTION]`, `KEY = VALUE`, comments, blank lines. The configuration and the users file are both of this form.
//
// A line is UTF-8 without zero bytes. `#` or `;` begins a comment at the beginning of a line, behind blanks too; ` ;` begins one
// behind a section or a key. Behind a value its reader decides, as a command may have a semicolon (ini_cut_comment). Lines end in
// LF or CR LF and are not continued. A byte order mark before the first is skipped. Comments may hold any bytes, in any number.
//
// It fails: a line that is none of these is INI_FAULT, with what was expected. The next one is read as if nothing had happened.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INI_LINE_BYTES_MAX = 8 << 10 };

enum ini_kind {
    INI_END,
    INI_SECTION, // `key` is what stands in the brackets
    INI_KEY,     // `key` and `value`; neither has blanks around it, and `value` may be empty
    INI_FAULT,   // `expected` says what was
};

struct ini_line {
    enum ini_kind kind;
    uint32_t number; // from 1 on
    char *key, *value;
    const char *expected; // static text
    bool is_section;      // of a fault: it would have been one, and what follows belongs to none
};

struct ini {
    char *at, *end;
    uint32_t line;   // the last one that was read
    bool is_bounded; // a line that is no comment has INI_LINE_BYTES_MAX at most
};

// Begins to read a text, which stays the caller's: the reader writes zero bytes into it, one behind its end too.
void ini_begin(struct ini *ini, char *text, size_t bytes, bool is_bounded);
// Reads on to the next section, key or fault. What `out` points to stays as long as the text.
void ini_next(struct ini *ini, struct ini_line *out);
// Ends a value where ` ;` begins a comment, and takes the blanks before that away.
void ini_cut_comment(char *value);
// Ends a value that may stand in quotes. The quotes reach from its first byte to the last quote of the line, behind
// which only a comment may stand. Returns the text between the quotes as it is, or the value without quotes.
char *ini_unquote(char *value);
