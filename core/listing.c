#include "core/listing.h"

static bool truthy(const uint8_t *text, const struct json_item *item) {
    uint64_t number = 1;
    switch (item->type) {
    case JSON_NONE:
    case JSON_FALSE:
    case JSON_NULL:
        return false;
    case JSON_STRING:
        return item->value.bytes > 2;
    case JSON_NUMBER:
        return text[item->value.at] == '-' || !json_number_whole(text, item->value, &number) || number != 0;
    default:
        return true;
    }
}

void listing_begin(struct listing *listing, const uint8_t *text, struct span list) {
    json_walk_begin(&listing->walk, text, list);
    listing->array = text[list.at] == '[';
}

bool listing_next(struct listing *listing, struct span *name) {
    for (struct json_item item; json_next(&listing->walk, &item) == JSON_ITEM;) {
        if (listing->array ? item.type != JSON_STRING : !truthy(listing->walk.text, &item))
            continue;
        *name = listing->array ? item.value : item.key;
        return true;
    }
    return false;
}
