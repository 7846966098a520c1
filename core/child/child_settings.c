#include "core/child/child_settings.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/agents/agent.h"
#include "core/base/argv.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/log/log_secret.h"
#include "core/log/secret_variant.h"

// --- Settings

#define PASSED "HOME LANG LOGNAME PATH SHELL TERM TMPDIR USER"

static const char separators[] = ", \t";

struct child_settings *child_settings_create(const char *name) {
    struct child_settings *settings = NULL;
    if (agent_id_valid(name, strlen(name)))
        settings = memory_take_zeroed(1, sizeof *settings);
    if (!settings)
        return NULL;
    atomic_init(&settings->references, 1);
    strcpy(settings->name, name);
    settings->instances = 1;
    settings->instances_max = 64;
    settings->start_ms = 10000;
    settings->stop_ms = 5000;
    settings->end_ms = 2000;
    settings->restart =
        (struct restart_policy){.delay_ms = 100, .delay_max_ms = 30000, .healthy_ms = 60000, .limit = 8};
    return settings;
}

const struct child_settings *child_settings_hold(const struct child_settings *settings) {
    struct child_settings *held = (struct child_settings *)(uintptr_t)settings;
    uint32_t before = atomic_fetch_add_explicit(&held->references, 1, memory_order_relaxed);
    assert(before > 0 && before < UINT32_MAX);
    (void)before;
    return settings;
}

static void destroy(struct child_settings *settings) {
    text_deinit(&settings->command);
    text_deinit(&settings->variables);
    text_deinit(&settings->methods);
    text_deinit(&settings->tools);
    text_deinit(&settings->all);
    memory_give(settings->directory);
    memory_give(settings->data);
    memory_give(settings->user);
    memory_give(settings);
}

void child_settings_drop(const struct child_settings *settings) {
    struct child_settings *dropped = (struct child_settings *)(uintptr_t)settings;
    if (!dropped)
        return;
    uint32_t before = atomic_fetch_sub_explicit(&dropped->references, 1, memory_order_acq_rel);
    assert(before > 0);
    if (before == 1)
        destroy(dropped);
}

void child_settings_drop_all(struct child_settings *first) {
    for (struct child_settings *next; first; first = next) {
        next = first->next;
        child_settings_drop(first);
    }
}

// --- Kinds of values. Each returns NULL, or what was expected.

static const char *set_text(char **field, const char *value) {
    size_t bytes = strlen(value) + 1;
    char *copy = *value ? memory_take(bytes) : NULL;
    if (!copy)
        return "a text that isn't empty";
    memory_give(*field);
    *field = memcpy(copy, value, bytes);
    return NULL;
}

static const char *set_time(uint64_t *field, const char *value, bool may_be_off) {
    uint64_t ns = 0;
    bool off = may_be_off && strcmp(value, "off") == 0;
    if (!off && (!units_time(value, &ns) || ns < 1000000 || ns / 1000000 > 86400000))
        return may_be_off ? "off, or a time such as 250ms, 5s or 10m, from 1ms to 24h"
                          : "a time such as 250ms, 5s or 10m, from 1ms to 24h";
    *field = ns / 1000000;
    return NULL;
}

static const char *set_count(uint32_t *field, const char *value, uint64_t max, const char *expected) {
    uint64_t count = 0;
    if (!units_count(value, &count) || count > max)
        return expected;
    *field = (uint32_t)count;
    return NULL;
}

// Returns the index of `value` in `names`, which NULL ends; -1: not in there.
static int one_of(const char *value, const char *const *names) {
    for (int index = 0; names[index]; index++)
        if (strcmp(names[index], value) == 0)
            return index;
    return -1;
}

static const char *set_list(struct text *field, const char *value) {
    assert(!field->failed);
    for (value += strspn(value, separators); *value; value += strspn(value, separators)) {
        size_t bytes = strcspn(value, separators);
        if (bytes >= METHOD_BYTES_MAX)
            return "names of up to 255 bytes";
        text_put(field, field->length ? "," : "");
        text_string(field, value, bytes);
        value += bytes;
    }
    return NULL;
}

static bool is_variable(const char *name, size_t bytes) {
    assert(name);
    return bytes > 0 && !memchr(name, '=', bytes);
}

static void add_variable(struct child_settings *settings, char kind, const char *name, size_t bytes,
                         const char *value) {
    assert(kind == 'P' ? !value : value != NULL);
    text_add(&settings->variables, &kind, 1);
    text_add(&settings->variables, name, bytes);
    if (value) {
        text_put(&settings->variables, "=");
        text_put(&settings->variables, value);
    }
    text_add(&settings->variables, "", 1);
    settings->variable_count++;
}

