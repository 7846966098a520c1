#include "core/rights/sections.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/rights/pattern_syntax.h"
#include "core/wire/ini.h"

static const char separators[] = ", \t";

// Adds a zeroed item at the end of a list. Returns NULL without memory.
static void *grow(struct sections *sections, struct section_list *list, size_t item_bytes) {
    assert(list->count <= list->capacity);
    if (list->count == list->capacity) {
        uint32_t capacity = list->capacity ? 2 * list->capacity : 16;
        void *items = memory_resize(list->items, capacity * item_bytes);
        if (!items) {
            sections->failed = true;
            return NULL;
        }
        list->items = items;
        list->capacity = capacity;
    }
    return memset((char *)list->items + list->count++ * item_bytes, 0, item_bytes);
}

void sections_fault(struct sections *sections, uint32_t line, const char *expected) {
    struct users_fault *fault = grow(sections, &sections->faults, sizeof *fault);
    if (fault)
        *fault = (struct users_fault){line, sections->key, expected};
}

static int compare_faults(const void *left, const void *right) {
    const struct users_fault *one = left, *other = right;
    int order = (one->line > other->line) - (one->line < other->line);
    return order ? order : strcmp(one->expected, other->expected);
}

bool sections_tell(struct sections *sections, users_complain *complain, void *context) {
    struct users_fault *faults = sections->faults.items;
    if (sections->faults.count > 0)
        qsort(faults, sections->faults.count, sizeof *faults, compare_faults);
    for (uint32_t at = 0; at < sections->faults.count; at++)
        if (at == 0 || compare_faults(&faults[at - 1], &faults[at]) != 0)
            complain(context, &faults[at]);
    return sections->faults.count == 0;
}

// --- Kinds of values. Each function returns NULL, or the expected text. A value is terminated.

static const char *add_pattern(struct sections *sections, struct section *section, enum right right,
                               bool denied, const char *text, size_t bytes) {
    assert(sections->line > 0 && !(denied && right == RIGHT_HOLD));
    enum right_kind kind;
    struct pattern pattern;
    const char *expected = pattern_syntax_pattern(right, text, bytes, &kind, &pattern);
    if (expected)
        return expected;
    struct section_pattern *added = grow(sections, &sections->patterns, sizeof *added);
    if (!added)
        return NULL;
    pattern.line = sections->line & INT32_MAX;
    *added = (struct section_pattern){right, kind, denied, pattern};
    section->patterns.count++;
    return NULL;
}

static const char *add_role(struct sections *sections, struct section *section, const char *text,
                            size_t bytes) {
    assert(sections->line > 0 && !section->is_role);
    if (!pattern_syntax_is_name(text, bytes))
        return "names of roles";
    struct section_role *role = grow(sections, &sections->roles, sizeof *role);
    if (!role)
        return NULL;
    *role = (struct section_role){.name = text, .bytes = bytes, .line = sections->line};
    section->roles.count++;
    return NULL;
}

static const char *set_credential(struct sections *sections, struct section *section,
                                  enum section_credential_kind kind, const char *value) {
    struct section_credential read = {
        .kind = kind, .line = sections->line, .name = value, .bytes = strlen(value)};
    uint64_t uid = 0;
    assert(sections->line > 0 && sections->sections.count > 0 && !section->is_role);
    if (kind == SECTION_CREDENTIAL_TOKEN && !digest_parse(value, read.bytes, &read.digest))
        return "sha256: and 64 hexadecimal digits, as patchbay token new prints them";
    if (kind == SECTION_CREDENTIAL_CERTIFICATE && (read.bytes == 0 || read.bytes > PATTERN_BYTES_MAX))
        return "a name of up to 255 bytes";
    if (kind == SECTION_CREDENTIAL_UID && (!units_count(value, &uid) || uid >= UINT32_MAX))
        return "the number of a user of this machine, from 0 to 4294967294";
    struct section_credential *added = grow(sections, &sections->credentials, sizeof *added);
    if (!added)
        return NULL;
    read.uid = (uint32_t)uid;
    read.section = sections->sections.count - 1;
    *added = read;
    section->credentials.count++;
    return NULL;
}

