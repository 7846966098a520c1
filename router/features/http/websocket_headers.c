#include "router/features/http/websocket_headers.h"

#include <assert.h>
#include <string.h>

#include "core/base/text.h"
#include "core/wire/frame.h"
#include "router/engine/shard/annex.h"
#include "router/events/events.h"
#include "router/routing/route.h"

bool websocket_headers_is_plain(const struct directives *directives) {
    assert(!directives->governance_bad && !directives->timeout_bad); // the upgrade was refused
    return !directives->governance_given && !directives->timeout_given;
}

// Content-Length and the fields, as a peer would have sent them.
static size_t put_block(char *out, const struct directives *directives, uint32_t body_bytes) {
    size_t count = frame_length_line(out, body_bytes);
    char *at = out + count;
    if (directives->governance_given) {
        at = stpcpy(at, "Governance-Level: ");
        at = stpcpy(at, governance_text(directives->governance));
        at = stpcpy(at, "\r\n");
    }
    if (directives->timeout_given) {
        at = stpcpy(at, "Custom-Timeout-Ms: ");
        at += text_digits(at, directives->timeout_ms);
        at = stpcpy(at, "\r\n");
    }
    at = stpcpy(at, "\r\n");
    return (size_t)(at - out);
}

void websocket_headers_route(struct shard *shard, struct peer *peer, const struct frame *frame) {
    enum { BLOCK_BYTES_MAX = 128 };
    char block[BLOCK_BYTES_MAX];
    uint32_t body_bytes = frame->body.bytes;
    const struct directives *directives = &peer->annex->directives;
    uint32_t block_bytes = (uint32_t)put_block(block, directives, body_bytes);
    struct buffer *copy = buffer_take_sized(&shard->buffers, block_bytes + body_bytes);
    assert(block_bytes < sizeof block);
    if (!copy) {
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
        return;
    }
    memcpy(copy->bytes, block, block_bytes);
    memcpy(copy->bytes + block_bytes, frame_body(frame), body_bytes);
    struct unit unit = {
        .sized = true,
        .canonical = true,
        .bytes = block_bytes + body_bytes,
        .body_at = block_bytes,
        .body_bytes = body_bytes,
        .directives = *directives,
        .length_line_bytes = (uint32_t)frame_length_line(block, body_bytes),
    };
    struct frame whole = frame_at(copy, 0, &unit);
    route_frame(shard, peer, &whole, NULL);
    events_flush(shard);
    buffer_drop(copy);
}
