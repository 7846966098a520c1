// Reads the sections of a users file and their lines, one by one. users.c puts the sections together.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/rights/digest.h"
#include "core/rights/users.h"

// The keys that have a single value.
enum single {
    SINGLE_LEVEL,
    SINGLE_ADMIN,
    SINGLE_RATE,
    SINGLE_BYTES,
    SINGLE_FANOUT,
    SINGLE_CONNECTIONS,
    SINGLE_PENDING,
    SINGLES_COUNT
};

struct single_value {
    uint64_t value;
    uint32_t line; // 0: the key isn't given
};

// A run of one of the arrays of struct sections.
struct section_run {
    uint32_t first, count;
};

struct section {
    const char *name; // terminated
    size_t name_bytes;
    uint32_t line;
    bool is_role;
    struct section_run patterns, roles, credentials;
    struct single_value singles[SINGLES_COUNT];
};

struct section_pattern {
    enum right right;
    enum right_kind kind;
    bool denied;
    struct pattern pattern;
};

struct section_role {
    const char *name; // not terminated
    size_t bytes;
    uint32_t line;
    uint32_t section; // index of the role's section; set and read by users_lint.c
};

enum section_credential_kind {
    SECTION_CREDENTIAL_TOKEN,
    SECTION_CREDENTIAL_CERTIFICATE,
    SECTION_CREDENTIAL_UID
};

struct section_credential {
    enum section_credential_kind kind;
    uint32_t section, line;
    struct digest digest; // of SECTION_CREDENTIAL_TOKEN
    const char *name;     // of SECTION_CREDENTIAL_CERTIFICATE; not terminated
    size_t bytes;
    uint32_t uid;
};

// An array that grows.
struct section_list {
    void *items;
    uint32_t count, capacity;
};

struct sections {
    char *text; // a copy of the file, into which all texts point
    size_t bytes;
    uint32_t line;   // the number of the last line that was read
    const char *key; // the key of that line, or NULL
    struct section_list sections, patterns, roles, credentials, faults;
    bool failed; // true without memory
};

// Reads all lines, and notes faults of lines that can't be read. Returns false without memory.
bool sections_read(struct sections *sections, const char *text, size_t bytes);
void sections_deinit(struct sections *sections);
// Notes a fault of a line, which may concern the key that is being read.
void sections_fault(struct sections *sections, uint32_t line, const char *expected);
// Reports the faults in the order of lines, none twice. Returns whether there are no faults.
bool sections_tell(struct sections *sections, users_complain *complain, void *context);

// Compare two texts, and two credentials: < 0, 0 (equal) or > 0.
int sections_compare(const char *one, size_t one_bytes, const char *other, size_t other_bytes);
int section_credentials_compare(const struct section_credential *one, const struct section_credential *other);

static inline struct section *sections_at(const struct sections *sections, uint32_t index) {
    return (struct section *)sections->sections.items + index;
}
static inline struct section_pattern *sections_patterns(const struct sections *sections) {
    return sections->patterns.items;
}
static inline struct section_role *sections_roles(const struct sections *sections) {
    return sections->roles.items;
}
static inline struct section_credential *sections_credentials(const struct sections *sections) {
    return sections->credentials.items;
}
