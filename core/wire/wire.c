#include "core/wire/wire.h"

#include "core/wire/frame.h"
#include "core/wire/http.h"
#include "core/wire/lines.h"
#include "core/wire/nats.h"
#include "core/wire/sse.h"
#include "core/wire/websocket.h"

static enum unit_result scan_frame(struct unit *unit, uint8_t *bytes, size_t count,
                                   const struct unit_limits *limits) {
    return frame_scan(unit, bytes, count, limits);
}

static enum unit_result scan_line(struct unit *unit, uint8_t *bytes, size_t count,
                                  const struct unit_limits *limits) {
    return lines_scan(unit, bytes, count, limits);
}

static enum unit_result scan_nats(struct unit *unit, uint8_t *bytes, size_t count,
                                  const struct unit_limits *limits) {
    return nats_scan(unit, bytes, count, limits);
}

const struct wire wire_framed = {
    .name = "framed",
    .scan = scan_frame,
    .open_max = frame_open_max,
    .head = frame_length_line,
    .tail = "",
    .has_fields = true,
};

const struct wire wire_lines = {
    .name = "lines",
    .scan = scan_line,
    .open_max = lines_open_max,
    .opens_with_body = true,
    .end = lines_end,
    .tail = "\n",
    .tail_bytes = 1,
    .breaks = BREAKS_SPACES,
};

const struct wire wire_websocket = {
    .name = "websocket",
    .scan = websocket_scan,
    .open_max = websocket_open_max,
    .has_gaps = true,
    .head = websocket_head,
    .tail = "",
};

const struct wire wire_http = {
    .name = "http",
    .scan = http_scan,
    .open_max = http_open_max,
    .has_gaps = true,
    .tail = "",
};

const struct wire wire_sse = {
    .name = "sse",
    .scan = sse_scan,
    .open_max = sse_open_max,
    .head = sse_data_head,
    .tail = "\n\n",
    .tail_bytes = 2,
    .breaks = BREAKS_SPLIT,
    .between_lines = "\n" SSE_DATA,
};

const struct wire wire_nats = {
    .name = "nats",
    .scan = scan_nats,
    .open_max = nats_open_max,
    .tail = "\r\n",
    .tail_bytes = 2,
};
