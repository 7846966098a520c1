// Removes secrets from a child's standard error, however the bytes are split. The result becomes lines of the log.
#pragma once

#include <stddef.h>
#include <stdint.h>

// A secret's bound: a line of the file with the section.
enum { SECRET_FILTER_SECRET_BYTES_MAX = 8 << 10, SECRET_FILTER_BYTES = 2 * SECRET_FILTER_SECRET_BYTES_MAX };

struct secret_filter {
    const char *secrets; // texts of the caller, each with a zero byte at its end
    size_t secrets_bytes;
    uint32_t used;
    char bytes[SECRET_FILTER_BYTES]; // the bytes of an incomplete line
};

// Receives the text without secrets, in pieces that begin and end anywhere.
typedef void secret_filter_sink(void *context, const char *bytes, size_t count);

// Adds the next bytes of the stream. Keeps bytes that may begin a secret until their line ends.
void secret_filter_add(struct secret_filter *filter, const char *bytes, size_t count,
                       secret_filter_sink *sink, void *context);
// Ends the stream: passes the kept bytes on.
void secret_filter_end(struct secret_filter *filter, secret_filter_sink *sink, void *context);
