// Reads the lines of an INI text: `[SECTION]`, `KEY = VALUE`, comments, blank lines. The configuration and the users
// file both have this form.
//
// A line is UTF-8 without zero bytes. `#` or `;` begins a comment at the beginning of a line, also after blanks; ` ;`
// begins a comment behind a section or a key. Behind a value the reader of the value decides, since a command may have
// a semicolon (ini_cut_comment). Lines end in LF or CR LF; there are no continued lines. A byte order mark before the
// first line is skipped. Comments may have any bytes, in any number.
//
// Any other line is INI_FAULT, with the expected form. The next line is read as usual.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INI_LINE_BYTES_MAX = 8 << 10 };

enum ini_kind {
    INI_END,
    INI_SECTION, // `key` is the text in the brackets
    INI_KEY,     // `key` and `value`; neither has blanks around it, and `value` may be empty
    INI_FAULT,   // `expected` is the expected form
};

struct ini_line {
    enum ini_kind kind;
    uint32_t number; // number of the line, from 1 on
    char *key, *value;
    const char *expected; // static text
    bool is_section; // of a fault: the line begins a section; the lines up to the next section belong to none
};

struct ini {
    char *at, *end;
    uint32_t line;   // number of the last line that was read
    bool is_bounded; // a line other than a comment may have INI_LINE_BYTES_MAX at most
};

// Begins to read a text, which stays the caller's. The reader writes zero bytes into the text, and one behind its end.
void ini_begin(struct ini *ini, char *text, size_t bytes, bool is_bounded);
// Reads on to the next section, key or fault. The pointers in `out` are valid as long as the text.
void ini_next(struct ini *ini, struct ini_line *out);
// Cuts a value before a comment, which ` ;` begins, and removes the blanks at its end.
void ini_cut_comment(char *value);
// Ends a value that may be in quotes. The quotes reach from the value's first byte to the last quote of the line. Only
// a comment may stand behind. Returns the unchanged text between the quotes, or the value without quotes.
char *ini_unquote(char *value);
// Returns the part of an unknown key or section that a fault may show: the first word, if that is up to 32 letters, `-`
// and `_`. All other text may be a secret, of a line such as `command --token SECRET --x=1`. Cuts the key. NULL:
// nothing may be shown.
const char *ini_shown_key(char *key);
