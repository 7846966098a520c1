#include "router/features/mcp_http/mcp_inventory.h"

#include <assert.h>
#include <string.h>

#include "router/features/children/child_record.h"
#include "router/features/mcp_http/mcp_header_rules.h"
#include "router/features/mcp_http/mcp_table.h"

// Bounds of a server's lists. A list with more bytes of names isn't kept: each call asks the servers again. Mirrors
// beyond the bounds aren't compared.
enum { DEPTH_MAX = 8, NAMES_BYTES_MAX = 1 << 20, MIRRORS_MAX = 1024 };

// An argument of a tool that clients mirror in a field of the head. `text` has the tool's name, the field's name, and
// the keys that lead to the argument, each behind its length.
struct mirror {
    struct list link; // in mcp_inventory.mirrors
    uint32_t tool_bytes, field_bytes, path_bytes;
    char text[];
};

static struct mcp_inventory *find(const struct shard *shard, const char *name, size_t bytes) {
    struct mcp_server *server = mcp_server_find(shard, name, bytes);
    return server ? &server->inventory : NULL;
}

static struct mcp_inventory *take(struct shard *shard, const char *name, size_t bytes) {
    struct mcp_server *server = mcp_server_take(shard, name, bytes);
    return server ? &server->inventory : NULL;
}

static struct mcp_incarnation incarnation_of(const struct shard *shard, const char *server, size_t bytes) {
    const struct child_record *record = child_record_find(shard->hub, server, bytes);
    const struct child_record *modern = record ? child_record_modern(shard->hub, record) : NULL;
    struct mcp_incarnation by = {0};
    if (record) {
        by.process = atomic_load_explicit(&record->process, memory_order_relaxed);
        by.changes = atomic_load_explicit(&record->list_changes, memory_order_relaxed);
    }
    if (modern)
        by.modern = atomic_load_explicit(&modern->process, memory_order_relaxed);
    return by;
}

static bool is_same(const struct mcp_incarnation *one, const struct mcp_incarnation *other) {
    return one->process == other->process && one->modern == other->modern && one->changes == other->changes;
}

// --- What is known

bool mcp_inventory_lacks_sessions(const struct shard *shard, const char *server, size_t bytes) {
    const struct mcp_inventory *inventory = find(shard, server, bytes);
    return inventory && inventory->lacks_sessions &&
           inventory->refused_by.process == incarnation_of(shard, server, bytes).process;
}

void mcp_inventory_note_sessions(struct shard *shard, const char *server, size_t bytes, bool lacks) {
    struct mcp_inventory *inventory = lacks ? take(shard, server, bytes) : find(shard, server, bytes);
    if (!inventory)
        return;
    inventory->lacks_sessions = lacks;
    inventory->refused_by = incarnation_of(shard, server, bytes);
}

enum mcp_inventory_state mcp_inventory_state(const struct shard *shard, const char *server, size_t bytes,
                                             enum mcp_list list) {
    const struct mcp_inventory *inventory = find(shard, server, bytes);
    const struct mcp_listed *listed = inventory ? &inventory->lists[list] : NULL;
    struct mcp_incarnation now = incarnation_of(shard, server, bytes);
    if (!listed || listed->state == MCP_INVENTORY_UNKNOWN)
        return MCP_INVENTORY_UNKNOWN;
    if (listed->state == MCP_INVENTORY_UNANSWERED)
        return shard_now_ms(shard) < listed->until_ms ? MCP_INVENTORY_UNANSWERED : MCP_INVENTORY_UNKNOWN;
    return is_same(&listed->by, &now) ? MCP_INVENTORY_KNOWN : MCP_INVENTORY_UNKNOWN;
}

static bool next_name(const struct mcp_listed *listed, size_t *at, const char **name, uint32_t *bytes) {
    if (*at == listed->bytes)
        return false;
    memcpy(bytes, listed->names + *at, sizeof *bytes);
    *name = listed->names + *at + sizeof *bytes;
    *at += sizeof *bytes + *bytes;
    return true;
}

static bool has_name(const struct mcp_listed *listed, const char *name, size_t bytes) {
    const char *own;
    uint32_t own_bytes;
    for (size_t at = 0; next_name(listed, &at, &own, &own_bytes);)
        if (own_bytes == bytes && memcmp(own, name, bytes) == 0)
            return true;
    return false;
}

