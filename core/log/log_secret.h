// Takes credentials out of a line of the log. Text shrinks in place: a credential becomes `***`, one of fewer than three
// bytes as many stars.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// A shorter secret is a word such as `on`, and would take half of the lines with it.
enum { LOG_SECRET_BYTES_MIN = 4 };

// Hides credentials that are known by their form: the user of a URL, a bearer token, a name and a password of HTTP's
// `Basic`, a token of `patchbay token new`, a JWT, the seed of an nkey. Returns the number of bytes of the text afterwards.
size_t log_hide_credentials(char *text, size_t bytes);
// Hides in what a program says the values that have a name of a secret before them: `password=VALUE`, `"api_key": "VALUE"`,
// `Authorization: SCHEME VALUE`. A value ends with its quotes, else with its word; one of fewer than LOG_SECRET_BYTES_MIN bytes stays.
// No line of the hub's own goes through it: `token: expected …` is one. Returns how many bytes there are then.
size_t log_hide_named(char *text, size_t bytes);
// Hides in a command the values of arguments and variables that have a name of a secret: `--token=VALUE`, `--token VALUE`,
// `TOKEN=VALUE`. A value ends with its quotes, else with its argument; one of fewer than LOG_SECRET_BYTES_MIN bytes stays. Returns how
// many bytes there are then.
size_t log_hide_arguments(char *text, size_t bytes);
// Hides each place of this secret, also where its bytes are escaped (core/log/secret_variant.h), unless it has fewer than LOG_SECRET_BYTES_MIN bytes. `is_cut`: more text stood behind this one, so the
// beginning of the secret is hidden, too, where the text ends in LOG_SECRET_BYTES_MIN bytes of it or more.
size_t log_hide_secret(char *text, size_t bytes, const char *secret, size_t secret_bytes, bool is_cut);
