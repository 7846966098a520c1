// Checks a user's inputs before a connection is made. Each function down to input_field returns NULL, or the fault as
// static text that follows the argument's name.
#pragma once

#include <stdbool.h>

#include "core/base/text.h"

// Reads JSON from an argument: the text itself, `@FILE` for a file, or `-` for standard input. The JSON must be one
// valid value in UTF-8, nested 1,024 deep and 1 GiB long at most. `json` then has the text with a terminating zero,
// which the length doesn't count. The caller calls text_deinit, after a failure too.
const char *input_json(struct text *json, const char *argument);

// Appends the header line `Name: value` with its CR LF to `fields`, which has such lines and a terminating zero that
// the length doesn't count. The whole block is checked as the hub checks it: a token as name, no control characters,
// and no field twice that may occur once. Content-Length is the client's own.
const char *input_field(struct text *fields, const char *line);

// Returns whether an argument is UTF-8, as all of a body must be.
bool input_is_text(const char *argument);