bool mcp_inventory_has(const struct shard *shard, const char *server, size_t bytes, enum mcp_list list,
                       const char *name, size_t name_bytes) {
    const struct mcp_inventory *inventory = find(shard, server, bytes);
    return inventory && mcp_inventory_state(shard, server, bytes, list) == MCP_INVENTORY_KNOWN &&
           has_name(&inventory->lists[list], name, name_bytes);
}

// --- Forgetting

static void clear_mirrors(struct shard *shard, struct mcp_inventory *inventory) {
    while (!list_empty(&inventory->mirrors))
        quota_give(&shard->quota, list_entry(list_take(&inventory->mirrors), struct mirror, link));
    inventory->mirror_count = 0;
}

static void clear(struct shard *shard, struct mcp_inventory *inventory, enum mcp_list list) {
    quota_give(&shard->quota, inventory->lists[list].names);
    inventory->lists[list] = (struct mcp_listed){0};
    if (list == MCP_TOOLS)
        clear_mirrors(shard, inventory);
}

void mcp_inventory_forget(struct shard *shard) {
    struct list *all = &mcp_http_of(shard)->servers;
    for (struct list *node = all->next; node != all; node = node->next) {
        struct mcp_inventory *inventory = &list_entry(node, struct mcp_server, link)->inventory;
        for (enum mcp_list list = 0; list < MCP_LISTS_COUNT; list++)
            clear(shard, inventory, list);
        inventory->lacks_sessions = false;
    }
}

void mcp_inventory_miss(struct shard *shard, const char *server, size_t bytes, enum mcp_list list) {
    struct mcp_inventory *inventory = take(shard, server, bytes);
    if (!inventory)
        return;
    clear(shard, inventory, list);
    inventory->lists[list].state = MCP_INVENTORY_UNANSWERED;
    inventory->lists[list].until_ms =
        shard_now_ms(shard) + mcp_option(shard, MCP_OPTION_GATHER_NS) / UINT64_C(1000000);
}

// --- A page

static bool add_name(struct shard *shard, struct mcp_listed *listed, const uint8_t *text,
                     struct span string) {
    uint32_t header = sizeof(uint32_t);
    size_t needed = listed->bytes + header + string.bytes;
    if (needed > listed->capacity) {
        size_t capacity = needed > NAMES_BYTES_MAX ? 0 : 2 * needed;
        char *names = capacity ? quota_resize(&shard->quota, listed->names, capacity) : NULL;
        if (!names)
            return false;
        listed->names = names;
        listed->capacity = capacity;
    }
    char *name = listed->names + listed->bytes + header;
    size_t bytes = json_string_decode(text, string, name, string.bytes);
    if (bytes == SIZE_MAX)
        return true;
    uint32_t count = (uint32_t)bytes;
    memcpy(name - header, &count, header);
    listed->bytes += header + bytes;
    return true;
}

static bool is_token(const char *text, size_t bytes) {
    static const char others[] = "!#$%&'*+-.^_`|~";
    for (size_t at = 0; at < bytes; at++) {
        char byte = text[at], lower = (char)(byte | 32);
        bool is_plain = (lower >= 'a' && lower <= 'z') || (byte >= '0' && byte <= '9');
        if (!is_plain && (!byte || !strchr(others, byte)))
            return false;
    }
    return bytes > 0;
}

struct walk {
    struct shard *shard;
    struct mcp_inventory *inventory;
    const uint8_t *text;
    char tool[METHOD_BYTES_MAX];
    uint32_t tool_bytes;
    char path[1024];
    uint32_t path_bytes;
};

static bool add_mirror(struct walk *walk, struct span field) {
    char name[METHOD_BYTES_MAX];
    size_t bytes = json_string_decode(walk->text, field, name, sizeof name);
    if (bytes == SIZE_MAX || !is_token(name, bytes) || walk->inventory->mirror_count >= MIRRORS_MAX)
        return true; // clients don't call such a tool
    struct mirror *mirror =
        quota_take(&walk->shard->quota, sizeof *mirror + walk->tool_bytes + bytes + walk->path_bytes);
    if (!mirror)
        return false;
    *mirror = (struct mirror){
        .tool_bytes = walk->tool_bytes, .field_bytes = (uint32_t)bytes, .path_bytes = walk->path_bytes};
    memcpy(mirror->text, walk->tool, walk->tool_bytes);
    memcpy(mirror->text + walk->tool_bytes, name, bytes);
    memcpy(mirror->text + walk->tool_bytes + bytes, walk->path, walk->path_bytes);
    list_append(&walk->inventory->mirrors, &mirror->link);
    walk->inventory->mirror_count++;
    return true;
}