// Reads a number and "/s". Cuts the "/s" off the value.
static const char *read_rate(char *value, bool is_size, uint64_t max, uint64_t *out) {
    size_t bytes = strlen(value);
    const char *expected = is_size ? "a size a second from 1/s to 1024G/s, such as 16M/s"
                                   : "a number a second from 1/s to 1000000000/s, such as 1000/s";
    static_assert(ACCOUNT_RATE_MAX == 1000000000, "the text says it");
    if (bytes < 3 || strcmp(value + bytes - 2, "/s") != 0)
        return expected;
    value[bytes - 2] = '\0';
    bool read = is_size ? units_size(value, out) : units_count(value, out);
    return read && *out > 0 && *out <= max ? NULL : expected;
}

static const char *read_single(enum single single, char *value, uint64_t *out) {
    enum governance level;
    switch (single) {
    case SINGLE_LEVEL:
        level = governance_parse(value, strlen(value));
        *out = level;
        return level == GOVERNANCE_COUNT ? "autonomous, supervised, human-in-the-loop or manual" : NULL;
    case SINGLE_ADMIN:
        *out = !strcmp(value, "yes") || !strcmp(value, "true") || !strcmp(value, "on");
        return *out || !strcmp(value, "no") || !strcmp(value, "false") || !strcmp(value, "off") ? NULL
                                                                                                : "yes or no";
    case SINGLE_RATE:
    case SINGLE_FANOUT:
        return read_rate(value, false, ACCOUNT_RATE_MAX, out);
    case SINGLE_BYTES:
        return read_rate(value, true, UINT64_C(1) << 40, out);
    default:
        return units_count(value, out) && *out > 0 && *out <= UINT32_MAX / 2
                   ? NULL
                   : "a number from 1 to 2147483647";
    }
}

static const char *set_single(struct sections *sections, struct section *section, enum single single,
                              char *value) {
    struct single_value *field = &section->singles[single];
    assert(single < SINGLES_COUNT && sections->line > 0);
    if (field->line)
        return "a key that is given once";
    field->line = sections->line;
    return read_single(single, value, &field->value);
}

// --- Keys

enum key_kind { KEY_CREDENTIAL, KEY_ROLES, KEY_GIVEN, KEY_DENIED, KEY_SINGLE };

static const struct key {
    const char *name;
    enum key_kind kind;
    int which; // enum section_credential_kind, right or single
} keys[] = {
    {"token", KEY_CREDENTIAL, SECTION_CREDENTIAL_TOKEN},
    {"certificate", KEY_CREDENTIAL, SECTION_CREDENTIAL_CERTIFICATE},
    {"uid", KEY_CREDENTIAL, SECTION_CREDENTIAL_UID},
    {"roles", KEY_ROLES, 0},
    {"register", KEY_GIVEN, RIGHT_REGISTER},
    {"offer", KEY_GIVEN, RIGHT_OFFER},
    {"call", KEY_GIVEN, RIGHT_CALL},
    {"publish", KEY_GIVEN, RIGHT_PUBLISH},
    {"subscribe", KEY_GIVEN, RIGHT_SUBSCRIBE},
    {"hold", KEY_GIVEN, RIGHT_HOLD},
    {"deny-register", KEY_DENIED, RIGHT_REGISTER},
    {"deny-offer", KEY_DENIED, RIGHT_OFFER},
    {"deny-call", KEY_DENIED, RIGHT_CALL},
    {"deny-publish", KEY_DENIED, RIGHT_PUBLISH},
    {"deny-subscribe", KEY_DENIED, RIGHT_SUBSCRIBE},
    {"level", KEY_SINGLE, SINGLE_LEVEL},
    {"admin", KEY_SINGLE, SINGLE_ADMIN},
    {"rate", KEY_SINGLE, SINGLE_RATE},
    {"bytes", KEY_SINGLE, SINGLE_BYTES},
    {"fanout", KEY_SINGLE, SINGLE_FANOUT},
    {"connections", KEY_SINGLE, SINGLE_CONNECTIONS},
    {"pending", KEY_SINGLE, SINGLE_PENDING},
};
enum { KEYS_COUNT = sizeof keys / sizeof *keys };

static const struct key *find_key(const char *name) {
    for (size_t index = 0; index < KEYS_COUNT; index++)
        if (strcmp(keys[index].name, name) == 0)
            return &keys[index];
    return NULL;
}

static const char *set_list(struct sections *sections, struct section *section, const struct key *key,
                            const char *value) {
    const char *expected = NULL;
    const char *at = value + strspn(value, separators);
    if (!*at)
        return "at least one name";
    for (; *at && !expected; at += strspn(at, separators)) {
        size_t bytes = strcspn(at, separators);
        expected = key->kind == KEY_ROLES ? add_role(sections, section, at, bytes)
                                          : add_pattern(sections, section, (enum right)key->which,
                                                        key->kind == KEY_DENIED, at, bytes);
        at += bytes;
    }
    return expected;
}

