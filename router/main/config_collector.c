#include "router/main/config_collector.h"

#include <assert.h>
#include <string.h>

#include "router/main/config_fault.h"

// Returns whether the host looks like a number: such a host must be an address, since it can be no name.
static bool is_numeric(const struct http_url *url) {
    return url->is_v6 || url->host[strspn(url->host, "0123456789.")] == '\0';
}

bool config_collector(struct config *config, const char *text) {
    struct http_url url = {.port = 0};
    bool good = http_url_read(text, COLLECTOR_PATH, &url) &&
                (collector_place(&config->collector, &url) || !is_numeric(&url));
    if (!good) // which may hold a credential, where none is expected
        return config_complain(config, "otlp",
                               "expected http://HOST:PORT[/PATH]: a name or a numeric address, a port from 1 "
                               "to 65535, and a path of up to 255 bytes");
    config->settings.collector_url = url;
    return true;
}

bool config_check_collector(struct config *config) {
    const struct http_url *url = &config->settings.collector_url;
    if (!url->host[0])
        return true;
    config->settings.collector = &config->collector;
    config->settings.sandbox.may_dial = true;
    if (config->insecure || collector_is_local(&config->collector))
        return true;
    return config_complain_of(
        config, "otlp",
        "%s:%u isn't on this machine and is spoken to without TLS: expected a collector on this machine, or "
        "--insecure, which sends spans there all the same",
        url->host, url->port);
}

bool config_collector_needs_resolver(const struct config *config) {
    assert(config->collector.bytes <= sizeof config->collector.address);
    return config->settings.collector && config->collector.bytes == 0;
}
