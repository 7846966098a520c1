#include "tests/corpus/case.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rights/digest.h"

// --- The file

static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    char *bytes = NULL;
    size_t count = 0;
    FILE *memory = open_memstream(&bytes, &count);
    char piece[4096];
    for (size_t got; (got = fread(piece, 1, sizeof piece, file)) > 0;)
        fwrite(piece, 1, got, memory);
    fclose(file);
    fclose(memory);
    if (strlen(bytes) == count)
        return bytes;
    free(bytes);
    return NULL;
}

struct reader {
    struct corpus_case *one;
    char *next; // line, or NULL
    unsigned number;
    const char *peers[CASE_PEERS_MAX]; // the names of the case's, with what follows each
};

// The next line without its line end; NULL at the end of the file.
static char *take_line(struct reader *reader) {
    char *line = reader->next;
    if (!line)
        return NULL;
    char *end = strchr(line, '\n');
    if (end)
        *end = '\0';
    reader->next = end && end[1] ? end + 1 : NULL;
    reader->number++;
    return line;
}

__attribute__((format(printf, 2, 3))) static bool complain(const struct reader *reader, const char *format,
                                                           ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s:%u: ", reader->one->path, reader->number);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return false;
}

// --- Lines before the steps

static const char *after(const char *line, const char *word) {
    size_t bytes = strlen(word);
    if (strncmp(line, word, bytes) != 0 || (line[bytes] && line[bytes] != ' '))
        return NULL;
    return line + bytes + strspn(line + bytes, " ");
}

unsigned case_words(char *text, char **words, unsigned max) {
    unsigned count = 0;
    for (char *word = strtok(text, " "); word && count < max; word = strtok(NULL, " "))
        words[count++] = word;
    return count;
}

// Rows are the indented lines that follow.
static bool read_each(struct reader *reader, char *names) {
    struct corpus_case *one = reader->one;
    if (one->row_count)
        return complain(reader, "a case has one table");
    for (char *name = strtok(names, " |"); name; name = strtok(NULL, " |")) {
        if (one->column_count == CASE_COLUMNS_MAX)
            return complain(reader, "too many columns");
        one->columns[one->column_count++] = name;
    }
    while (reader->next && strncmp(reader->next, "  ", 2) == 0) {
        if (one->row_count == CASE_ROWS_MAX)
            return complain(reader, "too many rows");
        one->rows[one->row_count++] = take_line(reader) + 2;
    }
    return one->column_count && one->row_count ? true : complain(reader, "a table has columns and rows");
}

// The file's lines are the indented ones that follow.
static bool read_config(struct reader *reader) {
    struct corpus_case *one = reader->one;
    size_t count = 0;
    if (one->config)
        return complain(reader, "a case has one configuration");
    FILE *memory = open_memstream(&one->config, &count);
    while (reader->next && strncmp(reader->next, "  ", 2) == 0)
        fprintf(memory, "%s\n", take_line(reader) + 2);
    fclose(memory);
    one->sim_only = true;
    return count > 0 || complain(reader, "a configuration has lines");
}

// Where it says <TEXT> a line gets the digest of that token.
static void put_users_line(FILE *out, char *line) {
    char *begin = strchr(line, '<'), *end = begin ? strchr(begin, '>') : NULL;
    struct digest digest;
    char text[DIGEST_TEXT_BYTES];
    if (!end) {
        fprintf(out, "%s\n", line);
        return;
    }
    digest_make(begin + 1, (size_t)(end - begin - 1), &digest);
    digest_text(&digest, text);
    fprintf(out, "%.*s%.*s%s\n", (int)(begin - line), line, DIGEST_TEXT_BYTES, text, end + 1);
}

// NULL: there is no such hub, or it has one already.
static char **users_of(struct corpus_case *one, const char *hub) {
    if (!*hub)
        return one->users ? NULL : &one->users;
    for (unsigned at = 0; at < one->hub_count; at++)
        if (strcmp(one->hubs[at], hub) == 0)
            return one->hub_users[at] ? NULL : &one->hub_users[at];
    return NULL;
}