// Adds the mirrors of a schema's properties, and of the properties of its objects. Returns false without memory.
static bool add_mirrors(struct walk *walk, struct span schema, unsigned depth) {
    struct json_item properties = json_member(walk->text, schema, "properties"), item;
    struct json_walk members;
    uint32_t before = walk->path_bytes, header = sizeof(uint32_t);
    if (properties.type != JSON_OBJECT || depth == DEPTH_MAX)
        return true;
    for (json_walk_begin(&members, walk->text, properties.value); json_next(&members, &item) == JSON_ITEM;) {
        uint32_t room = (uint32_t)sizeof walk->path - before;
        if (item.type != JSON_OBJECT || room < header)
            continue;
        size_t bytes = json_string_decode(walk->text, item.key, walk->path + before + header, room - header);
        if (bytes == SIZE_MAX)
            continue;
        uint32_t count = (uint32_t)bytes;
        memcpy(walk->path + before, &count, header);
        walk->path_bytes = before + header + count;
        struct json_item field = json_member(walk->text, item.value, "x-mcp-header");
        bool good = (field.type != JSON_STRING || add_mirror(walk, field.value)) &&
                    add_mirrors(walk, item.value, depth + 1);
        walk->path_bytes = before;
        if (!good)
            return false;
    }
    return true;
}

static void drop_mirrors_of(struct walk *walk) {
    struct list *all = &walk->inventory->mirrors;
    for (struct list *node = all->next, *next; node != all; node = next) {
        struct mirror *mirror = list_entry(node, struct mirror, link);
        next = node->next;
        if (mirror->tool_bytes != walk->tool_bytes || memcmp(mirror->text, walk->tool, mirror->tool_bytes))
            continue;
        list_remove(node);
        walk->inventory->mirror_count--;
        quota_give(&walk->shard->quota, mirror);
    }
}

// Adds the mirrors of a tool. `again`: the tool may have been listed before, and earlier mirrors are dropped. Returns
// false without memory.
static bool add_tool(struct shard *shard, struct mcp_inventory *inventory, const uint8_t *text,
                     const struct json_item *tool, struct span name, bool again) {
    struct json_item schema = json_member(text, tool->value, "inputSchema");
    struct walk walk = {.shard = shard, .inventory = inventory, .text = text};
    size_t bytes = json_string_decode(text, name, walk.tool, sizeof walk.tool);
    if (bytes == SIZE_MAX || schema.type != JSON_OBJECT)
        return true;
    walk.tool_bytes = (uint32_t)bytes;
    if (again)
        drop_mirrors_of(&walk);
    return add_mirrors(&walk, schema.value, 0);
}

static bool add_all(struct shard *shard, struct mcp_inventory *inventory, enum mcp_list list,
                    const struct mcp_body *page, bool again) {
    const struct mcp_list_row *row = mcp_list_row(list);
    struct json_item all = json_member(page->bytes, page->lookup.value[KEY_RESULT], row->member), item;
    struct json_walk walk;
    if (all.type != JSON_ARRAY)
        return true;
    for (json_walk_begin(&walk, page->bytes, all.value); json_next(&walk, &item) == JSON_ITEM;) {
        struct json_item name = json_member(page->bytes, item.value, row->key);
        if (item.type != JSON_OBJECT || name.type != JSON_STRING)
            continue;
        if (!add_name(shard, &inventory->lists[list], page->bytes, name.value) ||
            (list == MCP_TOOLS && !add_tool(shard, inventory, page->bytes, &item, name.value, again)))
            return false;
    }
    return true;
}

