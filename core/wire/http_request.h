// The fields of a request's head, read in one pass over a head that http_scan has judged. All spans are of
// the bytes from the unit's start. http_make_framed overwrites their bytes.
#pragma once

#include "core/json/json.h"
#include "core/wire/http_line.h"
#include "core/wire/unit.h"

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_POST, HTTP_OPTIONS, HTTP_OTHER_METHOD };

// The fields that the hub reads. (What says where the body ends has been read by http_scan.)
#define HTTP_FIELDS(X)                                                                                       \
    X(HTTP_HOST, "host")                                                                                     \
    X(HTTP_ACCEPT, "accept")                                                                                 \
    X(HTTP_ORIGIN, "origin")                                                                                 \
    X(HTTP_UPGRADE, "upgrade")                                                                               \
    X(HTTP_CONNECTION, "connection")                                                                         \
    X(HTTP_CONTENT_TYPE, "content-type")                                                                     \
    X(HTTP_AUTHORIZATION, "authorization")                                                                   \
    X(HTTP_LAST_EVENT_ID, "last-event-id")                                                                   \
    X(HTTP_SEC_FETCH_SITE, "sec-fetch-site")                                                                 \
    X(HTTP_SEC_WEBSOCKET_KEY, "sec-websocket-key")                                                           \
    X(HTTP_SEC_WEBSOCKET_VERSION, "sec-websocket-version")                                                   \
    X(HTTP_SEC_WEBSOCKET_PROTOCOL, "sec-websocket-protocol")                                                 \
    X(HTTP_ACCESS_CONTROL_REQUEST_METHOD, "access-control-request-method")                                   \
    X(HTTP_ACCESS_CONTROL_REQUEST_HEADERS, "access-control-request-headers")

enum http_field {
#define X(name, text) name,
    HTTP_FIELDS(X)
#undef X
        HTTP_FIELDS_COUNT
};

struct http_request {
    enum http_method method;
    bool is_1_0;
    bool keep_alive; // of HTTP/1.1, unless Connection says close
    uint32_t given;  // a bit for each enum http_field
    uint32_t repeated;
    struct http_line line;
    struct http_authority authority;       // Host
    struct span fields[HTTP_FIELDS_COUNT]; // the values of the first of each; 0 bytes without one
};

// Reads a unit whose head is whole (body_at is set), from the unit's start.
void http_read(const uint8_t *head, const struct unit *unit, struct http_request *out);

static inline bool http_has_field(const struct http_request *request, enum http_field field) {
    return request->given & 1u << field;
}
static inline bool http_repeated(const struct http_request *request, enum http_field field) {
    return request->repeated & 1u << field;
}

// Whether a list of tokens by comma, over all fields of this name, has this one; in any case, `token` in lower
// case.
bool http_lists(const uint8_t *head, const struct unit *unit, enum http_field field, const char *token);
// The same of one value.
bool http_list_has(const uint8_t *bytes, struct span list, const char *token);
// Overwrites the values of all fields of this name.
void http_blot_out(uint8_t *head, const struct unit *unit, enum http_field field);
// Whether a media type is this one (in lower case), whatever its parameters are but for a charset other than
// UTF-8.
bool http_media_type_is(const uint8_t *bytes, struct span value, const char *type);
// Whether a span's bytes are `text`; and whether they are but for case, `lower` being in lower case.
bool http_span_is(const uint8_t *bytes, struct span span, const char *text);
bool http_span_is_caseless(const uint8_t *bytes, struct span span, const char *lower);
