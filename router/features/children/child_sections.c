#include "router/features/children/child_sections.h"

#include <assert.h>
#include <string.h>

#include "router/registry/agent_params.h"

static uint32_t count_of(const struct child_settings *first) {
    uint32_t count = 0;
    for (; first; first = first->next)
        count++;
    return count;
}

const char *child_section_begin(const struct child_settings *all, const char *name,
                                struct child_settings **section) {
    const struct child_settings *other = all;
    while (other && strcmp(other->name, name) != 0)
        other = other->next;
    if (other)
        return "a child that is named once";
    if (count_of(all) >= CHILDREN_MAX)
        return "one of 256 children at most";
    *section = child_settings_create(name);
    return *section ? NULL : "the name of an agent as the child's: 1 to 255 letters, digits and - _ . : /";
}

// Checks a section's methods as an agent's capabilities are checked at its registration.
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

const char *child_section_set(struct child_settings *section, const char *key, const char *value) {
    const char *expected = child_settings_set(section, key, value);
    return expected || strcmp(key, "methods") != 0 ? expected : judge_methods(section);
}

const char *child_section_end(struct child_settings **all, struct child_settings *section) {
    const char *expected = child_settings_finish(section);
    assert(!section->next);
    if (expected) {
        child_settings_drop(section);
        return expected;
    }
    while (*all)
        all = &(*all)->next;
    *all = section;
    return NULL;
}

const char *child_section_read_option(struct hub_settings *settings, const char *name, const char *text) {
    char child[AGENT_ID_BYTES_MAX + 1];
    size_t bytes = strcspn(text, "=");
    struct child_settings *section;
    assert(strcmp(name, "extension") == 0);
    (void)name;
    if (!text[bytes] || bytes >= sizeof child ||
        *text == '-') // an option of the command, whose name is missing
        return "NAME=COMMAND";
    memcpy(child, text, bytes);
    child[bytes] = '\0';
    const char *expected = child_section_begin(settings->children, child, &section);
    if (expected)
        return expected;
    expected = child_settings_set(section, "protocol", "hermes");
    if (!expected)
        expected = child_settings_set(section, "command", text + bytes + 1);
    if (!expected)
        return child_section_end(&settings->children, section);
    child_settings_drop(section);
    return expected;
}
