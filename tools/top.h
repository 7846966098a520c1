// The parts of `patchbay top`: what it knows of the hub (top_hub.c), how that looks (top_view.c), and the
// terminal it is shown on (top_terminal.c).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/text.h"
#include "core/json/json.h"

// --- What is known

// An answer of the hub's, kept.
struct top_answer {
    uint8_t *text;   // NULL: there is none
    struct span all; // its result
    uint64_t at_ns;
    size_t bytes;
};

struct top_agent {
    struct span id, level,
        state; // of the answer's text; state: of a program that the hub keeps, 0 bytes: it is none
    uint64_t pending, since_ms;
};

enum top_sort { TOP_BY_PENDING, TOP_BY_NAME, TOP_BY_LEVEL, TOP_BY_AGE, TOP_SORTS };

enum { TOP_ALARMS_MAX = 16, TOP_MINUTE = 60 };

struct top_hub {
    struct top_answer now, before, agents; // before: the hub/stats before the last one
    struct top_agent *rows;                // of `agents`
    size_t row_count;
    uint64_t alarms[TOP_MINUTE][TOP_ALARMS_MAX]; // counters that should stand still, of the last answers
    uint64_t answers;
};

// Keeps a copy of an answer to hub/stats or hub/agents. False when memory is used up.
bool top_take_stats(struct top_hub *hub, const uint8_t *text, struct span result, uint64_t now_ns);
bool top_take_agents(struct top_hub *hub, const uint8_t *text, struct span result, uint64_t now_ns);
void top_forget(struct top_hub *hub);
// A number of the last hub/stats, by its name; 0 when there is none.
uint64_t top_number(const struct top_hub *hub, const char *name);
// How much a counter rises a second.
double top_rate(const struct top_hub *hub, const char *name);
// An upper bound of the value that `share` of what was recorded between the last two answers doesn't exceed.
uint64_t top_quantile(const struct top_hub *hub, const char *histogram, double share);
// Writes a decoded string, with '?' for all that isn't visible ASCII; "-" where it is empty.
const char *top_name(char *out, size_t room, const uint8_t *text, struct span string);
// Whether it is a program that the hub keeps, and that isn't started again.
bool top_is_down(const struct top_hub *hub, const struct top_agent *agent);
void top_sort_agents(struct top_hub *hub, enum top_sort by);
// Why the hub isn't well, a line each that ends in a line break; nothing when it is.
void top_reasons(const struct top_hub *hub, struct text *out);

// --- How it looks

enum top_panel { TOP_AGENTS, TOP_WAITING, TOP_LOSSES };

struct top_view {
    unsigned width, height; // 0: as much as there is
    bool colours;
    enum top_sort sort;
    enum top_panel panel;
    const char *hub; // its URI
};

// All of the screen, lines that end in a line break, none longer than the width or more than the height.
void top_draw(const struct top_hub *hub, const struct top_view *view, struct text *out);

// --- The terminal

struct terminal;

// Takes the screen over, where standard output is a terminal. NULL, with errno, when it can't.
struct terminal *terminal_open(void);
// Leaves it as it was.
void terminal_close(struct terminal *terminal);
// Shows these lines, and nothing else: one write. False when the terminal has gone.
bool terminal_show(struct terminal *terminal, const struct text *lines);
void terminal_size(unsigned *width, unsigned *height);
