// Reads the fields of a request's head in one pass. http_scan must have judged the head. All spans are of the bytes
// from the unit's start. http_make_framed overwrites these bytes.
#pragma once

#include "core/json/json.h"
#include "core/wire/unit.h"

// --- The request line

// Reads the request line of HTTP/1.x (RFC 9112 section 3) and authorities (RFC 3986 section 3.2). Strict.

// The parts of a request line. All spans are of the bytes in which the line lies.
struct http_line {
    struct span method;
    struct span target;
    struct span path;      // "/" of a URI that has none, "*" of OPTIONS *
    struct span query;     // behind the question mark
    struct span authority; // of a URI; else empty
    bool is_1_0;
};

// Reads the line from `at` up to its CR LF at `end`. Returns UNIT_FAULT_NONE, or the fault and its offset in *fault_at.
enum unit_fault http_line_read(const uint8_t *bytes, uint32_t at, uint32_t end, struct http_line *out,
                               uint32_t *fault_at);

// The authority of a Host field or a URI: host[:port]. The host is a registered name, an IPv4 address, or an IPv6
// address in its brackets, and never empty.
struct http_authority {
    struct span host; // with the brackets
    uint32_t port;    // 0: no port is given
};

// Reads an authority. Returns false if the text is none.
bool http_authority_read(const uint8_t *bytes, struct span text, struct http_authority *out);

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_POST, HTTP_DELETE, HTTP_OPTIONS, HTTP_OTHER_METHOD };

// The fields that the hub reads, except those that delimit the body, which http_scan has read.
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
    uint32_t present; // one bit for each enum http_field that occurs
    uint32_t repeated;
    struct http_line line;
    struct http_authority authority;       // Host
    struct span fields[HTTP_FIELDS_COUNT]; // the value of each field's first occurrence; empty without one
};

// Reads a unit whose head is whole (body_at is set), from the unit's start.
void http_read(const uint8_t *head, const struct unit *unit, struct http_request *out);

static inline bool http_has_field(const struct http_request *request, enum http_field field) {
    return request->present & 1u << field;
}
static inline bool http_repeated(const struct http_request *request, enum http_field field) {
    return request->repeated & 1u << field;
}

// Returns whether the comma-separated lists in all fields of this name have the token, ignoring case. `token` must be
// in lower case.
bool http_lists(const uint8_t *head, const struct unit *unit, enum http_field field, const char *token);
// Returns whether the list in one value has the token.
bool http_list_has(const uint8_t *bytes, struct span list, const char *token);
// Finds the next field whose name begins with `prefix` (in lower case), ignoring case. *at must be 0 at first. Returns
// false when there are no more.
bool http_next_with(const uint8_t *head, const struct unit *unit, uint32_t *at, const char *prefix,
                    struct span *name, struct span *value);
// Overwrites the values of all fields of this name.
void http_erase(uint8_t *head, const struct unit *unit, enum http_field field);
// Returns whether a media type is `type` (in lower case), with any parameters except a charset other than UTF-8.
bool http_media_type_is(const uint8_t *bytes, struct span value, const char *type);
// Return whether a span's bytes equal `text`; the second function ignores case, and `lower` must be in lower case.
bool http_span_is(const uint8_t *bytes, struct span span, const char *text);
bool http_span_is_caseless(const uint8_t *bytes, struct span span, const char *lower);

// --- Queries

// Reads the parameters of a query, as forms and URLSearchParams write them: name=value separated by ampersands, bytes
// as %XX, a space also as +.

enum http_parameter_step {
    HTTP_PARAMETER,          // a parameter was read
    HTTP_PARAMETER_BAD,      // the parameter can't be read: a bad %XX, bad UTF-8, or a zero byte
    HTTP_PARAMETER_TOO_LONG, // name and value together are over the capacity
    HTTP_PARAMETERS_END
};

struct http_parameter {
    const char *name; // in the caller's memory; no terminating zero
    uint32_t name_bytes;
    const char *value; // empty also without "="
    uint32_t value_bytes;
};

// Decodes the parameter at *at (0: the first parameter) into `out`, and moves *at behind the parameter in any case.
// Empty text between two ampersands is no parameter. A capacity of the query's own length is always enough.
enum http_parameter_step http_parameter_next(const uint8_t *bytes, struct span query, uint32_t *at, char *out,
                                             uint32_t capacity, struct http_parameter *parameter);