// Begins a list with its first page, or continues a list that the same process has begun. Returns false if the page
// continues no such list.
static bool begin_page(struct shard *shard, const struct mcp_server *server, struct mcp_inventory *inventory,
                       enum mcp_list list, bool is_first) {
    struct mcp_listed *listed = &inventory->lists[list];
    struct mcp_incarnation now = incarnation_of(shard, server->name, server->name_bytes);
    if (!is_first)
        return listed->is_begun && is_same(&listed->by, &now);
    clear(shard, inventory, list);
    listed->is_begun = true;
    listed->by = now;
    return true;
}

void mcp_inventory_add(struct shard *shard, const char *name, size_t bytes, enum mcp_list list,
                       const struct mcp_body *page, bool is_first, bool is_last) {
    struct mcp_server *server = mcp_server_take(shard, name, bytes);
    struct mcp_inventory *inventory = server ? &server->inventory : NULL;
    if (!inventory || !lookup_has(&page->lookup, KEY_RESULT) ||
        page->lookup.type[KEY_RESULT] != JSON_OBJECT || !begin_page(shard, server, inventory, list, is_first))
        return;
    if (!add_all(shard, inventory, list, page, !is_first)) { // half a list would mislead
        clear(shard, inventory, list);
        return;
    }
    if (!is_last)
        return;
    inventory->lists[list].is_begun = false;
    inventory->lists[list].state = MCP_INVENTORY_KNOWN;
}

// --- Mirrors

// Finds the member of an object by its key; type JSON_NONE: there is none. Returns false if the key occurs twice,
// because two readers could then find different values.
static bool find_member(const uint8_t *body, struct span object, const char *key, size_t bytes,
                        struct json_item *out) {
    struct json_walk walk;
    char own[METHOD_BYTES_MAX];
    *out = (struct json_item){0};
    json_walk_begin(&walk, body, object);
    for (struct json_item item; json_next(&walk, &item) == JSON_ITEM;) {
        size_t count = json_string_decode(body, item.key, own, sizeof own);
        if (count != bytes || memcmp(own, key, bytes) != 0)
            continue;
        if (out->type != JSON_NONE)
            return false;
        *out = item;
    }
    return true;
}

// Finds the argument of a mirror. Returns false if a key that leads to the argument occurs twice.
static bool find_argument(const struct mirror *mirror, const uint8_t *body, struct json_item arguments,
                          struct json_item *out) {
    const char *path = mirror->text + mirror->tool_bytes + mirror->field_bytes;
    *out = arguments;
    for (uint32_t at = 0, bytes; at < mirror->path_bytes; at += (uint32_t)sizeof bytes + bytes) {
        memcpy(&bytes, path + at, sizeof bytes);
        if (out->type != JSON_OBJECT) {
            *out = (struct json_item){0};
            return true;
        }
        if (!find_member(body, out->value, path + at + sizeof bytes, bytes, out))
            return false;
    }
    return true;
}

static const char *fault_of(const struct mirror *mirror, const struct mcp_post *post) {
    struct json_item arguments = {0}, argument;
    const struct lookup *lookup = &post->message.lookup;
    const char *field = mirror->text + mirror->tool_bytes;
    bool has_params = lookup_has(lookup, KEY_PARAMS) && lookup->type[KEY_PARAMS] == JSON_OBJECT;
    if ((has_params && !find_member(post->message.body, lookup->value[KEY_PARAMS], "arguments",
                                    sizeof "arguments" - 1, &arguments)) ||
        !find_argument(mirror, post->message.body, arguments, &argument))
        return "an argument that a field mirrors must be there once";
    return mcp_header_mirrors(post, field, mirror->field_bytes, &argument)
               ? NULL
               : "each Mcp-Param field must be what the tool's argument says";
}

const char *mcp_inventory_mismatch(const struct shard *shard, const char *server, size_t bytes,
                                   const char *tool, size_t tool_bytes, const struct mcp_post *post) {
    const struct mcp_inventory *inventory = find(shard, server, bytes);
    const char *fault = NULL;
    if (!inventory || mcp_inventory_state(shard, server, bytes, MCP_TOOLS) != MCP_INVENTORY_KNOWN)
        return NULL;
    for (const struct list *node = inventory->mirrors.next; node != &inventory->mirrors && !fault;
         node = node->next) {
        const struct mirror *mirror = list_entry(node, struct mirror, link);
        if (mirror->tool_bytes == tool_bytes && memcmp(mirror->text, tool, tool_bytes) == 0)
            fault = fault_of(mirror, post);
    }
    return fault;
}
