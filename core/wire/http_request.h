// The fields of a request's head, read in one pass over a head that http_scan has judged. All spans are of
// the bytes from the unit's start. http_make_framed overwrites their bytes.
#pragma once

#include "core/json/json.h"
#include "core/wire/unit.h"

// --- The request line

// The request line of HTTP/1.x (RFC 9112 section 3) and authorities (RFC 3986 section 3.2), made strict.

// Spans of the bytes that the line lies in.
struct http_line {
    struct span method;
    struct span target;
    struct span path;      // "/" of a URI that has none, "*" of OPTIONS *
    struct span query;     // behind the question mark
    struct span authority; // of a URI; else 0 bytes
    bool is_1_0;
};

// Reads the line from `at` up to its CR LF at `end`. UNIT_FAULT_NONE, or what is wrong and where.
enum unit_fault http_line_read(const uint8_t *bytes, uint32_t at, uint32_t end, struct http_line *out,
                               uint32_t *fault_at);

// The authority of a Host field or a URI: host[:port]. The host is a registered name or an IPv4 address, or
// an IPv6 address in its brackets; never empty.
struct http_authority {
    struct span host; // with the brackets
    uint32_t port;    // 0: none is given
};

// False when it is none.
bool http_authority_read(const uint8_t *bytes, struct span text, struct http_authority *out);

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_POST, HTTP_DELETE, HTTP_OPTIONS, HTTP_OTHER_METHOD };

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
    X(HTTP_MCP_NAME, "mcp-name")                                                                             \
    X(HTTP_MCP_METHOD, "mcp-method")                                                                         \
    X(HTTP_MCP_SESSION_ID, "mcp-session-id")                                                                 \
    X(HTTP_MCP_PROTOCOL_VERSION, "mcp-protocol-version")                                                     \
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
    bool keep_alive;  // of HTTP/1.1, unless Connection says close
    uint32_t present; // a bit for each enum http_field
    uint32_t repeated;
    struct http_line line;
    struct http_authority authority;       // Host
    struct span fields[HTTP_FIELDS_COUNT]; // the values of the first of each; 0 bytes without one
};

// Reads a unit whose head is whole (body_at is set), from the unit's start.
void http_read(const uint8_t *head, const struct unit *unit, struct http_request *out);

static inline bool http_has_field(const struct http_request *request, enum http_field field) {
    return request->present & 1u << field;
}
static inline bool http_repeated(const struct http_request *request, enum http_field field) {
    return request->repeated & 1u << field;
}

// Whether a list of tokens by comma, over all fields of this name, has this one; in any case, `token` in lower
// case.
bool http_lists(const uint8_t *head, const struct unit *unit, enum http_field field, const char *token);
// Whether the list in one value has the token.
bool http_list_has(const uint8_t *bytes, struct span list, const char *token);
// The next field whose name begins with `prefix` (in lower case, in any case), and its value; *at is 0 at first. False
// when there are no more.
bool http_next_with(const uint8_t *head, const struct unit *unit, uint32_t *at, const char *prefix,
                    struct span *name, struct span *value);
// Overwrites the values of all fields of this name.
void http_erase(uint8_t *head, const struct unit *unit, enum http_field field);
// Whether a media type is this one (in lower case), whatever its parameters are but for a charset other than
// UTF-8.
bool http_media_type_is(const uint8_t *bytes, struct span value, const char *type);
// Whether a span's bytes are `text`; and whether they are but for case, `lower` being in lower case.
bool http_span_is(const uint8_t *bytes, struct span span, const char *text);
bool http_span_is_caseless(const uint8_t *bytes, struct span span, const char *lower);

// --- Queries

// The parameters of a query, as forms and URLSearchParams write them: name=value by ampersand, bytes as %XX,
// a space also as +.

enum http_parameter_step {
    HTTP_PARAMETER,          // it is there
    HTTP_PARAMETER_BAD,      // what stands there can't be read: %XX that is none, no UTF-8, or a zero byte
    HTTP_PARAMETER_TOO_LONG, // its name and value together are over the capacity
    HTTP_PARAMETERS_END
};

struct http_parameter {
    const char *name; // in the caller's memory; no terminating zero
    uint32_t name_bytes;
    const char *value; // 0 bytes also where there is no "="
    uint32_t value_bytes;
};

// Decodes the parameter at *at (0: the first one) into `out`; *at is then behind it, whatever it was. Nothing
// between two ampersands is no parameter. A query's own length is always capacity enough.
enum http_parameter_step http_parameter_next(const uint8_t *bytes, struct span query, uint32_t *at, char *out,
                                             uint32_t capacity, struct http_parameter *parameter);
