// Merges lists of several servers: tools, prompts, resources or templates. Elements stay as the servers wrote them, but
// for prefixes of names.
#pragma once

#include "core/base/text.h"
#include "router/features/mcp_http/mcp_gather.h"

// An element of a list: a tool, prompt, resource or template.
struct mcp_element {
    uint32_t part;       // the index of the server's part in the gather
    const uint8_t *text; // the element's JSON, in its page
    uint32_t bytes;
    uint32_t key_at; // the offset of the name's JSON string in `text`
    uint32_t key_bytes;
    const char *name; // the name or URI, decoded
    uint32_t name_bytes;
    const char *prefix; // the prefix of the server's names
    uint32_t prefix_bytes;
    bool is_prefixed; // the name is shown with the prefix
    bool is_hidden;   // another element is shown under this name or URI
};

struct mcp_catalog {
    struct mcp_element *elements; // in the order of the configuration
    uint32_t count;
    char *names;            // memory of the elements' names
    char *prefixes;         // the prefixes of all parts, in the order of the parts
    struct mcp_text *texts; // the pages, each in one piece
    uint32_t text_count;
    bool failed; // there was no memory
};

// Reads the pages of a list that a gather has received, and notes the lists in the inventory. `always`: each name is
// shown with its server's prefix. Sets catalog->failed without memory.
void mcp_catalog_read(struct shard *shard, const struct mcp_gather *gather, enum mcp_list list, bool always,
                      struct mcp_catalog *catalog);
void mcp_catalog_give(struct shard *shard, struct mcp_catalog *catalog);
// Writes the elements that are shown, as a JSON array.
void mcp_catalog_put(const struct mcp_catalog *catalog, struct text *out);
// Writes the prefix of a server's names: `bytes` + 2 bytes. Returns the length of the prefix.
size_t mcp_catalog_prefix(const char *name, size_t bytes, char *out);
