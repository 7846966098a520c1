// The names that a part of an agent's capabilities lists: the strings of an array, or those members of an
// object that aren't false, null, 0 or "".
#pragma once

#include <stdbool.h>

#include "core/json/json.h"

struct name_list {
    struct json_walk walk;
    bool array;
};

// Begins to read `list`, an array or object of a valid text.
void name_list_begin(struct name_list *listing, const uint8_t *text, struct span list);
// The next name, a JSON string of the text; false when there is none.
bool name_list_next(struct name_list *listing, struct span *name);
// Whether a member of an object counts: it isn't false, null, 0 or "".
bool name_list_truthy(const uint8_t *text, const struct json_item *item);
