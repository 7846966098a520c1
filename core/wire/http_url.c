#include "core/wire/http_url.h"

#include <assert.h>
#include <string.h>

#include "core/wire/http_request.h"

// Returns whether the path has only visible ASCII characters and no fragment.
static bool is_path(const char *path) {
    size_t bytes = 0;
    for (; path[bytes]; bytes++)
        if (path[bytes] <= ' ' || path[bytes] > '~' || path[bytes] == '#')
            return false;
    return path[0] == '/' && bytes <= HTTP_URL_PATH_BYTES_MAX;
}

// Copies the host without the brackets of an IPv6 address. Returns false for a host that is too long or has %XX, which
// no host's name has.
static bool take_host(const uint8_t *bytes, struct span host, struct http_url *out) {
    bool is_v6 = host.bytes > 2 && bytes[host.at] == '[';
    uint32_t count = host.bytes - (is_v6 ? 2 : 0);
    assert(host.bytes > 0);
    if (count > HTTP_URL_HOST_BYTES_MAX || memchr(bytes + host.at, '%', host.bytes))
        return false;
    memcpy(out->host, bytes + host.at + is_v6, count);
    out->host[count] = '\0';
    out->is_v6 = is_v6;
    return true;
}

bool http_url_read(const char *text, const char *path, struct http_url *out) {
    static const char scheme[] = "http://";
    struct http_authority authority;
    assert(is_path(path));
    if (strncmp(text, scheme, sizeof scheme - 1) != 0)
        return false;
    const uint8_t *bytes = (const uint8_t *)text + sizeof scheme - 1;
    struct span place = {0, (uint32_t)strcspn((const char *)bytes, "/?#")};
    if (!http_authority_read(bytes, place, &authority) || authority.port == 0)
        return false;
    if (bytes[place.bytes])
        path = (const char *)bytes + place.bytes;
    if (!is_path(path) || !take_host(bytes, authority.host, out))
        return false;
    strcpy(out->path, path);
    out->port = (uint16_t)authority.port;
    return true;
}
