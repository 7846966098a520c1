#include "router/engine/shard/option.h"

#include <assert.h>
#include <string.h>

#include "core/base/text.h"
#include "router/engine/shard/feature.h"

// Returns the index of the word that the text is; -1: there is no such word.
static int find_word(const char *const *words, const char *text) {
    assert(words && text);
    for (int at = 0; words[at]; at++)
        if (strcmp(words[at], text) == 0)
            return at;
    return -1;
}

static bool read_word(const char *const *words, const char *text, uint64_t *value) {
    int word = find_word(words, text);
    if (word < 0)
        return false;
    *value = (uint64_t)word;
    return true;
}

static bool read_flag(const char *text, uint64_t *value) {
    static const char *const words[] = {"no", "yes", "false", "true", "off", "on", "0", "1", NULL};
    bool good = read_word(words, text, value);
    *value %= 2;
    return good;
}

static bool read_number(const struct option *option, const char *text, uint64_t *value) {
    assert(option->min <= option->max);
    bool is_time = option->kind == OPTION_TIME || option->kind == OPTION_SPIN;
    bool (*read)(const char *text, uint64_t *out) = option->kind == OPTION_SIZE       ? units_size
                                                    : option->kind == OPTION_FRACTION ? units_fraction
                                                    : is_time                         ? units_time
                                                                                      : units_count;
    bool is_off = is_time && option->min == 0 && (!strcmp(text, "off") || !strcmp(text, "0"));
    bool is_good = (is_off || read(text, value)) && *value >= option->min && *value <= option->max;
    return is_good && (option->kind != OPTION_TIME || *value % 1000000 == 0); // timers count milliseconds
}

bool option_is_value(const struct option *option) {
    return option->kind == OPTION_CHOICE || (option->kind >= OPTION_SPIN && option->kind <= OPTION_TIME);
}

bool option_read(const struct option *option, const char *text, uint64_t *value) {
    assert(option_is_value(option) && text);
    *value = 0;
    return option->kind == OPTION_CHOICE ? read_word(option->choices, text, value)
           : option->kind == OPTION_FLAG ? read_flag(text, value)
                                         : read_number(option, text, value);
}

void option_store(const struct option *option, void *base, uint64_t value) {
    char *field = (char *)base + option->offset;
    uint32_t narrow = (uint32_t)value;
    bool flag = value != 0;
    assert(option->bytes);
    if (option->bytes == sizeof value)
        memcpy(field, &value, sizeof value);
    else if (option->bytes == sizeof narrow)
        memcpy(field, &narrow, sizeof narrow);
    else
        memcpy(field, &flag, sizeof flag);
}

void option_set_presets(const struct feature *const *features, struct hub_settings *settings) {
    for (unsigned number = 0; features && number < FEATURES_MAX; number++) {
        const struct option *rows = features[number] ? features[number]->options : NULL;
        uint64_t value;
        assert(!rows || rows->name);
        for (; rows && rows->name; rows++)
            if (rows->preset && option_is_value(rows) && option_read(rows, rows->preset, &value))
                option_store(rows, settings, value);
    }
}
