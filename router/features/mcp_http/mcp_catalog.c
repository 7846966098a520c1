#include "router/features/mcp_http/mcp_catalog.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "router/features/mcp_calls/mcp_body.h"
#include "router/features/mcp_calls/tool_list.h"
#include "router/features/mcp_http/mcp_inventory.h"

struct mcp_text {
    struct mcp_body body;
};

size_t mcp_catalog_prefix(const char *name, size_t bytes, char *out) {
    for (size_t at = 0; at < bytes; at++) {
        char byte = name[at];
        bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                     (byte >= '0' && byte <= '9') || byte == '_' || byte == '-';
        out[at] = plain ? byte : '_';
    }
    memcpy(out + bytes, "__", 2);
    return bytes + 2;
}

// --- Reading

static uint32_t pages_of(const struct mcp_gather *gather) {
    uint32_t count = 0;
    for (uint32_t index = 0; index < gather->count; index++)
        for (const struct parcel *page = gather->parts[index].answers.first; page; page = page->next)
            count++;
    return count;
}

// Returns the list in a page; type JSON_NONE: there is none.
static struct json_item list_of(const struct mcp_body *body, const char *member) {
    if (!lookup_has(&body->lookup, KEY_RESULT) || body->lookup.type[KEY_RESULT] != JSON_OBJECT)
        return (struct json_item){0};
    struct json_item list = json_member(body->bytes, body->lookup.value[KEY_RESULT], member);
    return list.type == JSON_ARRAY ? list : (struct json_item){0};
}

static uint32_t count_elements(const struct mcp_body *body, const char *member) {
    struct json_item list = list_of(body, member), item;
    struct json_walk walk;
    uint32_t count = 0;
    if (list.type != JSON_ARRAY)
        return 0;
    for (json_walk_begin(&walk, body->bytes, list.value); json_next(&walk, &item) == JSON_ITEM;)
        count++;
    return count;
}

static void take_element(struct mcp_catalog *catalog, const struct mcp_body *body, uint32_t part,
                         const struct json_item *item, const char *key, char **names) {
    struct json_item name = json_member(body->bytes, item->value, key);
    if (item->type != JSON_OBJECT || name.type != JSON_STRING ||
        !json_valid(body->bytes + item->value.at, item->value.bytes))
        return;
    size_t bytes = json_string_decode(body->bytes, name.value, *names, name.value.bytes);
    if (bytes == SIZE_MAX)
        return;
    catalog->elements[catalog->count++] = (struct mcp_element){.part = part,
                                                               .text = body->bytes + item->value.at,
                                                               .bytes = item->value.bytes,
                                                               .key_at = name.value.at - item->value.at,
                                                               .key_bytes = name.value.bytes,
                                                               .name = *names,
                                                               .name_bytes = (uint32_t)bytes};
    *names += bytes;
}

static void take_elements(struct mcp_catalog *catalog, const struct mcp_body *body, uint32_t part,
                          const struct mcp_list_row *row, char **names) {
    struct json_item list = list_of(body, row->member), item;
    struct json_walk walk;
    if (list.type != JSON_ARRAY)
        return;
    for (json_walk_begin(&walk, body->bytes, list.value); json_next(&walk, &item) == JSON_ITEM;)
        take_element(catalog, body, part, &item, row->key, names);
}

// Copies all pages to catalog->texts, and writes the index of each page's part to `parts`. Returns the number of
// elements; *bytes is the length of all pages.
static uint32_t read_pages(struct shard *shard, const struct mcp_gather *gather, const char *member,
                           struct mcp_catalog *catalog, uint32_t *parts, size_t *bytes) {
    uint32_t count = 0;
    *bytes = 0;
    for (uint32_t index = 0; index < gather->count; index++) {
        for (const struct parcel *page = gather->parts[index].answers.first; page; page = page->next) {
            struct mcp_body *body = &catalog->texts[catalog->text_count].body;
            if (!mcp_body_read(shard, page, body)) {
                catalog->failed = true;
                continue;
            }
            parts[catalog->text_count++] = index;
            *bytes += body->count;
            count += count_elements(body, member);
        }
    }
    return count;
}

static int compare_elements(const void *one, const void *other) {
    const struct mcp_element *a = *(const struct mcp_element *const *)one,
                             *b = *(const struct mcp_element *const *)other;
    size_t common = a->name_bytes < b->name_bytes ? a->name_bytes : b->name_bytes;
    int order = common ? memcmp(a->name, b->name, common) : 0;
    if (order)
        return order;
    if (a->name_bytes != b->name_bytes)
        return a->name_bytes < b->name_bytes ? -1 : 1;
    return a < b ? -1 : a > b;
}

