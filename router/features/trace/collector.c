#include "router/features/trace/collector.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

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

// --- Settings

// Returns whether the host looks like a number: such a host must be an address, since it can be no name.
static bool is_numeric(const struct http_url *url) {
    return url->is_v6 || url->host[strspn(url->host, "0123456789.")] == '\0';
}

const char *collector_read_option(struct hub_settings *settings, const char *name, const char *text) {
    struct collector collector;
    struct http_url url = {.port = 0};
    assert(strcmp(name, "otlp") == 0);
    (void)name;
    if (!http_url_read(text, COLLECTOR_PATH, &url) ||
        (!collector_place(&collector, &url) && is_numeric(&url)))
        return "http://HOST:PORT[/PATH]: a name or a numeric address, a port from 1 to 65535, and a path of "
               "up "
               "to 255 bytes";
    settings->collector_url = url;
    return NULL;
}

const char *collector_check_settings(struct hub_settings *settings, bool insecure,
                                     char fault[FEATURE_FAULT_BYTES]) {
    struct collector collector;
    const struct http_url *url = &settings->collector_url;
    if (!url->host[0])
        return NULL;
    settings->sandbox.may_dial = true;
    collector_place(&collector, url);
    if (insecure || collector_is_local(&collector))
        return NULL;
    snprintf(
        fault, FEATURE_FAULT_BYTES,
        "%s:%u isn't on this machine and is spoken to without TLS: expected a collector on this machine, "
        "or --insecure, which sends spans there all the same",
        url->host, url->port);
    return "otlp";
}

bool collector_needs_resolver(const struct hub_settings *settings) {
    struct collector collector;
    return settings->collector_url.host[0] && !collector_place(&collector, &settings->collector_url);
}
