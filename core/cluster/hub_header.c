#include "core/cluster/hub_header.h"

#include <assert.h>
#include <string.h>

#include "core/base/text.h"

static const char version[] = "NATS/1.0\r\n", name[] = "Patchbay: ";
enum { VERSION_BYTES = sizeof version - 1, NAME_BYTES = sizeof name - 1, TIME_MS_MAX = 3600 * 1000 };

static bool key_is(const uint8_t *bytes, struct span key, const char *text) {
    return key.bytes == strlen(text) && memcmp(bytes + key.at, text, key.bytes) == 0;
}

static void take_pair(const uint8_t *bytes, struct span key, struct span value, struct hub_header *out) {
    uint64_t time_ms;
    assert(out->is_present);
    if (key_is(bytes, key, "time"))
        out->time_ms =
            text_read_digits(bytes + value.at, value.bytes, TIME_MS_MAX, &time_ms) ? (uint32_t)time_ms : 0;
    else if (key_is(bytes, key, "user"))
        out->user = value;
    else if (key_is(bytes, key, "agent"))
        out->agent = value;
    else if (key_is(bytes, key, "from"))
        out->from = value;
}

// The word that begins at `at`, up to a blank or the line's end.
static struct span word_at(const uint8_t *bytes, uint32_t at, uint32_t end) {
    const uint8_t *blank = memchr(bytes + at, ' ', end - at);
    return (struct span){at, blank ? (uint32_t)(blank - bytes) - at : end - at};
}

static void take_words(const uint8_t *bytes, uint32_t at, uint32_t end, struct hub_header *out) {
    while (at < end) {
        struct span word = word_at(bytes, at, end);
        const uint8_t *sign = word.bytes ? memchr(bytes + word.at, '=', word.bytes) : NULL;
        uint32_t key_bytes = sign ? (uint32_t)(sign - bytes) - word.at : 0;
        if (sign)
            take_pair(bytes, (struct span){word.at, key_bytes},
                      (struct span){word.at + key_bytes + 1, word.bytes - key_bytes - 1}, out);
        at = word.at + word.bytes + 1;
    }
}

void hub_header_read(const uint8_t *bytes, struct span headers, struct hub_header *out) {
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
    struct span hub = word_at(bytes, at, end);
    out->is_present = hub_name_read(&out->hub, bytes + hub.at, hub.bytes);
    if (out->is_present)
        take_words(bytes, hub.at + hub.bytes, end, out);
}

static char *put(char *to, const void *bytes, size_t count) {
    memcpy(to, bytes, count);
    return to + count;
}

size_t hub_header_write(char out[HUB_HEADER_BYTES_MAX], const struct hub_name *hub,
                        const struct hub_header_source *source) {
    char *to = put(put(out, version, VERSION_BYTES), name, NAME_BYTES);
    assert(hub->bytes > 0);
    to = put(to, hub->text, hub->bytes);
    if (source->time_ms) {
        to = put(to, " time=", 6);
        to += text_digits(to, source->time_ms);
    }
    if (source->user)
        to = put(put(to, " user=", 6), source->user, strlen(source->user));
    if (source->agent_bytes)
        to = put(put(to, " agent=", 7), source->agent, source->agent_bytes);
    if (source->offsets.is_known)
        to = frame_offsets_write(put(to, " from=", 6), &source->offsets);
    to = put(to, "\r\n\r\n", 4);
    assert(to <= out + HUB_HEADER_BYTES_MAX);
    return (size_t)(to - out);
}
