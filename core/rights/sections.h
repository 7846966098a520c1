// A users file as it stands: sections, and what their lines say, read but not yet put together (users.c does).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/rights/digest.h"
#include "core/rights/users.h"

// Single values.
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
    uint32_t line; // 0: not given
};

// A run of one of the arrays below.
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
    uint32_t section; // for users_lint.c, which finds it
};

enum credential_kind { CREDENTIAL_TOKEN, CREDENTIAL_CERTIFICATE, CREDENTIAL_UID };

struct section_credential {
    enum credential_kind kind;
    uint32_t section, line;
    struct digest digest; // of a token
    const char *name;     // of a certificate; not terminated
    size_t bytes;
    uint32_t uid;
};

// An array that grows.
struct section_list {
    void *items;
    uint32_t count, capacity;
};

struct sections {
    char *text; // the file's own copy, into which all texts point
    size_t bytes;
    uint32_t line;   // the last that was read
    const char *key; // its key, or NULL
    struct section_list sections, patterns, roles, credentials, faults;
    bool failed; // memory is used up
};

// Reads all lines; what can't be read is among the faults. False when memory is used up.
bool sections_read(struct sections *sections, const char *text, size_t bytes);
void sections_deinit(struct sections *sections);
// Notes a fault of a line, which may be about the key that is being read.
void sections_fault(struct sections *sections, uint32_t line, const char *expected);
// Tells them in the order of lines, none twice; whether there are none.
bool sections_tell(struct sections *sections, users_complain *complain, void *context);

// Which of two texts comes first: < 0, 0 (they are equal) or > 0. And which of two credentials.
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
