#include "core/cluster/hub_header.h"

#include <assert.h>
#include <string.h>

#include "core/base/text.h"

static const char version[] = "NATS/1.0\r\n", name[] = "Patchbay: ";
enum { VERSION_BYTES = sizeof version - 1, NAME_BYTES = sizeof name - 1, TIME_MS_MAX = 3600 * 1000 };

static bool key_is(const uint8_t *bytes, struct span key, const char *text) {
    return key.bytes == strlen(text) && memcmp(bytes + key.at, text, key.bytes) == 0;
}

// Reads the words, which are separated by single blanks. Ignores a word without `=`.
static void take_words(const uint8_t *bytes, uint32_t at, uint32_t end, struct hub_header *out) {
    struct span time = {0, 0}, unknown; // takes the value of an unknown key, which is ignored
    uint64_t time_ms;
    assert(out->is_present);
    for (uint32_t blank; at < end; at = blank + 1) {
        blank = text_find(bytes, at, end, ' ');
        uint32_t sign = text_find(bytes, at, blank, '=');
        struct span key = {at, sign - at};
        struct span *value = key_is(bytes, key, "time")    ? &time
                             : key_is(bytes, key, "user")  ? &out->user
                             : key_is(bytes, key, "agent") ? &out->agent
                             : key_is(bytes, key, "from")  ? &out->from
                                                           : &unknown;
        if (sign < blank)
            *value = (struct span){sign + 1, blank - sign - 1};
    }
    if (text_read_digits(bytes + time.at, time.bytes, TIME_MS_MAX, &time_ms))
        out->time_ms = (uint32_t)time_ms;
}

void hub_header_read(const uint8_t *bytes, struct span headers, const struct hub_name *last,
                     struct hub_header *out) {
    *out = (struct hub_header){.is_present = false};
    uint32_t at = headers.at + VERSION_BYTES;
    if (headers.bytes < VERSION_BYTES + NAME_BYTES ||
        memcmp(bytes + headers.at, version, VERSION_BYTES) != 0 || memcmp(bytes + at, name, NAME_BYTES) != 0)
        return;
    at += NAME_BYTES;
    const uint8_t *feed = memchr(bytes + at, '\n', headers.at + headers.bytes - at);
    uint32_t end = feed ? (uint32_t)(feed - bytes) : 0;
    if (!feed || end == at || bytes[end - 1] != '\r')
        return;
    end--;
    uint32_t behind = last ? at + last->bytes : end + 1;
    bool is_last = behind <= end && (behind == end || bytes[behind] == ' ') &&
                   memcmp(bytes + at, last->text, last->bytes) == 0;
    uint32_t blank = is_last ? behind : text_find(bytes, at, end, ' ');
    if (is_last)
        out->hub = *last;
    out->is_present = is_last || hub_name_read(&out->hub, bytes + at, blank - at);
    if (out->is_present)
        take_words(bytes, blank, end, out);
}

size_t hub_header_write(char out[HUB_HEADER_BYTES_MAX], const struct hub_name *hub,
                        const struct hub_header_source *source) {
    char *to = text_copy(text_copy(out, version, VERSION_BYTES), name, NAME_BYTES);
    assert(hub->bytes > 0);
    // Copying a constant size is faster
    to = text_copy(to, hub->text, sizeof hub->text) - sizeof hub->text + hub->bytes;
    if (source->time_ms) {
        to = text_copy(to, " time=", 6);
        to += text_digits(to, source->time_ms);
    }
    if (source->user)
        to = text_copy(text_copy(to, " user=", 6), source->user, strlen(source->user));
    if (source->agent_bytes)
        to = text_copy(text_copy(to, " agent=", 7), source->agent, source->agent_bytes);
    if (source->offsets.is_known)
        to = frame_offsets_write(text_copy(to, " from=", 6), &source->offsets);
    to = text_copy(to, "\r\n\r\n", 4);
    assert(to <= out + HUB_HEADER_BYTES_MAX);
    return (size_t)(to - out);
}
