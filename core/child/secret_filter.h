// Takes secrets out of what a child writes to standard error, however that is cut: before it is made into lines of the log.
#pragma once

#include <stddef.h>
#include <stdint.h>

// A secret has no more bytes: a line of the file that its section stands in.
enum { SECRET_FILTER_SECRET_BYTES_MAX = 8 << 10, SECRET_FILTER_BYTES = 2 * SECRET_FILTER_SECRET_BYTES_MAX };

struct secret_filter {
    const char *secrets; // of the caller: texts, each with a zero byte behind it
    size_t secrets_bytes;
    uint32_t used;
    char bytes[SECRET_FILTER_BYTES]; // what has come of a line that isn't whole
};

// Takes what is no secret, in pieces that begin and end anywhere.
typedef void secret_filter_sink(void *context, const char *bytes, size_t count);

// Takes the next bytes of the stream. Bytes that may be the beginning of a secret are kept until their line ends.
void secret_filter_add(struct secret_filter *filter, const char *bytes, size_t count,
                       secret_filter_sink *sink, void *context);
// Nothing more will.
void secret_filter_end(struct secret_filter *filter, secret_filter_sink *sink, void *context);
