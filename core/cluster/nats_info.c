#include "core/cluster/nats_info.h"

#include <assert.h>

static void take(const uint8_t *text, const struct json_item *item, struct nats_info *out) {
    bool on = item->type == JSON_TRUE;
    if (json_string_is(text, item->key, "max_payload") && item->type == JSON_NUMBER)
        (void)json_number_whole(text, item->value, &out->payload_bytes_max);
    else if (json_string_is(text, item->key, "headers"))
        out->headers = on;
    else if (json_string_is(text, item->key, "auth_required"))
        out->auth_required = on;
    else if (json_string_is(text, item->key, "tls_required"))
        out->tls_required = on;
    else if (json_string_is(text, item->key, "tls_available"))
        out->tls_available = on;
    else if (json_string_is(text, item->key, "ldm"))
        out->lame_duck = on;
    else if (json_string_is(text, item->key, "connect_urls") && item->type == JSON_ARRAY)
        out->connect_urls = item->value;
    else if (json_string_is(text, item->key, "nonce") && item->type == JSON_STRING)
        out->nonce = item->value;
}

bool nats_info_read(const uint8_t *text, struct span argument, struct nats_info *out) {
    struct json_walk walk;
    struct json_item item;
    enum json_step step;
    *out = (struct nats_info){0};
    if (argument.bytes < 2 || text[argument.at] != '{')
        return false;
    uint32_t end = argument.at + argument.bytes, behind = json_skip_container(text, argument.at, end);
    if (behind > end)
        return false;
    json_walk_begin(&walk, text, (struct span){argument.at, behind - argument.at});
    while ((step = json_next(&walk, &item)) == JSON_ITEM)
        take(text, &item, out);
    assert(step == JSON_END || step == JSON_BAD);
    return step == JSON_END && out->payload_bytes_max > 0;
}