static bool is_same(const struct mcp_element *one, const struct mcp_element *other) {
    return one->name_bytes == other->name_bytes && memcmp(one->name, other->name, one->name_bytes) == 0;
}

static bool has_prefix(const struct mcp_gather *gather, const struct mcp_catalog *catalog,
                       const struct mcp_element *element) {
    const char *prefix = catalog->prefixes;
    for (uint32_t index = 0; index < gather->count; index++) {
        size_t bytes = gather->parts[index].name_bytes + 2;
        if (element->name_bytes > bytes && memcmp(element->name, prefix, bytes) == 0)
            return true;
        prefix += bytes;
    }
    return false;
}

// Writes the prefixes of all servers, and gives each element the prefix of its server.
static void set_prefixes(const struct mcp_gather *gather, struct mcp_catalog *catalog) {
    char *prefix = catalog->prefixes;
    uint32_t at = 0;
    for (uint32_t index = 0; index < gather->count; index++) {
        const struct mcp_part *part = &gather->parts[index];
        uint32_t bytes = (uint32_t)mcp_catalog_prefix(part->name, part->name_bytes, prefix);
        for (; at < catalog->count && catalog->elements[at].part == index; at++) {
            catalog->elements[at].prefix = prefix;
            catalog->elements[at].prefix_bytes = bytes;
        }
        prefix += bytes;
    }
    assert(at == catalog->count);
}

static uint32_t shown_bytes(const struct mcp_element *element) {
    return (element->is_prefixed ? element->prefix_bytes : 0) + element->name_bytes;
}

static uint8_t shown_byte(const struct mcp_element *element, uint32_t at) {
    uint32_t before = element->is_prefixed ? element->prefix_bytes : 0;
    return (uint8_t)(at < before ? element->prefix[at] : element->name[at - before]);
}

