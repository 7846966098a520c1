#include "core/base/argv.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

static bool is_blank(char byte) {
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

// Returns whether a backslash escapes the next byte. A backslash at the end of the text is an escape, too.
static bool is_escape(const struct argv_reader *reader) {
    return !reader->quote || (reader->quote == '"' && *reader->next && strchr("$`\"\\", *reader->next));
}

// Ends the reading at the end of the text.
static enum argv_part end_text(struct argv_reader *reader, bool is_closed) {
    bool is_in_word = reader->is_in_word;
    reader->is_in_word = false;
    reader->quote = '\0';
    return !is_closed ? ARGV_UNCLOSED : is_in_word ? ARGV_WORD_END : ARGV_END;
}

enum argv_part argv_read(struct argv_reader *reader, char *byte) {
    assert(reader->is_in_word || !reader->quote);
    for (; *reader->next; reader->next++) {
        char at = *reader->next;
        if (!reader->quote && is_blank(at)) {
            if (!reader->is_in_word)
                continue;
            reader->is_in_word = false;
            return ARGV_WORD_END;
        }
        reader->word = reader->is_in_word ? reader->word : reader->next;
        reader->is_in_word = true;
        if (reader->quote ? at == reader->quote : at == '\'' || at == '"') {
            reader->quote = reader->quote ? '\0' : at;
            continue;
        }
        reader->next++;
        if (at == '\\' && is_escape(reader)) {
            if (!*reader->next)
                return end_text(reader, false);
            at = *reader->next++;
        }
        *byte = at;
        return ARGV_BYTE;
    }
    return end_text(reader, !reader->quote);
}

size_t argv_split(const char *text, char *out) {
    struct argv_reader reader = {.next = text};
    size_t count = 0;
    for (enum argv_part part; (part = argv_read(&reader, out)) != ARGV_END; out++) {
        if (part == ARGV_UNCLOSED)
            return SIZE_MAX;
        if (part == ARGV_WORD_END) {
            *out = '\0';
            count++;
        }
    }
    return count;
}
