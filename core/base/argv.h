// Splits a command line into words as a shell does. Blanks separate words. '…' keeps its text unchanged. A backslash
// escapes any byte outside quotes, and only $ ` " and \ in "…". Nothing is expanded: no shell runs.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Reads a command line byte by byte. With all other fields zero, the reader begins at `next`.
struct argv_reader {
    const char *next; // the text that is still to be read; ends with a zero byte
    const char *word; // the beginning of the latest word in the text
    char quote;       // the open quotation mark; 0: none
    bool is_in_word;
};

enum argv_part {
    ARGV_BYTE,     // a byte of a word
    ARGV_WORD_END, // `next` is behind the word
    ARGV_UNCLOSED, // the text ends in a word with an open quotation or escape
    ARGV_END,      // there are no more words
};

// Reads the next byte of a word to *byte, or reads the word's end. Skips blanks between words.
enum argv_part argv_read(struct argv_reader *reader, char *byte);

// Writes the words to `out`, each with a zero byte behind it: at most one byte more than the text has. Returns the
// number of words; SIZE_MAX if a quotation or an escape has no end.
size_t argv_split(const char *text, char *out);
