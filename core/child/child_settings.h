// The settings of a [child NAME] section. Keys and values come as text; each is judged when it comes.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/governance.h"
#include "core/base/limits.h"
#include "core/base/text.h"

// --- Restarts

// When a child that has ended is started again: after a delay that doubles with each end and begins anew
// when it was well for long enough. Too many failures in a row, and it stays down.

struct restart_policy {
    uint64_t delay_ms, delay_max_ms;
    uint64_t healthy_ms; // so long it must run to be well
    uint32_t limit;      // of failures in a row
};

// Zero bytes: it hasn't ended yet.
struct restart {
    uint32_t ends;     // in a row
    uint32_t failures; // of these
};

// Notes that the child has ended after `ran_ms` (0: the child never came to run). Returns false where the child stays
// down, else true: the child must be started again after *delay_ms.
bool restart_ended(struct restart *restart, const struct restart_policy *policy, uint64_t ran_ms, bool failed,
                   uint64_t *delay_ms);

enum child_protocol { CHILD_PLAIN, CHILD_HERMES, CHILD_MCP };

enum {
    CHILDREN_MAX = 256,
    CHILD_LINE_BYTES = 8 << 10, // of the file
    CHILD_SETTINGS_BYTES = 64 << 10,
};

struct child_settings {
    struct child_settings *next; // the file's, which may be gone before this section is
    _Atomic uint32_t references;
    char name[AGENT_ID_BYTES_MAX + 1];
    enum child_protocol protocol;
    bool lines; // else frames
    bool has_lines;
    bool on_demand;
    bool each;              // an instance a peer that uses it
    bool cancels_acp;       // what the hub cancels itself is said as $/cancel_request
    bool asks_clients;      // of MCP that clients share: the server may ask them
    uint32_t instances;     // of a pool; 1: shared
    uint32_t instances_max; // of each, which is on demand
    uint64_t idle_ms;       // 0: off
    uint64_t start_ms, stop_ms, end_ms;
    bool has_start;
    struct restart_policy restart;
    enum governance level;
    char *directory, *data, *user; // NULL: not given
    struct text command;           // words, each with a zero byte behind it
    size_t command_words;
    // "Pname", "Sname=value", "Fname=path", each with a zero byte behind it: passed, set, read from a file.
    // A start's command may have "Oname=value", too: set by the hub, and no secret.
    struct text variables;
    size_t variable_count;
    bool has_pass;
    struct text methods, tools; // JSON strings with commas between
    struct text all;            // key, value and a zero byte behind each, as they came: to tell a change
};

// An empty section with one reference; NULL when memory is used up or NAME is no agentId.
struct child_settings *child_settings_create(const char *name);
// From any thread. One reference more; returns `settings`.
const struct child_settings *child_settings_hold(const struct child_settings *settings);
// From any thread. NULL is allowed.
void child_settings_drop(const struct child_settings *settings);
// Drops a reference of the settings and of all that are linked behind them; NULL is allowed.
void child_settings_drop_all(struct child_settings *first);

// Whether a fault may show the value that a key has: no other value of the section can hold a secret.
bool child_settings_may_show(const char *key);
// Takes a key and its value. NULL when all is well, else what was expected: static text.
const char *child_settings_set(struct child_settings *settings, const char *key, const char *value);
// All keys have come: fills in what wasn't given. NULL, or what is missing.
const char *child_settings_finish(struct child_settings *settings);
// Whether two sections say the same.
bool child_settings_same(const struct child_settings *one, const struct child_settings *other);

// Hides the values that the section sets in `bytes` bytes of text, which may have been cut; returns how many bytes there are then.
size_t child_settings_hide(const struct child_settings *settings, char *text, size_t bytes);
// Whether secrets come from files, which nobody but the child reads.
bool child_settings_has_files(const struct child_settings *settings);

// Whether a server of MCP has a tool of this name for anybody: its section names all, or names it, or a prefix of it and *.
bool child_settings_has_tool(const struct child_settings *settings, const char *name, size_t bytes);
// Writes the child's capabilities as long as the child hasn't told any itself: a JSON object.
void child_settings_capabilities(const struct child_settings *settings, struct text *out);
