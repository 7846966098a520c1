#include "router/features/http/http_origin.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "io/address.h"

void http_origin_note_address(struct shard *shard, const struct address *address) {
    struct http_site *site = http_site_of(shard);
    char uri[160];
    assert(shard->index == 0);
    if (strcmp(address->transport, "http") != 0)
        return;
    site->is_secure = address->secure;
    site->port = (uint16_t)address_port(address);
    if (address->storage.ss_family == AF_UNIX) { // a socket that was passed
        strcpy(site->host, "localhost");
        return;
    }
    address_format(address, uri, sizeof uri);
    const char *host = strstr(uri, "://") + 3, *colon = strrchr(host, ':');
    assert(colon && (size_t)(colon - host) < sizeof site->host);
    memcpy(site->host, host, (size_t)(colon - host));
    site->host[colon - host] = '\0';
}

static bool host_is(const uint8_t *host, size_t bytes, const char *name) {
    return strlen(name) == bytes && strncasecmp((const char *)host, name, bytes) == 0;
}

// Returns whether the Host is allowed: the listener's own address, this machine's names for itself, and --allow-host.
static bool host_allowed(const struct shard *shard, const uint8_t *host, size_t bytes) {
    assert(bytes > 0);
    return host_is(host, bytes, http_site_of(shard)->host) || host_is(host, bytes, "localhost") ||
           host_is(host, bytes, "127.0.0.1") || host_is(host, bytes, "[::1]") ||
           allowlist_find(&shard->settings->hosts, host, bytes);
}

// Returns whether the origin SCHEME://HOST[:PORT] is a page that the hub itself has served.
static bool is_own_origin(const struct shard *shard, const uint8_t *text, struct span origin) {
    enum { HTTP_PORT = 80, HTTPS_PORT = 443 };
    const struct http_site *site = http_site_of(shard);
    const char *scheme = site->is_secure ? "https://" : "http://";
    uint32_t scheme_bytes = (uint32_t)strlen(scheme);
    struct http_authority authority;
    if (origin.bytes <= scheme_bytes ||
        strncasecmp((const char *)text + origin.at, scheme, scheme_bytes) != 0 ||
        !http_authority_read(text, (struct span){origin.at + scheme_bytes, origin.bytes - scheme_bytes},
                             &authority))
        return false;
    uint32_t port = authority.port ? authority.port : site->is_secure ? HTTPS_PORT : HTTP_PORT;
    return port == site->port && host_allowed(shard, text + authority.host.at, authority.host.bytes);
}

static bool is_foreign_fetch(const uint8_t *head, const struct http_request *request) {
    struct span site = request->fields[HTTP_SEC_FETCH_SITE];
    return http_has_field(request, HTTP_SEC_FETCH_SITE) &&
           !http_span_is_caseless(head, site, "same-origin") && !http_span_is_caseless(head, site, "none");
}

struct http_origin http_origin_check(const struct shard *shard, const uint8_t *head,
                                     const struct http_request *request) {
    struct span origin = request->fields[HTTP_ORIGIN];
    bool has_origin = http_has_field(request, HTTP_ORIGIN);
    struct http_origin guard = {0};
    if (has_origin)
        guard.origin = allowlist_find(&shard->settings->origins, head + origin.at, origin.bytes);
    if (!host_allowed(shard, head + request->authority.host.at, request->authority.host.bytes))
        guard.fault = "this Host isn't served here: --allow-host names others";
    else if (http_repeated(request, HTTP_ORIGIN) || http_repeated(request, HTTP_SEC_FETCH_SITE))
        guard.fault = "Origin and Sec-Fetch-Site may occur once only";
    else if (has_origin && !guard.origin && !is_own_origin(shard, head, origin))
        guard.fault = "this Origin isn't allowed: --allow-origin names others";
    else if (is_foreign_fetch(head, request) && !guard.origin)
        guard.fault = "a page of another site must have an Origin that is allowed by name";
    return guard;
}
