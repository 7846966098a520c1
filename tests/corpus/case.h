// A case of the corpus as it lies in its file: what it needs of the hub, its rows, and its lines. README.md
// tells the format.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CASE_LINES_MAX = 400,
    CASE_ROWS_MAX = 200,
    CASE_COLUMNS_MAX = 6,
    CASE_OPTIONS_MAX = 24,
    CASE_HUBS_MAX = 3,
    CASE_PEERS_MAX = 32
};

// A step, with the lines of a quoted body joined to it.
struct case_line {
    unsigned number; // in the file, from 1
    char *text;
};

struct corpus_case {
    char *path;
    char *bytes; // of the file; all texts lie in it
    char *options;
    char *hubs[CASE_HUBS_MAX]; // names of hubs that are joined, and what each has for options besides
    char *hub_options[CASE_HUBS_MAX];
    unsigned hub_count;             // 0: there is one, without a name
    char *config;                   // the text of a configuration file, or NULL
    char *users;                    // the text of a users file, or NULL
    char *hub_users[CASE_HUBS_MAX]; // of one of several hubs' own, or NULL
    bool lazy, strict;              // the depths in which it holds
    bool sim_only;                  // it needs what only the simulated kernel can do
    bool framed;                    // it says that it holds in frames alone
    bool bytewise;                  // it says that it holds on plain streams of bytes, not on WebSocket
    bool shows_wire;       // it sends bytes as they are, or header fields, or opens peers that speak lines
    uint32_t window_bytes; // simulated: what the kernel keeps for a peer that doesn't read; 0: anything
    char *columns[CASE_COLUMNS_MAX];
    unsigned column_count;
    char *rows[CASE_ROWS_MAX]; // without any it runs once
    unsigned row_count;
    struct case_line lines[CASE_LINES_MAX];
    unsigned line_count;
    unsigned peer_count; // that its lines open, each counted once
};

// Reads a case. NULL, with what is wrong on standard error, when it can't be read or isn't well formed.
struct corpus_case *case_open(const char *path);
void case_close(struct corpus_case *one);

// A line's text with the row's values in it. To be freed.
char *case_fill(const struct corpus_case *one, const struct case_line *line, unsigned row);

// Splits text at blanks into at most `max` words, in place. Returns how many there are.
unsigned case_words(char *text, char **words, unsigned max);
