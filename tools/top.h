// The parts of `patchbay top`: its data of the hub (top_hub.c), their view (top_view.c), and the terminal
// (top_terminal.c).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/text.h"
#include "core/json/json.h"

// --- Data of the hub

// A copy of an answer of the hub.
struct top_answer {
    uint8_t *text;   // NULL: there is none
    struct span all; // the result
    uint64_t at_ns;
    size_t bytes;
};

struct top_agent {
    struct span id, level,
        state; // in the answer's text; state: of a program that the hub keeps, else 0 bytes
    uint64_t pending, since_ms;
};

enum top_sort { TOP_BY_PENDING, TOP_BY_NAME, TOP_BY_LEVEL, TOP_BY_AGE, TOP_SORTS };

enum { TOP_ALARMS_MAX = 16, TOP_MINUTE = 60 };

struct top_hub {
    struct top_answer now, before, agents; // before: the hub/stats before the last one
    struct top_agent *rows;                // of `agents`
    size_t row_count;
    uint64_t alarms[TOP_MINUTE][TOP_ALARMS_MAX]; // counters that should not rise, of the last answers
    uint64_t answers;
};

// Keeps a copy of an answer to hub/stats or hub/agents. Returns false without memory.
bool top_take_stats(struct top_hub *hub, const uint8_t *text, struct span result, uint64_t now_ns);
bool top_take_agents(struct top_hub *hub, const uint8_t *text, struct span result, uint64_t now_ns);
void top_forget(struct top_hub *hub);
// Returns a number of the last hub/stats by its name; 0 if there is none.
uint64_t top_number(const struct top_hub *hub, const char *name);
// Returns how much a counter rises in a second.
double top_rate(const struct top_hub *hub, const char *name);
// Returns an upper bound of a quantile: of the values that a histogram has recorded between the last two answers,
// `share` don't exceed the bound.
uint64_t top_quantile(const struct top_hub *hub, const char *histogram, double share);
// Writes a decoded string, with '?' for each byte that isn't visible ASCII; "-" for an empty string.
const char *top_name(char *out, size_t room, const uint8_t *text, struct span string);
// Returns whether an agent is a program that the hub keeps, and doesn't start again.
bool top_is_down(const struct top_hub *hub, const struct top_agent *agent);
void top_sort_agents(struct top_hub *hub, enum top_sort by);
// Writes the reasons why the hub isn't well, one a line; nothing if the hub is well.
void top_reasons(const struct top_hub *hub, struct text *out);

// --- The view

enum top_panel { TOP_AGENTS, TOP_WAITING, TOP_LOSSES };

struct top_view {
    unsigned width, height; // 0: no limit
    bool colours;
    enum top_sort sort;
    enum top_panel panel;
    const char *hub; // the hub's URI
};

// Writes the whole screen: lines that end in a line break, within the width and the height.
void top_draw(const struct top_hub *hub, const struct top_view *view, struct text *out);

// --- The terminal

struct terminal;

// Takes over the screen, if standard output is a terminal. Returns NULL, with errno, after a failure.
struct terminal *terminal_open(void);
// Restores the terminal.
void terminal_close(struct terminal *terminal);
// Shows these lines alone, in one write. Returns false when the terminal has gone.
bool terminal_show(struct terminal *terminal, const struct text *lines);
void terminal_size(unsigned *width, unsigned *height);
