#include "core/cluster/remote_acl.h"

#include <assert.h>
#include <string.h>

// --- Saying

// What a mark could end in, or a list.
static bool is_plain(const struct pattern *pattern) {
    for (uint32_t at = 0; at < pattern->bytes; at++) {
        uint8_t byte = (uint8_t)pattern->text[at];
        if (byte <= ' ' || byte == ',' || byte == '*' || byte == 0x7f)
            return false;
    }
    return true;
}

// Behind `at`; returns where it ends, REMOTE_ACL_UNTOLD: there is no room.
static int put_list(char out[REMOTE_ACL_BYTES_MAX], int at, const char *key, const struct pattern *patterns,
                    const struct pattern_set *set) {
    uint32_t count = set->prefix_count + set->exact_count;
    size_t end = (size_t)at + strlen(key);
    assert(at >= 0);
    if (count == 0)
        return at;
    if (count > REMOTE_ACL_PATTERNS_MAX || end > REMOTE_ACL_BYTES_MAX)
        return REMOTE_ACL_UNTOLD;
    memcpy(out + at, key, strlen(key));
    for (uint32_t index = 0; index < count; index++) {
        const struct pattern *pattern = &patterns[set->first + index];
        if (!is_plain(pattern) || end + pattern->bytes + 2 > REMOTE_ACL_BYTES_MAX)
            return REMOTE_ACL_UNTOLD;
        if (index > 0)
            out[end++] = ',';
        memcpy(out + end, pattern->text, pattern->bytes);
        end += pattern->bytes;
        if (pattern->prefix)
            out[end++] = '*';
    }
    return (int)end;
}

int remote_acl_write(char out[REMOTE_ACL_BYTES_MAX], const struct user *user) {
    int at = put_list(out, 0, " deny=", users_rights(user)->patterns,
                      &users_rights(user)->denied[RIGHT_CALL][KIND_AGENT]);
    assert(at <= REMOTE_ACL_BYTES_MAX);
    return at < 0 ? at
                  : put_list(out, at, " hold=", users_rights(user)->patterns,
                             &users_rights(user)->given[RIGHT_HOLD][KIND_AGENT]);
}

// --- Hearing

static bool read_pattern(struct pattern *out, const char *text, size_t bytes) {
    bool prefix = bytes > 0 && text[bytes - 1] == '*';
    *out = (struct pattern){.text = text, .bytes = (uint32_t)bytes - prefix, .line = 1, .prefix = prefix};
    return bytes > 0 && bytes <= PATTERN_BYTES_MAX + 1;
}

static bool read_list(struct remote_acl_list *out, const uint8_t *bytes, struct span list) {
    const char *at = (const char *)bytes + list.at, *end = at + list.bytes;
    size_t count = 0;
    bool good = true;
    while (good && list.bytes > 0 && at <= end) {
        const char *comma = memchr(at, ',', (size_t)(end - at)), *stop = comma ? comma : end;
        good =
            count < REMOTE_ACL_PATTERNS_MAX && read_pattern(&out->patterns[count++], at, (size_t)(stop - at));
        at = stop + 1;
    }
    if (good)
        out->set = patterns_compile(out->patterns, count);
    return good;
}

static void name_all(struct remote_acl_list *out) {
    out->patterns[0] = (struct pattern){.text = "", .line = 1, .prefix = true};
    out->set = patterns_compile(out->patterns, 1);
}

void remote_acl_read(struct remote_acl *out, const uint8_t *bytes, struct span denied, struct span held) {
    out->approved = false;
    out->user = NULL;
    bool good = read_list(&out->denied, bytes, denied);
    if (!read_list(&out->held, bytes, held) || !good) {
        name_all(&out->denied);
        name_all(&out->held);
    }
}

static bool names(const struct remote_acl_list *list, const char *agent, size_t bytes) {
    assert(agent && bytes > 0);
    return !pattern_set_is_empty(&list->set) && patterns_match(list->patterns, &list->set, agent, bytes);
}

bool remote_acl_denies(const struct remote_acl *acl, const char *agent, size_t bytes) {
    return names(&acl->denied, agent, bytes);
}

bool remote_acl_holds(const struct remote_acl *acl, const char *agent, size_t bytes) {
    return !acl->approved && names(&acl->held, agent, bytes);
}
