#include "core/json/name_list.h"

#include <assert.h>

// Zero in any of its spellings: no other digit stands before the exponent.
static bool is_zero(const uint8_t *text, struct span number) {
    assert(number.bytes > 0);
    for (uint32_t at = number.at; at < number.at + number.bytes && (text[at] | 0x20) != 'e'; at++)
        if (text[at] >= '1' && text[at] <= '9')
            return false;
    return true;
}

bool name_list_truthy(const uint8_t *text, const struct json_item *item) {
    assert(item->type <= JSON_NULL && item->key.bytes >= 2);
    switch (item->type) {
    case JSON_NONE:
    case JSON_FALSE:
    case JSON_NULL:
        return false;
    case JSON_STRING:
        return item->value.bytes > 2;
    case JSON_NUMBER:
        return !is_zero(text, item->value);
    default:
        return true;
    }
}

void name_list_begin(struct name_list *listing, const uint8_t *text, struct span list) {
    json_walk_begin(&listing->walk, text, list);
    listing->array = text[list.at] == '[';
}

bool name_list_next(struct name_list *listing, struct span *name) {
    assert(listing->array != listing->walk.object);
    for (struct json_item item; json_next(&listing->walk, &item) == JSON_ITEM;) {
        if (listing->array ? item.type != JSON_STRING : !name_list_truthy(listing->walk.text, &item))
            continue;
        *name = listing->array ? item.value : item.key;
        assert(json_string_quoted(listing->walk.text, *name));
        return true;
    }
    return false;
}
