#include "router/features/trace/collector.h"

#include <assert.h>
#include <stdio.h>

#include "io/address.h"

bool collector_place(struct collector *collector, const struct http_url *url) {
    char uri[sizeof url->host + 16];
    struct address address;
    assert(url->host[0] && url->port > 0);
    snprintf(uri, sizeof uri, url->is_v6 ? "tcp://[%s]:%u" : "tcp://%s:%u", url->host, url->port);
    collector->bytes = 0;
    if (address_parse(&address, uri) < 0)
        return false;
    collector->address = address.storage;
    collector->bytes = address.bytes;
    return true;
}

bool collector_is_local(const struct collector *collector) {
    const struct address address = {.storage = collector->address, .bytes = collector->bytes};
    assert(collector->bytes <= sizeof collector->address);
    return collector->bytes > 0 && address_is_local(&address);
}
