#include "core/child/secret_filter.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "core/log/log_secret.h"

static void hide(struct secret_filter *filter) {
    const char *secret = filter->secrets, *end = secret + filter->secrets_bytes;
    size_t used = filter->used;
    assert(used <= SECRET_FILTER_BYTES);
    for (; secret < end; secret += strlen(secret) + 1)
        used = log_hide_secret(filter->bytes, used, secret, strlen(secret), false);
    used = log_hide_credentials(filter->bytes, used);
    filter->used = (uint32_t)log_hide_named(filter->bytes, used);
}

// Passes the first `count` bytes on.
static void pass(struct secret_filter *filter, size_t count, secret_filter_sink *sink, void *context) {
    assert(count <= filter->used);
    if (count > 0)
        sink(context, filter->bytes, count);
    filter->used -= (uint32_t)count;
    memmove(filter->bytes, filter->bytes + count, filter->used);
}

void secret_filter_add(struct secret_filter *filter, const char *bytes, size_t count,
                       secret_filter_sink *sink, void *context) {
    while (count > 0) {
        const char *end = memchr(bytes, '\n', count);
        size_t part = end ? (size_t)(end - bytes) + 1 : count, room = SECRET_FILTER_BYTES - filter->used;
        bool is_whole = end && part <= room;
        part = part < room ? part : room;
        memcpy(filter->bytes + filter->used, bytes, part);
        filter->used += (uint32_t)part;
        bytes += part;
        count -= part;
        if (!is_whole && filter->used < SECRET_FILTER_BYTES)
            continue;
        hide(filter);
        // A secret that begins before the kept bytes would be complete by now.
        if (is_whole)
            pass(filter, filter->used, sink, context);
        else if (filter->used > SECRET_FILTER_SECRET_BYTES_MAX)
            pass(filter, filter->used - SECRET_FILTER_SECRET_BYTES_MAX, sink, context);
    }
}

void secret_filter_end(struct secret_filter *filter, secret_filter_sink *sink, void *context) {
    hide(filter);
    pass(filter, filter->used, sink, context);
}
