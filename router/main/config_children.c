#include "router/main/config_children.h"

#include <assert.h>
#include <string.h>

#include "router/registry/agent_params.h"

static uint32_t count_of(const struct child_settings *first) {
    uint32_t count = 0;
    for (; first; first = first->next)
        count++;
    return count;
}

const char *config_children_begin(struct config_children *children, const char *name) {
    const struct child_settings *other = children->first;
    assert(!children->child);
    while (other && strcmp(other->name, name) != 0)
        other = other->next;
    if (other)
        return "a child that is named once";
    if (count_of(children->first) >= CHILDREN_MAX)
        return "one of 256 children at most";
    children->child = child_settings_create(name);
    return children->child ? NULL
                           : "the name of an agent as the child's: 1 to 255 letters, digits and - _ . : /";
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

const char *config_children_set(struct config_children *children, const char *key, const char *value) {
    assert(children->child);
    const char *expected = child_settings_set(children->child, key, value);
    return expected || strcmp(key, "methods") != 0 ? expected : judge_methods(children->child);
}

const char *config_children_end(struct config_children *children) {
    struct child_settings *child = children->child;
    assert(child);
    const char *expected = child_settings_finish(child);
    if (expected) {
        config_children_drop(children);
        return expected;
    }
    struct child_settings **last = &children->first;
    while (*last)
        last = &(*last)->next;
    *last = child;
    children->child = NULL;
    return NULL;
}

void config_children_drop(struct config_children *children) {
    if (children->child)
        child_settings_drop(children->child);
    children->child = NULL;
}

const char *config_children_extend(struct config_children *children, const char *text) {
    char name[AGENT_ID_BYTES_MAX + 1];
    size_t bytes = strcspn(text, "=");
    if (!text[bytes] || bytes >= sizeof name)
        return "NAME=COMMAND";
    memcpy(name, text, bytes);
    name[bytes] = '\0';
    const char *expected = config_children_begin(children, name);
    if (!expected)
        expected = child_settings_set(children->child, "protocol", "hermes");
    if (!expected)
        expected = child_settings_set(children->child, "command", text + bytes + 1);
    if (!expected)
        return config_children_end(children);
    config_children_drop(children);
    return expected;
}

void config_children_deinit(struct config_children *children) {
    config_children_drop(children);
    child_settings_drop_all(children->first);
    *children = (struct config_children){0};
}
