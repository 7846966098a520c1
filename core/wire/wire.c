#include "core/wire/wire.h"

#include "core/wire/frame.h"
#include "core/wire/lines.h"

const struct wire wire_framed = {
    .name = "framed",
    .scan = frame_scan,
    .open_max = frame_open_max,
    .head = frame_length_line,
    .tail = "",
    .has_fields = true,
};

const struct wire wire_lines = {
    .name = "lines",
    .scan = lines_scan,
    .open_max = lines_open_max,
    .opens_with_body = true,
    .end = lines_end,
    .tail = "\n",
    .one_line = true,
};