static int compare_names(const struct mcp_element *a, const struct mcp_element *b) {
    uint32_t a_bytes = shown_bytes(a), b_bytes = shown_bytes(b);
    for (uint32_t at = 0; at < a_bytes && at < b_bytes; at++)
        if (shown_byte(a, at) != shown_byte(b, at))
            return shown_byte(a, at) < shown_byte(b, at) ? -1 : 1;
    return (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

// Compares elements by the names under which the elements are shown. Among equal names the element that a call by that
// name reaches comes first (mcp_owner.c): by the longest prefix, then by the first section.
static int compare_shown(const void *one, const void *other) {
    const struct mcp_element *a = *(const struct mcp_element *const *)one,
                             *b = *(const struct mcp_element *const *)other;
    int order = compare_names(a, b);
    if (order)
        return order;
    if (a->prefix_bytes != b->prefix_bytes)
        return a->prefix_bytes > b->prefix_bytes ? -1 : 1;
    return a < b ? -1 : a > b;
}

// Hides all but one of the elements that are shown under the same name.
static void hide_equal_names(struct mcp_catalog *catalog, struct mcp_element **sorted) {
    qsort(sorted, catalog->count, sizeof *sorted, compare_shown);
    for (uint32_t index = 1; index < catalog->count; index++)
        sorted[index]->is_hidden = compare_names(sorted[index - 1], sorted[index]) == 0;
}

// Decides how each element is shown. Equal names of several servers all get prefixes. Of equal URIs, and of names that
// are equal with their prefixes, one element is shown.
static void settle(const struct mcp_gather *gather, bool is_uri, bool always, struct mcp_catalog *catalog,
                   struct mcp_element **sorted) {
    for (uint32_t index = 0; index < catalog->count; index++) {
        struct mcp_element *element = &catalog->elements[index];
        sorted[index] = element;
        element->is_prefixed = !is_uri && (always || has_prefix(gather, catalog, element));
    }
    qsort(sorted, catalog->count, sizeof *sorted, compare_elements);
    for (uint32_t index = 1; index < catalog->count; index++) {
        if (!is_same(sorted[index - 1], sorted[index]))
            continue;
        if (is_uri)
            sorted[index]->is_hidden = true;
        else if (sorted[index - 1]->part != sorted[index]->part)
            sorted[index - 1]->is_prefixed = sorted[index]->is_prefixed = true;
    }
    if (!is_uri)
        hide_equal_names(catalog, sorted);
}

// Removes the tools that the user isn't shown. A removed tool doesn't make other tools need prefixes.
static void hide_tools(const struct shard *shard, const struct mcp_gather *gather,
                       struct mcp_catalog *catalog) {
    uint32_t count = 0;
    for (uint32_t index = 0; index < catalog->count; index++) {
        const struct mcp_element *element = &catalog->elements[index];
        const struct mcp_part *part = &gather->parts[element->part];
        if (tool_list_shows(shard, gather->call->client->user, part->name, part->name_bytes, element->name,
                            element->name_bytes))
            catalog->elements[count++] = *element;
    }
    assert(count <= catalog->count);
    catalog->count = count;
}

// Notes the lists in the inventory. A server that didn't answer counts as a server without elements for --mcp-gather.
static void note_lists(struct shard *shard, const struct mcp_gather *gather, enum mcp_list list,
                       const struct mcp_catalog *catalog, const uint32_t *parts) {
    for (uint32_t index = 0; index < catalog->text_count; index++) {
        const struct mcp_part *part = &gather->parts[parts[index]];
        bool is_first = index == 0 || parts[index - 1] != parts[index];
        bool is_last = index + 1 == catalog->text_count || parts[index + 1] != parts[index];
        mcp_inventory_add(shard, part->name, part->name_bytes, list, &catalog->texts[index].body, is_first,
                          is_last && !part->failed);
    }
    for (uint32_t index = 0; index < gather->count; index++)
        if (gather->parts[index].failed && !gather->is_cancelled)
            mcp_inventory_miss(shard, gather->parts[index].name, gather->parts[index].name_bytes, list);
}

static size_t prefix_bytes(const struct mcp_gather *gather) {
    size_t bytes = 0;
    for (uint32_t index = 0; index < gather->count; index++)
        bytes += gather->parts[index].name_bytes + 2;
    return bytes;
}

void mcp_catalog_read(struct shard *shard, const struct mcp_gather *gather, enum mcp_list list, bool always,
                      struct mcp_catalog *catalog) {
    const struct mcp_list_row *row = mcp_list_row(list);
    uint32_t pages = pages_of(gather);
    size_t bytes = 0;
    *catalog = (struct mcp_catalog){.texts = memory_take((pages + 1) * sizeof *catalog->texts)};
    uint32_t *parts = memory_take((pages + 1) * sizeof *parts);
    uint32_t count =
        catalog->texts && parts ? read_pages(shard, gather, row->member, catalog, parts, &bytes) : 0;
    catalog->elements = memory_take((count + 1) * sizeof *catalog->elements);
    catalog->names = memory_take(bytes + 1);
    catalog->prefixes = memory_take(prefix_bytes(gather) + 1);
    struct mcp_element **sorted = memory_take((count + 1) * sizeof *sorted);
    catalog->failed |=
        !catalog->texts || !parts || !catalog->elements || !catalog->names || !catalog->prefixes || !sorted;
    char *names = catalog->names;
    for (uint32_t index = 0; !catalog->failed && index < catalog->text_count; index++)
        take_elements(catalog, &catalog->texts[index].body, parts[index], row, &names);
    assert(catalog->count <= count);
    if (!catalog->failed)
        note_lists(shard, gather, list, catalog, parts);
    if (list == MCP_TOOLS)
        hide_tools(shard, gather, catalog);
    if (!catalog->failed)
        set_prefixes(gather, catalog);
    if (!catalog->failed)
        settle(gather, list == MCP_RESOURCES || list == MCP_TEMPLATES, always, catalog, sorted);
    memory_give(sorted);
    memory_give(parts);
}

void mcp_catalog_give(struct shard *shard, struct mcp_catalog *catalog) {
    (void)shard;
    for (uint32_t index = 0; index < catalog->text_count; index++)
        mcp_body_give(&catalog->texts[index].body);
    memory_give(catalog->texts);
    memory_give(catalog->elements);
    memory_give(catalog->names);
    memory_give(catalog->prefixes);
    *catalog = (struct mcp_catalog){0};
}

// --- Writing

static void put_element(const struct mcp_element *element, struct text *out) {
    uint32_t behind = element->key_at + 1; // behind the opening quote
    if (!element->is_prefixed) {
        text_add(out, element->text, element->bytes);
        return;
    }
    text_add(out, element->text, behind);
    text_add(out, element->prefix, element->prefix_bytes);
    text_add(out, element->text + behind, element->bytes - behind);
}

void mcp_catalog_put(const struct mcp_catalog *catalog, struct text *out) {
    bool is_first = true;
    assert(!catalog->failed);
    text_put(out, "[");
    for (uint32_t index = 0; index < catalog->count; index++) {
        if (catalog->elements[index].is_hidden)
            continue;
        text_put(out, is_first ? "" : ",");
        put_element(&catalog->elements[index], out);
        is_first = false;
    }
    text_put(out, "]");
}