static const char *set_passed(struct child_settings *settings, const char *value) {
    settings->has_pass = true;
    for (value += strspn(value, separators); *value; value += strspn(value, separators)) {
        size_t bytes = strcspn(value, separators);
        if (!is_variable(value, bytes))
            return "names of variables, none with =";
        add_variable(settings, 'P', value, bytes, NULL);
        value += bytes;
    }
    return NULL;
}

static const char *set_command(struct child_settings *settings, const char *value) {
    char *words = memory_take(strlen(value) + 1);
    if (!words)
        return "a command that fits memory";
    settings->command_words = argv_split(value, words);
    bool good = settings->command_words > 0 && settings->command_words != SIZE_MAX;
    size_t name = good ? strcspn(words, "=/") : 0;
    bool sets_variable = name > 0 && words[name] == '=';
    text_deinit(&settings->command);
    const char *at = words;
    for (size_t left = good ? settings->command_words : 0; left > 0; left--, at += strlen(at) + 1)
        text_add(&settings->command, at, strlen(at) + 1);
    memory_give(words);
    if (sets_variable) // else the value, which may be a secret, would be shown as the name of a missing program
        return "a program first: no shell runs, and the key set NAME sets a variable";
    return good ? NULL : "a command with its quotations closed";
}

static const char *set_instances(struct child_settings *settings, const char *value) {
    settings->each = strcmp(value, "each") == 0;
    settings->instances = 1;
    if (settings->each || strcmp(value, "shared") == 0)
        return NULL;
    static const char expected[] = "shared, each or a number from 1 to 64";
    return set_count(&settings->instances, value, 64, expected) || settings->instances == 0 ? expected : NULL;
}

static const char *set_instances_max(struct child_settings *settings, const char *value) {
    static const char expected[] = "a number from 1 to 255";
    const char *fault = set_count(&settings->instances_max, value, CHILDREN_MAX - 1, expected);
    return fault || settings->instances_max == 0 ? expected : NULL;
}

static const char *set_level(struct child_settings *settings, const char *value) {
    enum governance level = governance_parse(value, strlen(value));
    if (level == GOVERNANCE_COUNT)
        return "autonomous, supervised, human-in-the-loop or manual";
    settings->level = level;
    return NULL;
}

static const char *set_choice(struct child_settings *settings, const char *key, const char *value) {
    static const char *const protocols[] = {"plain", "hermes", "mcp", NULL};
    static const char *const framings[] = {"content-length", "lines", NULL};
    static const char *const starts[] = {"at-once", "on-demand", NULL};
    static const char *const answers[] = {"no", "yes", NULL};
    static const char *const cancels[] = {"lsp", "acp", NULL};
    int choice;
    if (strcmp(key, "protocol") == 0) {
        choice = one_of(value, protocols);
        settings->protocol = (enum child_protocol)choice;
        return choice < 0 ? "plain, hermes or mcp" : NULL;
    }
    if (strcmp(key, "framing") == 0) {
        choice = one_of(value, framings);
        settings->lines = choice == 1;
        settings->has_lines = true;
        return choice < 0 ? "content-length or lines" : NULL;
    }
    if (strcmp(key, "cancel") == 0) {
        choice = one_of(value, cancels);
        settings->cancels_acp = choice == 1;
        return choice < 0 ? "lsp or acp" : NULL;
    }
    if (strcmp(key, "ask-clients") == 0) {
        choice = one_of(value, answers);
        settings->asks_clients = choice == 1;
        return choice < 0 ? "yes or no" : NULL;
    }
    assert(strcmp(key, "start") == 0);
    choice = one_of(value, starts);
    settings->on_demand = choice == 1;
    return choice < 0 ? "at-once or on-demand" : NULL;
}

// --- Keys

static const struct {
    const char *key;
    size_t offset;
    bool may_be_off;
} times[] = {
    {"idle", offsetof(struct child_settings, idle_ms), true},
    {"start-timeout", offsetof(struct child_settings, start_ms), false},
    {"stop-timeout", offsetof(struct child_settings, stop_ms), false},
    {"end-timeout", offsetof(struct child_settings, end_ms), false},
    {"healthy", offsetof(struct child_settings, restart.healthy_ms), false},
    {"restart-delay", offsetof(struct child_settings, restart.delay_ms), false},
    {"restart-delay-max", offsetof(struct child_settings, restart.delay_max_ms), false},
};

