// Success: the sections of the file are read (sections.c), the patterns of each user and of the user's roles become
// sets, and credentials become sorted tables. Failure: each fault is reported with its line, and no memory is kept.
#include "core/rights/users.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/rights/sections.h"

// The users that users_read is making, and the sections of the file.
struct making {
    struct users *users;
    struct sections sections;
    uint32_t *by_name; // indexes of sections: users, then roles, each sorted by name
    uint32_t *user_of; // [index of a section]: index of its user
    uint64_t total;    // number of patterns of all users, before duplicates are removed
    uint32_t used;
};

// --- Sections by their names

static int compare_sections(const void *left, const void *right, void *context) {
    const struct section *one = sections_at(context, *(const uint32_t *)left);
    const struct section *other = sections_at(context, *(const uint32_t *)right);
    int order = (one->is_role > other->is_role) - (one->is_role < other->is_role);
    if (order == 0)
        order = sections_compare(one->name, one->name_bytes, other->name, other->name_bytes);
    return order ? order : (one->line > other->line) - (one->line < other->line);
}

static bool are_namesakes(const struct section *one, const struct section *other) {
    assert(one != other);
    return one->is_role == other->is_role && one->name_bytes > 0 && strcmp(one->name, other->name) == 0;
}

static bool sort_sections(struct making *making) {
    struct sections *sections = &making->sections;
    uint32_t count = sections->sections.count;
    making->by_name = memory_take((count + 1) * sizeof *making->by_name);
    if (!making->by_name)
        return false;
    for (uint32_t index = 0; index < count; index++)
        making->by_name[index] = index;
    qsort_r(making->by_name, count, sizeof *making->by_name, compare_sections, sections);
    for (uint32_t at = 1; at < count; at++) {
        const struct section *before = sections_at(sections, making->by_name[at - 1]);
        const struct section *section = sections_at(sections, making->by_name[at]);
        if (are_namesakes(before, section))
            sections_fault(sections, section->line, "a name that no other section has");
    }
    return !sections->failed;
}