// As a configuration; `hub`: of which one, where there are several.
static bool read_users(struct reader *reader, const char *hub) {
    struct corpus_case *one = reader->one;
    char **users = users_of(one, hub);
    size_t count = 0;
    if (!users)
        return complain(reader, "a case, and each of its hubs, has one file of users");
    FILE *memory = open_memstream(users, &count);
    while (reader->next && strncmp(reader->next, "  ", 2) == 0)
        put_users_line(memory, take_line(reader) + 2);
    fclose(memory);
    one->sim_only = true;
    return count > 0 || complain(reader, "a file of users has lines");
}

static bool read_depth(struct reader *reader, const char *depth) {
    reader->one->lazy = strcmp(depth, "lazy") == 0;
    reader->one->strict = strcmp(depth, "strict") == 0;
    return reader->one->lazy || reader->one->strict || complain(reader, "a depth is lazy or strict");
}

static bool read_sim(struct reader *reader, const char *rest) {
    const char *window = after(rest, "window");
    reader->one->sim_only = true;
    reader->one->window_bytes = window ? (uint32_t)strtoul(window, NULL, 10) : 0;
    return !*rest || reader->one->window_bytes || complain(reader, "`sim`, or `sim window BYTES`");
}

// `hub OPTIONS`, or `hub NAME [OPTIONS]` of one of several.
static bool read_hub(struct reader *reader, char *rest) {
    struct corpus_case *one = reader->one;
    if (*rest == '-' || !*rest) {
        one->options = rest;
        return true;
    }
    if (one->hub_count == CASE_HUBS_MAX)
        return complain(reader, "too many hubs");
    size_t name = strcspn(rest, " ");
    one->hub_options[one->hub_count] = rest + name + (rest[name] != '\0');
    rest[name] = '\0';
    one->hubs[one->hub_count++] = rest;
    return true;
}

// Returns whether the line was one of these; *good tells whether it was well formed.
static bool read_head(struct reader *reader, char *line, bool *good) {
    const char *rest;
    if ((rest = after(line, "hub")))
        *good = read_hub(reader, line + (rest - line));
    else if (after(line, "config"))
        *good = read_config(reader);
    else if ((rest = after(line, "users")))
        *good = read_users(reader, rest);
    else if ((rest = after(line, "depth")))
        *good = read_depth(reader, rest);
    else if ((rest = after(line, "sim")))
        *good = read_sim(reader, rest);
    else if (after(line, "framed"))
        reader->one->framed = true;
    else if (after(line, "bytewise"))
        reader->one->bytewise = true;
    else if ((rest = after(line, "each")))
        *good = read_each(reader, line + (rest - line));
    else
        return false;
    return true;
}

// --- Steps

// Returns whether the step makes a difference between wires: `[Name:` stands between a peer's name and a
// body.
static bool shows_wire(const char *line) {
    const char *rest = strchr(line, ' ');
    if (after(line, "lines") || after(line, "http") || (rest && strncmp(rest, " >> ", 4) == 0))
        return true;
    if (!rest || (strncmp(rest, " > [", 4) && strncmp(rest, " < [", 4) && strncmp(rest, " <~ [", 5)))
        return false;
    const char *name = strchr(rest, '[') + 1;
    size_t bytes = strcspn(name, ": ,]\"{}[");
    return bytes && name[bytes] == ':';
}

static bool is_word(const char *word, size_t bytes, const char *other, size_t other_bytes) {
    return bytes == other_bytes && memcmp(word, other, bytes) == 0;
}

static bool opens_peers(const char *line, bool *one) {
    *one = after(line, "agent") != NULL;
    return *one || after(line, "peer") || after(line, "lines") || after(line, "http");
}

// Counts the peers that a step opens and that none before it has opened.
static void count_peers(struct reader *reader, const char *line) {
    bool one;
    if (!opens_peers(line, &one))
        return;
    for (const char *word = strchr(line, ' '); word && *word;) {
        word += strspn(word, " ");
        size_t bytes = strcspn(word, " ");
        unsigned at = 0;
        while (at < reader->one->peer_count &&
               !is_word(word, bytes, reader->peers[at], strcspn(reader->peers[at], " ")))
            at++;
        if (bytes && at == reader->one->peer_count && at < CASE_PEERS_MAX)
            reader->peers[reader->one->peer_count++] = word;
        word = one ? NULL : word + bytes;
    }
}

