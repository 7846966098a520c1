#include "router/config_children.h"

#include <assert.h>
#include <string.h>

#include "router/registry/agent_params.h"

static bool is_blank(char byte) {
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static char *trim(char *text) {
    while (is_blank(*text))
        text++;
    size_t bytes = strlen(text);
    while (bytes > 0 && is_blank(text[bytes - 1]))
        text[--bytes] = '\0';
    return text;
}

// --- Sections

static uint32_t count_of(const struct child_settings *first) {
    uint32_t count = 0;
    for (; first; first = first->next)
        count++;
    return count;
}

// Of a name that another source named before, this one counts.
static const char *begin_child(struct config_children *children, const char *name) {
    struct child_settings **link = &children->first;
    assert(!children->child);
    while (*link && strcmp((*link)->name, name) != 0)
        link = &(*link)->next;
    if (*link)
        return "a child that is named once";
    if (count_of(children->first) >= CHILDREN_MAX)
        return "one of 256 children at most";
    children->child = child_settings_create(name);
    return children->child ? NULL : "the name of an agent";
}

static const char *end_child(struct config_children *children) {
    struct child_settings *child = children->child;
    const char *expected = child ? child_settings_finish(child) : NULL;
    children->child = NULL;
    if (!child)
        return NULL;
    if (expected) {
        child_settings_destroy(child);
        return expected;
    }
    struct child_settings **last = &children->first;
    while (*last)
        last = &(*last)->next;
    *last = child;
    return NULL;
}

bool config_end_section(struct config_lines *lines) {
    if (!lines->fault)
        lines->fault = end_child(lines->children);
    lines->is_child = false;
    return !lines->fault;
}

// --- Lines

// The name of a [child NAME] line, or NULL.
static char *child_named(char *line) {
    char *end = strrchr(line, ']');
    if (strncmp(line, "[child", 6) != 0 || !is_blank(line[6]) || !end)
        return NULL;
    *end = '\0';
    return trim(line + 7);
}

// As of any agent that registers.
static const char *judge_methods(const struct child_settings *child) {
    struct text text;
    text_init(&text);
    child_settings_capabilities(child, &text);
    struct span all = {0, (uint32_t)text.length};
    const char *field, *expected = "less, as memory is used up";
    if (!text.failed)
        expected = agent_params_judge((const uint8_t *)text.bytes, all, &field);
    text_deinit(&text);
    return expected;
}

static const char *take_key(struct config_children *children, char *line) {
    char *value = strchr(line, '=');
    if (!value)
        return "a key, = and a value";
    *value++ = '\0';
    if (!children->child)
        return "a child's section";
    const char *key = trim(line), *expected = child_settings_set(children->child, key, trim(value));
    return expected || strcmp(key, "methods") != 0 ? expected : judge_methods(children->child);
}

// True when the line, which is trimmed, is a child's.
static bool take_line(struct config_lines *lines, char *line) {
    if (*line == '[') {
        char *name = child_named(line);
        if (lines->is_child && !config_end_section(lines))
            return true;
        lines->is_child = name != NULL;
        if (name)
            lines->fault = begin_child(lines->children, name);
        return name != NULL;
    }
    if (!lines->is_child)
        return false;
    if (*line && *line != '#' && *line != ';')
        lines->fault = take_key(lines->children, line);
    return true;
}

// What is no child's goes to inih as far as it has room.
static char *hand_on(char *out, int capacity, const char *line, size_t bytes) {
    bool fits = bytes + 2 <= (size_t)capacity;
    if (!fits)
        return *line == '#' || *line == ';' ? strcpy(out, ";\n") : strcpy(out, "?");
    memcpy(out, line, bytes);
    out[bytes] = '\n';
    out[bytes + 1] = '\0';
    return out;
}

char *config_read_line(char *out, int capacity, void *context) {
    struct config_lines *lines = context;
    static char line[CHILD_LINE_BYTES + 3], copy[CHILD_LINE_BYTES + 3];
    size_t used = 0;
    int byte = EOF;
    assert(capacity > 2);
    if (lines->fault)
        return NULL;
    lines->count++;
    while (used < sizeof line - 1 && (byte = fgetc(lines->file)) != EOF && byte != '\n')
        line[used++] = (char)byte;
    if (byte == EOF && used == 0)
        return NULL;
    used -= used > 0 && line[used - 1] == '\r' && (byte == '\n' || byte == EOF); // of the line's end
    bool whole = used <= CHILD_LINE_BYTES && !memchr(line, '\0', used);
    while (byte != '\n' && byte != EOF)
        byte = fgetc(lines->file);
    line[used] = '\0';
    char *begin = trim(line);
    if (!whole && *begin != '#' && *begin != ';') {
        lines->fault = lines->is_child ? "a line of up to 8K without zero bytes" : NULL;
        return strcpy(out, "?");
    }
    if (take_line(lines, strcpy(copy, begin)))
        return lines->fault ? strcpy(out, "?") : strcpy(out, "\n");
    return hand_on(out, capacity, begin, strlen(begin));
}

void config_forget_children(struct config_children *children) {
    if (children->child)
        child_settings_destroy(children->child);
    child_settings_destroy_all(children->first);
    *children = (struct config_children){0};
}

// --- The command line

bool config_extension(struct config_children *children, const char *text) {
    char name[AGENT_ID_BYTES_MAX + 1];
    size_t bytes = strcspn(text, "=");
    const char *expected = "NAME=COMMAND";
    if (text[bytes] && bytes < sizeof name && !children->child) {
        memcpy(name, text, bytes);
        name[bytes] = '\0';
        expected = begin_child(children, name);
        if (!expected)
            expected = child_settings_set(children->child, "protocol", "hermes");
        if (!expected)
            expected = child_settings_set(children->child, "command", text + bytes + 1);
        if (!expected)
            return !end_child(children);
    }
    if (children->child)
        child_settings_destroy(children->child);
    children->child = NULL;
    fprintf(stderr, "patchbayd: --extension: '%s' is not %s\n", text, expected);
    return false;
}