static uint64_t *time_of(struct child_settings *settings, const char *key, bool *may_be_off) {
    for (size_t index = 0; index < sizeof times / sizeof *times; index++)
        if (strcmp(times[index].key, key) == 0) {
            *may_be_off = times[index].may_be_off;
            return (uint64_t *)((char *)settings + times[index].offset);
        }
    return NULL;
}

// Handles the keys `set NAME` and `secret NAME`.
static const char *set_variable(struct child_settings *settings, const char *key, const char *value) {
    char kind = strncmp(key, "set", 3) == 0 ? 'S' : 'F';
    const char *name = key + (kind == 'S' ? 3 : 6);
    name += strspn(name, " \t");
    size_t bytes = strcspn(name, " \t");
    if (!is_variable(name, bytes) || name[bytes])
        return "the name of a variable behind set or secret";
    if (kind == 'F' && !*value)
        return "a file";
    add_variable(settings, kind, name, bytes, value);
    return NULL;
}

static bool begins_with_word(const char *key, const char *word) {
    size_t bytes = strlen(word);
    return strncmp(key, word, bytes) == 0 && (key[bytes] == ' ' || key[bytes] == '\t');
}

static const char *set_key(struct child_settings *settings, const char *key, const char *value) {
    bool may_be_off = false;
    uint64_t *time = time_of(settings, key, &may_be_off);
    if (time) {
        settings->has_start |= time == &settings->start_ms;
        return set_time(time, value, may_be_off);
    }
    if (begins_with_word(key, "set") || begins_with_word(key, "secret"))
        return set_variable(settings, key, value);
    if (!strcmp(key, "command"))
        return set_command(settings, value);
    if (!strcmp(key, "protocol") || !strcmp(key, "framing") || !strcmp(key, "start") ||
        !strcmp(key, "ask-clients") || !strcmp(key, "cancel"))
        return set_choice(settings, key, value);
    if (!strcmp(key, "instances"))
        return set_instances(settings, value);
    if (!strcmp(key, "max-instances"))
        return set_instances_max(settings, value);
    if (!strcmp(key, "restart-limit"))
        return set_count(&settings->restart.limit, value, 1000000, "a number from 0 to 1000000");
    if (!strcmp(key, "directory"))
        return set_text(&settings->directory, value);
    if (!strcmp(key, "data"))
        return set_text(&settings->data, value);
    if (!strcmp(key, "user"))
        return set_text(&settings->user, value);
    if (!strcmp(key, "pass"))
        return set_passed(settings, value);
    if (!strcmp(key, "methods"))
        return set_list(&settings->methods, value);
    if (!strcmp(key, "tools"))
        return set_list(&settings->tools, value);
    if (!strcmp(key, "level"))
        return set_level(settings, value);
    return "a key of children; patchbay.conf(5) lists them";
}

bool child_settings_may_show(const char *key) {
    static const char *const keys[] = {
        "protocol",      "framing",   "start", "ask-clients", "cancel", "instances", "max-instances",
        "restart-limit", "directory", "data",  "user",        "level",  NULL};
    for (size_t index = 0; index < sizeof times / sizeof *times; index++)
        if (strcmp(times[index].key, key) == 0)
            return true;
    return one_of(key, keys) >= 0;
}

// Returns what two keys must not both set: the variable's name, however it is set, or else the key itself.
static const char *thing_of(const char *key, bool *sets_variable) {
    size_t word = begins_with_word(key, "set") ? 3 : begins_with_word(key, "secret") ? 6 : 0;
    *sets_variable = word > 0;
    return key + word + (word ? strspn(key + word, " \t") : 0);
}

static bool is_given(const struct child_settings *settings, const char *key) {
    bool variable, given_variable;
    const char *thing = thing_of(key, &variable), *first = settings->all.bytes;
    const char *end = first ? first + settings->all.length : NULL;
    assert(!settings->all.failed);
    for (const char *at = first; at && at < end; at += strlen(at) + 1) {
        const char *given = thing_of(at, &given_variable);
        if (variable == given_variable && strcmp(given, thing) == 0)
            return true;
        at += strlen(at) + 1; // skips the value
    }
    return false;
}

const char *child_settings_set(struct child_settings *settings, const char *key, const char *value) {
    if (!settings->all.failed && is_given(settings, key))
        return "a key that is given once";
    if (settings->all.length + strlen(key) + strlen(value) + 2 > CHILD_SETTINGS_BYTES)
        return "less than 64K in all";
    text_add(&settings->all, key, strlen(key) + 1);
    text_add(&settings->all, value, strlen(value) + 1);
    return set_key(settings, key, value);
}

static bool has_failed(const struct child_settings *settings) {
    return settings->command.failed || settings->variables.failed || settings->methods.failed ||
           settings->tools.failed || settings->all.failed;
}

