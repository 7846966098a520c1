// Reads the address of a server that the hub asks by HTTP: http://HOST:PORT[/PATH], and nothing else. A credential
// isn't allowed.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HTTP_URL_HOST_BYTES_MAX = 253, HTTP_URL_PATH_BYTES_MAX = 255 };

// Texts end with a zero byte.
struct http_url {
    char host[HTTP_URL_HOST_BYTES_MAX + 1]; // a name, or an address without its brackets
    char path[HTTP_URL_PATH_BYTES_MAX + 1]; // with its slash, and a query if there is one
    uint16_t port;
    bool is_v6;
};

// Reads an address. `path` is the path if the text has none. Returns false for any other text; *out is then undefined.
bool http_url_read(const char *text, const char *path, struct http_url *out);
