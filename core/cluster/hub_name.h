// The name of a hub in a cluster: NODE-N. NODE is 32 random hexadecimal digits a process. N is the number of its link, and
// rises with each link. Who hears a greater N knows that the lesser one has ended.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NODE_BYTES = 32, HUB_NAME_BYTES_MAX = NODE_BYTES + 1 + 10 };

struct hub_name {
    char text[HUB_NAME_BYTES_MAX];
    uint8_t bytes;   // 0: no hub
    uint32_t number; // N, from 1 on
};

// Writes the name of a node's link; `number` is 1 or more.
void hub_name_write(struct hub_name *out, const char node[NODE_BYTES], uint32_t number);
// Reads a name. False: the text is no name of a hub.
bool hub_name_read(struct hub_name *out, const void *text, size_t bytes);
bool hub_name_same(const struct hub_name *one, const struct hub_name *other);
// Below 0, 0 or above 0, as the NODE of `one` is lesser, the same or greater.
int hub_name_compare_nodes(const struct hub_name *one, const struct hub_name *other);