static const char *set_key(struct sections *sections, struct section *section, const struct key *key,
                           char *value) {
    if (section->is_role && (key->kind == KEY_CREDENTIAL || key->kind == KEY_ROLES))
        return "a key of users; a role can't have it";
    if (key->kind == KEY_CREDENTIAL)
        return set_credential(sections, section, (enum section_credential_kind)key->which, value);
    if (key->kind == KEY_SINGLE)
        return set_single(sections, section, (enum single)key->which, value);
    return set_list(sections, section, key, value);
}

// --- Lines

// Begins a section. `line` is the text in the brackets.
static const char *begin_section(struct sections *sections, char *line) {
    struct section *section = grow(sections, &sections->sections, sizeof *section);
    if (!section)
        return NULL;
    section->line = sections->line;
    section->name = "";
    section->patterns.first = sections->patterns.count;
    section->roles.first = sections->roles.count;
    section->credentials.first = sections->credentials.count;
    section->is_role = strncmp(line, "role", 4) == 0;
    size_t blanks = (section->is_role || strncmp(line, "user", 4) == 0) ? strspn(line + 4, " \t\r") : 0;
    if (blanks == 0)
        return "[user NAME] or [role NAME]";
    const char *name = line + 4 + blanks;
    if (!pattern_syntax_is_name(name, strlen(name)))
        return "a name of up to 128 letters, digits and -_.:/@+";
    section->name = name;
    section->name_bytes = strlen(name);
    return NULL;
}

static const char *take_line(struct sections *sections, const struct ini_line *line) {
    sections->key = NULL;
    if (line->kind == INI_FAULT)
        return line->expected;
    if (line->kind == INI_SECTION)
        return begin_section(sections, line->key);
    const struct key *key = find_key(line->key);
    sections->key = key ? key->name : ini_shown_key(line->key);
    if (sections->sections.count == 0)
        return "[user NAME] or [role NAME] before it";
    if (!key)
        return "a key of users and roles; patchbay-users(5) lists them";
    ini_cut_comment(line->value);
    return set_key(sections, sections_at(sections, sections->sections.count - 1), key, line->value);
}

static void read_lines(struct sections *sections) {
    struct ini ini;
    struct ini_line line;
    ini_begin(&ini, sections->text, sections->bytes, false);
    for (ini_next(&ini, &line); line.kind != INI_END && !sections->failed; ini_next(&ini, &line)) {
        sections->line = line.number;
        const char *expected = take_line(sections, &line);
        if (expected)
            sections_fault(sections, line.number, expected);
    }
    sections->line = ini.line;
    sections->key = NULL;
}

bool sections_read(struct sections *sections, const char *text, size_t bytes) {
    *sections = (struct sections){0};
    if (bytes > USERS_FILE_BYTES_MAX) {
        sections_fault(sections, 0, "a file of up to 16M");
        return !sections->failed;
    }
    sections->text = memory_take(bytes + 1);
    if (!sections->text)
        return false;
    if (bytes > 0)
        memcpy(sections->text, text, bytes);
    sections->bytes = bytes;
    read_lines(sections);
    return !sections->failed;
}

int sections_compare(const char *one, size_t one_bytes, const char *other, size_t other_bytes) {
    int order = memcmp(one, other, one_bytes < other_bytes ? one_bytes : other_bytes);
    return order ? order : (one_bytes > other_bytes) - (one_bytes < other_bytes);
}

int section_credentials_compare(const struct section_credential *one,
                                const struct section_credential *other) {
    if (one->kind != other->kind)
        return one->kind < other->kind ? -1 : 1;
    if (one->kind == SECTION_CREDENTIAL_TOKEN)
        return memcmp(one->digest.bytes, other->digest.bytes, DIGEST_BYTES);
    if (one->kind == SECTION_CREDENTIAL_CERTIFICATE)
        return sections_compare(one->name, one->bytes, other->name, other->bytes);
    return (one->uid > other->uid) - (one->uid < other->uid);
}

void sections_deinit(struct sections *sections) {
    if (sections->text)
        digest_wipe(sections->text, sections->bytes);
    memory_give(sections->text);
    memory_give(sections->sections.items);
    memory_give(sections->patterns.items);
    memory_give(sections->roles.items);
    memory_give(sections->credentials.items);
    memory_give(sections->faults.items);
    *sections = (struct sections){0};
}