static const struct section *find_role(const struct making *making, const struct section_role *role) {
    uint32_t low = 0, high = making->sections.sections.count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct section *section = sections_at(&making->sections, making->by_name[middle]);
        int order = section->is_role
                        ? sections_compare(section->name, section->name_bytes, role->name, role->bytes)
                        : -1;
        if (order == 0)
            return section;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

// --- Faults that need all sections

static void judge_roles(struct making *making) {
    struct sections *sections = &making->sections;
    sections->key = "roles";
    for (uint32_t at = 0; at < sections->roles.count; at++)
        if (!find_role(making, &sections_roles(sections)[at]))
            sections_fault(sections, sections_roles(sections)[at].line, "roles that are there");
    sections->key = NULL;
}

static int compare_credentials_and_lines(const void *left, const void *right) {
    const struct section_credential *one = left, *other = right;
    int order = section_credentials_compare(one, other);
    return order ? order : (one->line > other->line) - (one->line < other->line);
}

// Sorts the credentials, reports a credential of two users, and keeps each credential once.
static void judge_credentials(struct sections *sections) {
    static const char *const keys[] = {[SECTION_CREDENTIAL_TOKEN] = "token",
                                       [SECTION_CREDENTIAL_CERTIFICATE] = "certificate",
                                       [SECTION_CREDENTIAL_UID] = "uid"};
    struct section_credential *list = sections_credentials(sections);
    uint32_t kept = 0;
    if (sections->credentials.count > 0)
        qsort(list, sections->credentials.count, sizeof *list, compare_credentials_and_lines);
    for (uint32_t at = 0; at < sections->credentials.count; at++) {
        bool again = kept > 0 && section_credentials_compare(&list[kept - 1], &list[at]) == 0;
        sections->key = keys[list[at].kind];
        if (again && list[kept - 1].section != list[at].section)
            sections_fault(sections, list[at].line, "a credential that no other user has");
        if (!again)
            list[kept++] = list[at];
    }
    sections->key = NULL;
    sections->credentials.count = kept;
}

static uint64_t patterns_of(const struct making *making, const struct section *section) {
    uint64_t total = section->patterns.count;
    for (uint32_t at = 0; at < section->roles.count; at++) {
        const struct section_role *role = &sections_roles(&making->sections)[section->roles.first + at];
        const struct section *taken = find_role(making, role);
        total += taken ? taken->patterns.count : 0;
    }
    return total;
}

static void judge_users(struct making *making) {
    struct sections *sections = &making->sections;
    for (uint32_t at = 0; at < sections->sections.count; at++) {
        const struct section *section = sections_at(sections, at);
        if (section->is_role)
            continue;
        uint64_t before = making->total;
        making->total += patterns_of(making, section);
        making->users->count++;
        if (before <= USERS_PATTERNS_MAX && making->total > USERS_PATTERNS_MAX)
            sections_fault(sections, section->line, "a million patterns at most, with those of roles");
    }
    if (making->users->count == 0 && sections->faults.count == 0)
        sections_fault(sections, sections->line, "at least one user");
}

// Refuses new users when too many are gone. The hub remembers gone users as long as it runs, and so bounds their
// number.
static void judge_new(struct making *making, const struct users *before) {
    struct sections *sections = &making->sections;
    for (uint32_t at = 0; at < sections->sections.count && before->gone_count >= USERS_GONE_MAX; at++) {
        const struct section *section = sections_at(sections, at);
        if (!section->is_role && !users_known(before, section->name, section->name_bytes))
            sections_fault(sections, section->line,
                           "no new user until the hub has begun anew: too many are gone");
    }
}

// --- Users

static void add_patterns(struct making *making, const struct section *section, enum right right,
                         enum right_kind kind, bool denied) {
    const struct section_pattern *list = sections_patterns(&making->sections) + section->patterns.first;
    for (uint32_t at = 0; at < section->patterns.count; at++)
        if (list[at].right == right && list[at].kind == kind && list[at].denied == denied) {
            assert(making->used < making->total);
            making->users->patterns[making->used++] = list[at].pattern;
        }
}

static const struct section *role_of(const struct making *making, const struct section *section,
                                     uint32_t at) {
    assert(at < section->roles.count);
    return find_role(making, &sections_roles(&making->sections)[section->roles.first + at]);
}

static struct pattern_set make_set(struct making *making, const struct section *section, enum right right,
                                   enum right_kind kind, bool denied) {
    uint32_t first = making->used;
    add_patterns(making, section, right, kind, denied);
    for (uint32_t at = 0; at < section->roles.count; at++)
        add_patterns(making, role_of(making, section, at), right, kind, denied);
    struct pattern_set set = patterns_compile(making->users->patterns + first, making->used - first);
    making->used = first + set.prefix_count + set.exact_count;
    set.first = first;
    return set;
}

// Returns the user's own value, else the value of the first role that has one.
static struct single_value single_of(const struct making *making, const struct section *section,
                                     enum single single) {
    assert(single < SINGLES_COUNT && !section->is_role);
    struct single_value value = section->singles[single];
    for (uint32_t at = 0; at < section->roles.count && !value.line; at++)
        value = role_of(making, section, at)->singles[single];
    return value;
}

static void set_singles(const struct making *making, const struct section *section,
                        struct user_rights *rights) {
    struct single_value level = single_of(making, section, SINGLE_LEVEL);
    struct single_value admin = single_of(making, section, SINGLE_ADMIN);
    rights->level = level.line ? (enum governance)level.value : GOVERNANCE_MANUAL;
    rights->level_line = level.line;
    rights->admin = admin.value != 0;
    rights->admin_line = admin.line;
    rights->limits = (struct account_limits){
        .rate = single_of(making, section, SINGLE_RATE).value,
        .bytes = single_of(making, section, SINGLE_BYTES).value,
        .fanout = single_of(making, section, SINGLE_FANOUT).value,
        .connections = (uint32_t)single_of(making, section, SINGLE_CONNECTIONS).value,
        .pending = (uint32_t)single_of(making, section, SINGLE_PENDING).value,
    };
}

static void find_hold(struct users *users, const struct pattern_set *set) {
    const struct pattern *patterns = users->patterns + set->first;
    for (uint32_t at = 0; at < set->prefix_count + set->exact_count; at++)
        if (!users->hold_line || patterns[at].line < users->hold_line)
            users->hold_line = patterns[at].line;
}

static void write_header(const struct section *section, struct wire_line *header) {
    static_assert(sizeof USER_HEADER + USER_NAME_BYTES_MAX + 4 <= sizeof header->text, "any name fits");
    char *end = stpcpy(stpcpy(stpcpy(header->text, USER_HEADER), section->name), "\r\n\r\n");
    header->bytes = (uint32_t)(end - header->text) - 2;
}

// Makes a user that no file has had. Returns NULL without memory.
static struct user *create_user(const struct section *section, uint32_t place) {
    struct user *user = memory_take_zeroed(1, sizeof *user + section->name_bytes + 1);
    struct account *account = user ? account_create(place) : NULL;
    if (!account) {
        memory_give(user);
        return NULL;
    }
    user->place = place;
    user->account = account;
    user->name = memcpy(user + 1, section->name, section->name_bytes + 1);
    write_header(section, &user->header);
    return user;
}

// Returns the user of the file before, or a new user, with one more reference. Returns NULL without memory.
static struct user *take_user(struct making *making, const struct section *section,
                              const struct users *before) {
    struct user *user = before ? users_known(before, section->name, section->name_bytes) : NULL;
    if (!user && (user = create_user(section, making->users->place_count)))
        making->users->place_count++;
    if (user)
        atomic_fetch_add_explicit(&user->references, 1, memory_order_relaxed);
    return user;
}

static bool make_user(struct making *making, const struct section *section, uint32_t number,
                      const struct users *before) {
    struct user_rights *rights = &making->users->rights[number];
    making->users->list[number] = take_user(making, section, before);
    rights->line = section->line;
    rights->patterns = making->users->patterns;
    set_singles(making, section, rights);
    for (enum right right = 0; right < RIGHTS_COUNT; right++)
        for (enum right_kind kind = 0; kind < KINDS_COUNT; kind++) {
            rights->granted[right][kind] = make_set(making, section, right, kind, false);
            rights->denied[right][kind] = make_set(making, section, right, kind, true);
        }
    for (enum right_kind kind = 0; kind < KINDS_COUNT; kind++)
        find_hold(making->users, &rights->granted[RIGHT_HOLD][kind]);
    if (making->users->list[number])
        making->users->places[making->users->list[number]->place] = rights;
    return making->users->list[number] != NULL;
}

static bool make_users(struct making *making, const struct users *before) {
    struct users *users = making->users;
    uint32_t made = 0;
    bool good = true;
    users->place_count = before ? before->place_count : 0;
    for (uint32_t place = 0; place < users->place_count; place++)
        users->places[place] = &users_no_rights;
    for (uint32_t at = 0; at < making->sections.sections.count && good; at++) {
        const struct section *section = sections_at(&making->sections, at);
        if (section->is_role)
            continue;
        assert(made < users->count);
        making->user_of[at] = made;
        good = make_user(making, section, made++, before);
    }
    return good;
}

// --- Tables of credentials and names

static int compare_user_names(const void *left, const void *right) {
    const struct user_name *one = left, *other = right;
    return sections_compare(one->name, one->bytes, other->name, other->bytes);
}

static int compare_tokens(const void *left, const void *right) {
    const struct user_token *one = left, *other = right;
    return (one->hash > other->hash) - (one->hash < other->hash);
}

static void add_credential(const struct making *making, const struct section_credential *credential) {
    struct users *users = making->users;
    struct user *user = users->list[making->user_of[credential->section]];
    switch (credential->kind) {
    case SECTION_CREDENTIAL_TOKEN:
        users->tokens[users->token_count++] = (struct user_token){
            siphash_table(&users->key, credential->digest.bytes, DIGEST_BYTES), credential->digest, user};
        break;
    case SECTION_CREDENTIAL_CERTIFICATE:
        users->certificates[users->certificate_count++] =
            (struct user_name){credential->name, credential->bytes, user};
        break;
    default:
        users->uids[users->uid_count++] = (struct user_uid){credential->uid, user};
    }
}

// Fills the tables of credentials and names. The certificates and uids of `sections` are sorted already.
static void fill_tables(const struct making *making) {
    struct users *users = making->users;
    for (uint32_t at = 0; at < making->sections.credentials.count; at++)
        add_credential(making, &sections_credentials(&making->sections)[at]);
    if (users->token_count > 0)
        qsort(users->tokens, users->token_count, sizeof *users->tokens, compare_tokens);
    for (uint32_t at = 0; at < users->count; at++)
        users->names[at] =
            (struct user_name){users->list[at]->name, strlen(users->list[at]->name), users->list[at]};
    qsort(users->names, users->count, sizeof *users->names, compare_user_names);
}

static void add_gone(struct users *users, const struct user_name *known) {
    if (users_by_name(users, known->name, known->bytes))
        return;
    atomic_fetch_add_explicit(&known->user->references, 1, memory_order_relaxed);
    users->gone[users->gone_count++] = *known;
}

// Merges the gone users and the users of the file before into the list of gone users. Both lists are sorted, and no
// user is in both. Returns false without memory.
static bool fill_gone(struct users *users, const struct users *before) {
    uint32_t had = 0, gone = 0;
    users->gone = memory_take(((size_t)before->count + before->gone_count) * sizeof *users->gone);
    if (!users->gone)
        return false;
    while (had < before->count || gone < before->gone_count) {
        bool is_next =
            gone == before->gone_count ||
            (had < before->count && compare_user_names(&before->names[had], &before->gone[gone]) < 0);
        add_gone(users, is_next ? &before->names[had++] : &before->gone[gone++]);
    }
    struct user_name *fitting = memory_resize(users->gone, (users->gone_count + 1) * sizeof *users->gone);
    users->gone = fitting ? fitting : users->gone;
    users->number = before->number + 1;
    return true;
}

static bool take_tables(struct making *making, const struct users *before) {
    struct users *users = making->users;
    size_t credentials = making->sections.credentials.count + 1;
    users->list = memory_take_zeroed(users->count, sizeof *users->list);
    users->rights = memory_take_zeroed(users->count, sizeof *users->rights);
    users->places =
        memory_take((users->count + (before ? (size_t)before->place_count : 0)) * sizeof *users->places);
    users->names = memory_take(users->count * sizeof *users->names);
    users->patterns = memory_take(((size_t)making->total + 1) * sizeof *users->patterns);
    users->tokens = memory_take(credentials * sizeof *users->tokens);
    users->certificates = memory_take(credentials * sizeof *users->certificates);
    users->uids = memory_take(credentials * sizeof *users->uids);
    making->user_of = memory_take_zeroed(making->sections.sections.count, sizeof *making->user_of);
    return users->list && users->rights && users->places && users->names && users->patterns &&
           users->tokens && users->certificates && users->uids && making->user_of;
}

// Reads and judges the sections. Returns false without memory.
static bool judge_file(struct making *making, const char *text, size_t bytes) {
    if (!sections_read(&making->sections, text, bytes) || !sort_sections(making))
        return false;
    judge_roles(making);
    judge_users(making);
    judge_credentials(&making->sections);
    return !making->sections.failed;
}

static bool make(struct making *making, const struct users *before) {
    struct users *users = making->users;
    if (!take_tables(making, before) || !make_users(making, before))
        return false;
    fill_tables(making);
    if (before && !fill_gone(users, before))
        return false;
    users->text = making->sections.text;
    users->text_bytes = making->sections.bytes;
    making->sections.text = NULL;
    return true;
}

struct users *users_read(const char *text, size_t bytes, const struct siphash_key *key,
                         const struct users *before, users_complain *complain, void *context) {
    struct making making = {.users = memory_take_zeroed(1, sizeof(struct users))};
    assert(text || bytes == 0);
    bool room = making.users && judge_file(&making, text, bytes), good = false;
    if (making.users) {
        making.users->key = *key;
        atomic_init(&making.users->references, 1);
        room = room && digest_make(text, bytes, &making.users->digest);
    }
    if (room && before)
        judge_new(&making, before);
    if (room && sections_tell(&making.sections, complain, context)) {
        good = make(&making, before);
        room = good;
    }
    if (!room)
        complain(context, &(struct users_fault){.expected = "less, as memory is used up"});
    sections_deinit(&making.sections);
    memory_give(making.by_name);
    memory_give(making.user_of);
    if (!good)
        users_drop(making.users);
    return good ? making.users : NULL;
}
