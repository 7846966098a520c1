#include "core/wire/ini.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "core/json/simdjson.h"

static bool is_blank(char byte) {
    return byte == ' ' || byte == '\t' || byte == '\r';
}

static char *skip_blanks(char *text) {
    while (is_blank(*text))
        text++;
    return text;
}

static char *trim(char *text) {
    text = skip_blanks(text);
    size_t bytes = strlen(text);
    while (bytes > 0 && is_blank(text[bytes - 1]))
        text[--bytes] = '\0';
    return text;
}

static bool is_comment(char byte) {
    return byte == '#' || byte == ';';
}

// Returns where a comment behind other text begins, or NULL.
static char *find_comment(char *text) {
    char *at = strchr(text, ';');
    while (at && (at == text || !is_blank(at[-1])))
        at = strchr(at + 1, ';');
    return at;
}

void ini_cut_comment(char *value) {
    char *comment = *value == ';' ? value : find_comment(value);
    if (comment)
        *comment = '\0';
    size_t bytes = strlen(value);
    while (bytes > 0 && is_blank(value[bytes - 1]))
        value[--bytes] = '\0';
}

char *ini_unquote(char *value) {
    char *end = *value == '"' ? strrchr(value + 1, '"') : NULL;
    const char *rest = end ? skip_blanks(end + 1) : NULL;
    if (!end || (*rest && *rest != ';')) {
        ini_cut_comment(value);
        return value;
    }
    *end = '\0';
    return value + 1;
}

const char *ini_shown_key(char *key) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
    enum { SHOWN_BYTES_MAX = 32 };
    size_t bytes = strspn(key, letters);
    if (bytes == 0 || bytes > SHOWN_BYTES_MAX || (key[bytes] && !is_blank(key[bytes])))
        return NULL;
    key[bytes] = '\0';
    return key;
}

void ini_begin(struct ini *ini, char *text, size_t bytes, bool is_bounded) {
    static const char mark[] = "\xef\xbb\xbf";
    bool is_marked = bytes >= sizeof mark - 1 && memcmp(text, mark, sizeof mark - 1) == 0;
    *ini = (struct ini){.at = text, .end = text + bytes, .is_bounded = is_bounded};
    if (is_marked)
        ini->at += sizeof mark - 1;
    text[bytes] = '\0';
}

static void fail(struct ini_line *out, const char *expected) {
    out->kind = INI_FAULT;
    out->expected = expected;
}

static void read_section(char *line, struct ini_line *out) {
    ini_cut_comment(line);
    size_t bytes = strlen(line);
    assert(*line == '[');
    if (bytes < 2 || line[bytes - 1] != ']') {
        fail(out, "a section's name in [ and ]");
        return;
    }
    line[bytes - 1] = '\0';
    out->kind = INI_SECTION;
    out->key = trim(line + 1);
}

static void read_key(char *line, struct ini_line *out) {
    char *equals = strchr(line, '='), *comment = find_comment(line);
    if (!equals || equals == line || (comment && comment < equals)) {
        fail(out, "KEY = VALUE");
        return;
    }
    *equals = '\0';
    out->kind = INI_KEY;
    out->key = trim(line);
    out->value = trim(equals + 1);
}

// Reads a line. Returns false for a comment or a blank line.
static bool read_line(const struct ini *ini, char *line, size_t bytes, struct ini_line *out) {
    char *begin = skip_blanks(line);
    size_t blank = (size_t)(begin - line);
    if (blank == bytes || is_comment(*begin))
        return false;
    bool fits = !ini->is_bounded || bytes - blank <= INI_LINE_BYTES_MAX;
    out->is_section = *begin == '[';
    if (!fits || memchr(line, '\0', bytes) || !simdjson_utf8((const uint8_t *)line, bytes))
        fail(out, fits ? "a line of UTF-8 without zero bytes" : "a line of up to 8K without zero bytes");
    else if (*begin == '[')
        read_section(begin, out);
    else
        read_key(begin, out);
    return true;
}

void ini_next(struct ini *ini, struct ini_line *out) {
    assert(ini->at <= ini->end);
    *out = (struct ini_line){.kind = INI_END};
    while (ini->at < ini->end) {
        char *line = ini->at, *feed = memchr(line, '\n', (size_t)(ini->end - line));
        char *end = feed ? feed : ini->end;
        ini->at = feed ? feed + 1 : ini->end;
        out->number = ++ini->line;
        end -= end > line && end[-1] == '\r'; // the CR of a CR LF
        *end = '\0';
        if (read_line(ini, line, (size_t)(end - line), out))
            return;
    }
}
