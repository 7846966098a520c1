// A command line, split into words as a shell would: blanks separate; '…' keeps what is in it; in "…" a
// backslash stands before $ ` " and \, outside before anything. Nothing is expanded: no shell runs.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Reads a command line byte by byte. A reader whose other fields are zero begins at `next`.
struct argv_reader {
    const char *next; // the text behind what has been read; ends with a zero byte
    const char *word; // where the latest word begins in the text
    char quote;       // the quotation mark that is open; 0: none is
    bool is_in_word;
};

enum argv_part {
    ARGV_BYTE,     // a byte of a word
    ARGV_WORD_END, // `next` is behind the word
    ARGV_UNCLOSED, // the text ends in the word, whose quotation or escape has no end
    ARGV_END,      // there are no more words
};

// Reads on to the next byte of a word, which goes to *byte, or to the word's end. Blanks between words are skipped.
enum argv_part argv_read(struct argv_reader *reader, char *byte);

// Writes the words to `out`, each with a zero byte behind it: never more bytes than the text and one. Returns
// how many there are; SIZE_MAX when a quotation or an escape has no end.
size_t argv_split(const char *text, char *out);
