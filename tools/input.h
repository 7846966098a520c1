// Inputs of a user, judged before a connection is made. Each function returns NULL, or the fault as static
// text, in words that follow the argument's name.
#pragma once

#include <stdbool.h>

#include "core/base/text.h"

// JSON from an argument: the text itself, `@FILE` for what a file holds, or `-` for what standard input
// holds. One valid JSON value in UTF-8, nested 1,024 deep and 1 GiB at most. Afterwards `json` holds it with
// its terminating zero, which its length doesn't count; text_deinit gives it back, after a failure too.
const char *input_json(struct text *json, const char *argument);

// Appends the header line `Name: value` with its CR LF to `fields`, which holds such lines and a terminating
// zero that its length doesn't count. The whole block is judged as the hub judges it: a token as name, no
// control characters, nothing twice that may occur once; Content-Length is the client's own.
const char *input_field(struct text *fields, const char *line);

// Whether an argument is UTF-8, as everything in a body must be.
bool input_is_text(const char *argument);
