#include "router/features/cluster/nats_fault.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/child/log_line.h"

enum { FAULT_BYTES_MAX = 256 };

static bool is_due(struct link *link, const void *bytes, uint32_t count) {
    struct shard *shard = link->shard;
    uint64_t hash = siphash_table(&shard->hub->settings.secrets.tables, bytes, count),
             now_ms = shard_now_ms(shard);
    bool again = hash == link->fault_hash;
    assert(link->shard->index == 0);
    stats_count(&shard->stats, COUNT_LINK_FAULTS);
    if (link->fault_ms && now_ms - link->fault_ms < (again ? 60 * 1000u : 1000u))
        return false;
    link->fault_hash = hash;
    link->fault_ms = now_ms;
    return true;
}

void nats_fault_said(struct link *link, const uint8_t *bytes, uint32_t count) {
    char text[4 * FAULT_BYTES_MAX];
    count = count < FAULT_BYTES_MAX ? count : FAULT_BYTES_MAX;
    if (!is_due(link, bytes, count))
        return;
    size_t length = log_escape(bytes, count, text);
    assert(length <= sizeof text);
    fprintf(stderr, "patchbayd: the NATS server says: %.*s\n", (int)length, text);
}

void nats_fault_found(struct link *link, const char *what) {
    const struct nats_url *url = &link_server(link)->url;
    assert(what && *what);
    if (is_due(link, what, (uint32_t)strlen(what)))
        fprintf(stderr, "patchbayd: the NATS server %s:%u: %s\n", url->host, url->port, what);
}
