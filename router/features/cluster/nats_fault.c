#include "router/features/cluster/nats_fault.h"

#include <assert.h>
#include <string.h>

#include "core/log/log_escape.h"
#include "core/log/log_secret.h"
#include "io/log.h"

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
    const struct nats_url *url = &link_server(link)->url;
    char said[FAULT_BYTES_MAX], text[4 * FAULT_BYTES_MAX], server[CLUSTER_SERVER_TEXT_BYTES];
    count = count < FAULT_BYTES_MAX ? count : FAULT_BYTES_MAX;
    if (!is_due(link, bytes, count))
        return;
    memcpy(said, bytes, count);
    size_t left = log_hide_secret(said, count, url->password, strlen(url->password), true);
    left = log_hide_secret(said, left, url->token, strlen(url->token), true);
    size_t length = log_escape((const uint8_t *)said, left, text);
    assert(length <= sizeof text);
    cluster_server_text(url, server);
    log_write(LOG_LINK_FAULT, LOG_FIELDS(log_text(server)), "the NATS server says: %.*s", (int)length, text);
}

void nats_fault_found(struct link *link, const char *what) {
    const struct nats_url *url = &link_server(link)->url;
    assert(what && *what);
    char server[CLUSTER_SERVER_TEXT_BYTES];
    cluster_server_text(url, server);
    if (is_due(link, what, (uint32_t)strlen(what)))
        log_write(LOG_LINK_FAULT, LOG_FIELDS(log_text(server)), "the NATS server %s: %s", server, what);
}
