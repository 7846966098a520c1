#include "router/features/http/http_allow.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/wire/field.h"
#include "core/wire/http_request.h"

#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define UPPER  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

// Returns whether a text is labels with dots between them. Patterns and lists, which a Host field could contain, are no
// names.
static bool is_host_name(const char *name) {
    return *name && *name != '.' && !strstr(name, "..") && !name[strspn(name, LOWER UPPER DIGITS "-_.")];
}

static bool is_host_address(const char *address) {
    char inner[INET6_ADDRSTRLEN];
    struct in6_addr binary;
    assert(*address == '[' && strlen(address) > 2);
    int count = snprintf(inner, sizeof inner, "%.*s", (int)strlen(address) - 2, address + 1);
    return count < (int)sizeof inner && inet_pton(AF_INET6, inner, &binary) == 1;
}

// Puts the host of HOST[:PORT] into `out`, which has ALLOWLIST_BYTES_MAX + 1 bytes. Returns false for another text.
static bool read_host(const char *text, char *out) {
    struct http_authority authority;
    size_t bytes = strlen(text);
    if (bytes > ALLOWLIST_BYTES_MAX ||
        !http_authority_read((const uint8_t *)text, (struct span){0, (uint32_t)bytes}, &authority))
        return false;
    uint32_t host = authority.host.bytes;
    assert(host > 0 && host <= bytes);
    memcpy(out, text, host);
    out[host] = '\0';
    bool is_port_good = host == bytes || authority.port > 0;
    return is_port_good && (*out == '[' ? is_host_address(out) : is_host_name(out));
}

// Returns the scheme's own port, which browsers leave out, as text; NULL if the scheme is neither http nor https.
static const char *own_port(const char *origin) {
    return strncmp(origin, "https://", strlen("https://")) == 0 ? ":443"
           : strncmp(origin, "http://", strlen("http://")) == 0 ? ":80"
                                                                : NULL;
}

// Puts SCHEME://HOST[:PORT] into `out`, which has ALLOWLIST_BYTES_MAX + 1 bytes, as browsers send an origin: in lower
// case, without the scheme's own port. The pages of an application may have a dot as their host: app://. Returns false
// for another text.
static bool read_origin(const char *text, char *out) {
    char host[ALLOWLIST_BYTES_MAX + 1];
    size_t scheme = strspn(text, LOWER UPPER DIGITS "+-."), bytes = strlen(text);
    assert(scheme <= bytes);
    if (bytes > ALLOWLIST_BYTES_MAX || strspn(text, LOWER UPPER) == 0 ||
        strncmp(text + scheme, "://", strlen("://")) != 0)
        return false;
    const char *place = text + scheme + strlen("://");
    if (strcmp(place, ".") != 0 && !read_host(place, host))
        return false;
    for (size_t at = 0; at <= bytes; at++)
        out[at] = (char)field_lower((uint8_t)text[at]);
    const char *port = own_port(out);
    if (port && strcmp(out + bytes - strlen(port), port) == 0)
        out[bytes - strlen(port)] = '\0';
    return true;
}

// Reads a host or an origin. A host's port is ignored, since requests may name any port.
const char *http_allow_read_option(struct hub_settings *settings, const char *name, const char *text) {
    char read[ALLOWLIST_BYTES_MAX + 1];
    bool is_host = strcmp(name, "allow-host") == 0;
    assert(is_host || strcmp(name, "allow-origin") == 0);
    struct allowlist *allowed = is_host ? &settings->hosts : &settings->origins;
    if (!text) {
        allowed->count = 0;
        return NULL;
    }
    if (is_host && !read_host(text, read))
        return "a host such as hub.example, 192.0.2.1 or [2001:db8::1]";
    if (!is_host && !read_origin(text, read))
        return "SCHEME://HOST[:PORT] such as https://app.example";
    return allowlist_add(allowed, read) ? NULL : is_host ? "16 names at most" : "16 origins at most";
}
