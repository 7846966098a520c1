// The settings of a [child NAME] section. Keys and values come as text. Each value is checked at once.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/governance.h"
#include "core/base/limits.h"
#include "core/base/text.h"

// --- Restarts

// Decides when a child that has ended is started again: after a delay that doubles with each end. After a run of
// healthy_ms the delay begins anew. After too many failures in a row the child stays down.

struct restart_policy {
    uint64_t delay_ms, delay_max_ms;
    uint64_t healthy_ms; // how long a run must last to be healthy
    uint32_t limit;      // failures in a row after which the child stays down
};

// Zeroed: the child hasn't ended yet.
struct restart {
    uint32_t ends;     // ends in a row without a healthy run
    uint32_t failures; // failures among these ends
};

// Notes that the child has ended after `ran_ms` (0: the child never ran). Returns true if the child must be started
// again after *delay_ms; false if the child stays down.
bool restart_ended(struct restart *restart, const struct restart_policy *policy, uint64_t ran_ms, bool failed,
                   uint64_t *delay_ms);

enum child_protocol { CHILD_PLAIN, CHILD_HERMES, CHILD_MCP };

enum {
    CHILDREN_MAX = 256,
    CHILD_LINE_BYTES = 8 << 10, // of a line in the file
    CHILD_SETTINGS_BYTES = 64 << 10,
};

struct child_settings {
    struct child_settings *next; // the next section of the file, which may be freed before this section
    _Atomic uint32_t references;
    char name[AGENT_ID_BYTES_MAX + 1];
    enum child_protocol protocol;
    bool lines; // messages are lines; else frames
    bool has_lines;
    bool on_demand;
    bool each;              // each peer that uses the child gets its own instance
    bool cancels_acp;       // cancels by the hub itself are sent as $/cancel_request
    bool asks_clients;      // of a shared MCP server: the server may send requests to clients
    uint32_t instances;     // of a pool; 1: one shared instance
    uint32_t instances_max; // bound of instances with `each`, where they start on demand
    uint64_t idle_ms;       // 0: off
    uint64_t start_ms, stop_ms, end_ms;
    bool has_start;
    struct restart_policy restart;
    enum governance level;
    char *directory, *data, *user; // NULL: not given
    struct text command;           // words, each with a zero byte at its end
    size_t command_words;
    // "Pname": passed on. "Sname=value": set. "Fname=path": read from a file. Each has a zero byte at its end. A start
    // command may also have "Oname=value": set by the hub, and not secret.
    struct text variables;
    size_t variable_count;
    bool has_pass;
    struct text methods, tools; // JSON strings, separated by commas
    // Every key and value as given, each with a zero byte at its end: shows whether a section has changed
    struct text all;
};

// Makes an empty section with one reference. Returns NULL without memory, or if NAME isn't a valid agentId.
struct child_settings *child_settings_create(const char *name);
// Takes a reference and returns `settings`. May be called from any thread.
const struct child_settings *child_settings_hold(const struct child_settings *settings);
// Drops a reference. NULL is allowed. May be called from any thread.
void child_settings_drop(const struct child_settings *settings);
// Drops a reference of `first` and of all settings linked after it. NULL is allowed.
void child_settings_drop_all(struct child_settings *first);

// Returns whether a fault may show the key's value. Values of other keys may contain a secret.
bool child_settings_may_show(const char *key);
// Takes a key and its value. Returns NULL, or what was expected: static text.
const char *child_settings_set(struct child_settings *settings, const char *key, const char *value);
// Fills in keys that weren't given, after the last key. Returns NULL, or what is missing.
const char *child_settings_finish(struct child_settings *settings);
// Returns whether two sections have the same keys and values.
bool child_settings_same(const struct child_settings *one, const struct child_settings *other);

// Hides the values that the section sets, and the secrets of the command, in a text of `bytes` bytes, which may have
// been cut. Returns the new number of bytes; 0 without memory.
size_t child_settings_hide(const struct child_settings *settings, char *text, size_t bytes);
// Returns whether secrets come from files, which only the child's process reads.
bool child_settings_has_files(const struct child_settings *settings);

// Returns whether clients may use an MCP server's tool of this name. The section allows all tools, or lists the name,
// or lists a prefix and *.
bool child_settings_has_tool(const struct child_settings *settings, const char *name, size_t bytes);
// Writes the child's capabilities, a JSON object, for the time until the child has reported its own.
void child_settings_capabilities(const struct child_settings *settings, struct text *out);
