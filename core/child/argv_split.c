#include "core/child/argv_split.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static bool is_blank(char byte) {
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

// Copies what stands in quotes; returns what follows them, or NULL when they have no end.
static const char *quoted(const char *text, char quote, char **out) {
    assert(quote == '\'' || quote == '"');
    for (; *text && *text != quote; text++) {
        if (quote == '"' && *text == '\\' && text[1] && strchr("$`\"\\", text[1]))
            text++;
        *(*out)++ = *text;
    }
    return *text ? text + 1 : NULL;
}

// Copies one word; returns what follows it, or NULL.
static const char *word(const char *text, char **out) {
    assert(*text && !is_blank(*text));
    while (text && *text && !is_blank(*text)) {
        if (*text == '\'' || *text == '"') {
            text = quoted(text + 1, *text, out);
            continue;
        }
        if (*text == '\\' && !*++text)
            return NULL;
        *(*out)++ = *text++;
    }
    return text;
}

size_t argv_split(const char *text, char *out) {
    size_t count = 0;
    for (;; count++) {
        while (is_blank(*text))
            text++;
        if (!*text)
            return count;
        text = word(text, &out);
        if (!text)
            return SIZE_MAX;
        *out++ = '\0';
    }
}
