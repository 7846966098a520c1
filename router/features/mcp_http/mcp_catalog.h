// Lists of several servers as one: tools, prompts, resources and templates, of elements that pass as they lie.
#pragma once

#include "core/base/text.h"
#include "router/features/mcp_http/mcp_gather.h"

// An element of a list: the name or URI by which clients know it.
struct mcp_element {
    uint32_t part;       // of the gather: the server's
    const uint8_t *text; // the element, as it lies
    uint32_t bytes;
    uint32_t key_at; // in it: the name's JSON string
    uint32_t key_bytes;
    const char *name; // decoded
    uint32_t name_bytes;
    const char *prefix; // of its server's names
    uint32_t prefix_bytes;
    bool is_prefixed; // the name is shown behind the prefix
    bool is_hidden;   // another one is shown under its name or URI
};

struct mcp_catalog {
    struct mcp_element *elements; // in the order of the configuration
    uint32_t count;
    char *names;            // memory of them
    char *prefixes;         // of the parts, in their order
    struct mcp_text *texts; // the answers, in one piece each
    uint32_t text_count;
    bool failed; // memory was used up
};

// Reads what a gather of such a list has brought. `always`: each name is shown behind its server's.
void mcp_catalog_read(struct shard *shard, const struct mcp_gather *gather, enum mcp_list list, bool always,
                      struct mcp_catalog *catalog);
void mcp_catalog_give(struct shard *shard, struct mcp_catalog *catalog);
// Writes the elements that are shown, as a JSON array.
void mcp_catalog_put(const struct mcp_catalog *catalog, struct text *out);
// Writes the prefix of a server's names.
size_t mcp_catalog_prefix(const char *name, size_t bytes, char *out);
