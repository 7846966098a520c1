// Takes credentials out of a line of the log, and out of a command. A line shrinks in place: a credential becomes `***`, one of fewer
// than three bytes as many stars.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/base/text.h"

// A shorter secret is a word such as `on`, and would take half of the lines with it.
enum { LOG_SECRET_BYTES_MIN = 4 };

// Hides credentials that are known by their form: the user of a URL, a bearer token, a name and a password of HTTP's
// `Basic`, a token of `patchbay token new`, a JWT, the seed of an nkey. Returns the number of bytes of the text afterwards.
size_t log_hide_credentials(char *text, size_t bytes);
// Hides in what a program says the values that have a name of a secret before them: `password=VALUE`, `"api_key": "VALUE"`,
// `Authorization: SCHEME VALUE`. A value ends with its quotes, else with its word; one of fewer than LOG_SECRET_BYTES_MIN bytes stays.
// No line of the hub's own goes through it: `token: expected …` is one. Returns how many bytes there are then.
size_t log_hide_named(char *text, size_t bytes);
// Adds a command line to `out` with `***` in the place of its secrets: the word behind an option, a header or a scheme of HTTP that has
// a name of a secret (`--token VALUE`, `Authorization: Bearer VALUE`); the rest of a word behind such a name (`--token=VALUE`,
// `'X-Api-Key: VALUE'`, `sh -c 'TOKEN=VALUE …'`); credentials that are known by their form. Words are what argv_split makes of them. A
// word in which something was hidden may be quoted otherwise; all other bytes stay. `out` has failed where memory is used up.
void log_hide_command(const char *command, struct text *out);
// Hides each place of this secret, also where its bytes are escaped (core/log/secret_variant.h), unless it has fewer than LOG_SECRET_BYTES_MIN bytes. `is_cut`: more text stood behind this one, so the
// beginning of the secret is hidden, too, where the text ends in LOG_SECRET_BYTES_MIN bytes of it or more.
size_t log_hide_secret(char *text, size_t bytes, const char *secret, size_t secret_bytes, bool is_cut);