const char *child_settings_finish(struct child_settings *settings) {
    if (!settings->has_pass)
        set_passed(settings, PASSED);
    if (!settings->has_lines)
        settings->lines = settings->protocol == CHILD_MCP;
    if (!settings->has_start && settings->protocol == CHILD_MCP)
        settings->start_ms = 60000;
    settings->on_demand |= settings->each;
    if (settings->restart.delay_max_ms < settings->restart.delay_ms)
        settings->restart.delay_max_ms = settings->restart.delay_ms;
    if (!settings->command_words)
        return "a command";
    return has_failed(settings) ? "less, as memory is used up" : NULL;
}

bool child_settings_same(const struct child_settings *one, const struct child_settings *other) {
    assert(strcmp(one->name, other->name) == 0);
    return one->protocol == other->protocol && one->all.length == other->all.length &&
           memcmp(one->all.bytes, other->all.bytes, one->all.length) == 0;
}

void child_settings_capabilities(const struct child_settings *settings, struct text *out) {
    // An MCP server's tools setting only restricts the server's own list
    bool has_tools = settings->tools.length > 0 && settings->protocol != CHILD_MCP;
    text_put(out, "{");
    if (settings->methods.length) {
        text_put(out, "\"methods\":[");
        text_add(out, settings->methods.bytes, settings->methods.length);
        text_put(out, has_tools ? "]," : "]");
    }
    if (has_tools) {
        text_put(out, "\"tools\":[");
        text_add(out, settings->tools.bytes, settings->tools.length);
        text_put(out, "]");
    }
    text_put(out, "}");
}

// --- Restarts

bool restart_ended(struct restart *restart, const struct restart_policy *policy, uint64_t ran_ms, bool failed,
                   uint64_t *delay_ms) {
    assert(restart->failures <= restart->ends);
    if (ran_ms >= policy->healthy_ms)
        *restart = (struct restart){0};
    uint64_t delay = policy->delay_ms;
    for (uint32_t ends = restart->ends; ends > 0 && delay < policy->delay_max_ms; ends--)
        delay *= 2;
    *delay_ms = delay < policy->delay_max_ms ? delay : policy->delay_max_ms;
    restart->ends += restart->ends < UINT32_MAX;
    restart->failures += failed;
    return !failed || restart->failures <= policy->limit;
}

// --- Secrets

struct shown_text {
    char *text;
    size_t bytes;
};

static void hide_one(void *context, const char *secret, size_t bytes) {
    struct shown_text *shown = context;
    shown->bytes = log_hide_secret(shown->text, shown->bytes, secret, bytes, true);
}

static void hide_variants(void *context, const char *secret, size_t bytes) {
    hide_one(context, secret, bytes);
    if (bytes >= LOG_SECRET_BYTES_MIN)
        secret_variants(secret, bytes, hide_one, context);
}

size_t child_settings_hide(const struct child_settings *settings, char *text, size_t bytes) {
    struct shown_text shown = {text, bytes};
    const char *variable = settings->variables.bytes;
    for (size_t left = settings->variable_count; left > 0; left--, variable += strlen(variable) + 1) {
        const char *value = *variable == 'S' ? strchr(variable, '=') + 1 : "";
        hide_variants(&shown, value, strlen(value));
    }
    bool good =
        log_find_command_secrets(settings->command.bytes, settings->command_words, hide_variants, &shown);
    return good ? shown.bytes : 0;
}

bool child_settings_has_files(const struct child_settings *settings) {
    const char *variable = settings->variables.bytes;
    for (size_t left = settings->variable_count; left > 0; left--, variable += strlen(variable) + 1)
        if (*variable == 'F')
            return true;
    return false;
}

// Searches the list of names: JSON strings without escapes, separated by commas.
bool child_settings_has_tool(const struct child_settings *settings, const char *name, size_t bytes) {
    assert(name || bytes == 0);
    if (settings->protocol != CHILD_MCP || settings->tools.length == 0)
        return true;
    const char *at = settings->tools.bytes, *end = at + settings->tools.length;
    while (at < end) {
        const char *quote = memchr(at + 1, '"', (size_t)(end - at - 1));
        assert(*at == '"' && quote);
        size_t count = (size_t)(quote - at - 1);
        bool is_prefix = count > 0 && at[count] == '*';
        count -= is_prefix;
        if ((is_prefix ? bytes >= count : bytes == count) && memcmp(at + 1, name, count) == 0)
            return true;
        at = quote + 1 + (quote + 1 < end);
    }
    return false;
}