static bool ends_in_quotes(const char *line) {
    size_t bytes = strlen(line);
    return bytes > 4 && strcmp(line + bytes - 4, " \"\"\"") == 0;
}

// Joins the lines up to the closing quotes to the step; they replace the opening ones.
static bool read_quoted(struct reader *reader, char *line) {
    char *out = line + strlen(line) - 3;
    for (char *piece; (piece = take_line(reader));) {
        if (strcmp(piece, "\"\"\"") == 0) {
            out[-1] = '\0'; // the last line end
            return true;
        }
        size_t bytes = strlen(piece);
        memmove(out, piece, bytes);
        out[bytes] = '\n';
        out += bytes + 1;
    }
    return complain(reader, "the quotes are never closed");
}

static bool read_step(struct reader *reader, char *line) {
    struct corpus_case *one = reader->one;
    if (one->line_count == CASE_LINES_MAX)
        return complain(reader, "too many lines");
    one->lines[one->line_count++] = (struct case_line){reader->number, line};
    one->shows_wire |= shows_wire(line);
    count_peers(reader, line);
    return !ends_in_quotes(line) || read_quoted(reader, line);
}

static bool read_lines(struct reader *reader) {
    bool good = true;
    for (char *line; good && (line = take_line(reader));) {
        if (!*line || *line == '#')
            continue;
        if (reader->one->line_count || !read_head(reader, line, &good))
            good = read_step(reader, line);
    }
    return good && (reader->one->line_count || complain(reader, "there are no steps"));
}

struct corpus_case *case_open(const char *path) {
    static char none[] = "";
    struct corpus_case *one = calloc(1, sizeof *one);
    char *bytes = one ? read_file(path) : NULL;
    if (!bytes) {
        fprintf(stderr, "%s can't be read as text\n", path);
        free(one);
        return NULL;
    }
    *one = (struct corpus_case){
        .path = strdup(path), .bytes = bytes, .options = none, .lazy = true, .strict = true};
    if (read_lines(&(struct reader){.one = one, .next = *bytes ? bytes : NULL}))
        return one;
    case_close(one);
    return NULL;
}

void case_close(struct corpus_case *one) {
    free(one->path);
    free(one->config);
    free(one->users);
    for (unsigned at = 0; at < one->hub_count; at++)
        free(one->hub_users[at]);
    free(one->bytes);
    free(one);
}

// --- Rows

// The row's value in a column: what lies between the bars, without the blanks around it.
static const char *cell(const struct corpus_case *one, unsigned row, unsigned column, size_t *bytes) {
    const char *at = one->rows[row];
    for (; column; column--) {
        const char *bar = strstr(at, " | ");
        at = bar ? bar + 3 : at + strlen(at);
    }
    const char *end = one->column_count > 1 ? strstr(at, " | ") : NULL;
    *bytes = end ? (size_t)(end - at) : strlen(at);
    if (one->column_count > 1) {
        size_t lead = strspn(at, " ");
        at += lead < *bytes ? lead : *bytes;
        *bytes -= lead < *bytes ? lead : *bytes;
        while (*bytes && at[*bytes - 1] == ' ')
            --*bytes;
    }
    return at;
}

// Returns the column that `<name>` at this place means, or column_count.
static unsigned column_at(const struct corpus_case *one, const char *at) {
    unsigned column = 0;
    for (; column < one->column_count; column++) {
        size_t bytes = strlen(one->columns[column]);
        if (strncmp(at + 1, one->columns[column], bytes) == 0 && at[1 + bytes] == '>')
            break;
    }
    return column;
}

char *case_fill(const struct corpus_case *one, const struct case_line *line, unsigned row) {
    char *filled = NULL;
    size_t count = 0, bytes;
    FILE *memory = open_memstream(&filled, &count);
    for (const char *at = line->text; *at;) {
        unsigned column = *at == '<' ? column_at(one, at) : one->column_count;
        if (column == one->column_count) {
            fputc(*at++, memory);
            continue;
        }
        const char *value = cell(one, row, column, &bytes);
        fwrite(value, 1, bytes, memory);
        at += strlen(one->columns[column]) + 2;
    }
    fclose(memory);
    return filled;
}
