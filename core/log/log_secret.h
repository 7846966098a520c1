// Hides credentials in a line of the log, and in a command. A line shrinks in place: a credential becomes `***`, or as
// many stars as it has bytes if these are fewer than three.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/base/text.h"

// A shorter secret is a common word such as `on`, which would hide parts of most lines.
enum { LOG_SECRET_BYTES_MIN = 4 };

// Hides credentials that are known by their form: the user of a URL, a bearer token, a name and a password of HTTP's
// `Basic`, a token of `patchbay token new`, a JWT, the seed of an nkey, a token with a service's prefix such as `ghp_`
// or `sk-`. Returns the new number of bytes of the text.
size_t log_hide_credentials(char *text, size_t bytes);
// Hides values behind a secret's name in a line of a program: `password=VALUE`, `"api_key" => "VALUE"`, `Authorization:
// SCHEME VALUE`, `--token VALUE`, `<password>VALUE</password>`. A value ends with its quotes or brackets, else with its
// word; the value of a header of HTTP may be the rest of its line. Blanks, quotes and a terminal's escapes may stand
// around the separator. A value of fewer than LOG_SECRET_BYTES_MIN bytes stays. The work is linear in the bytes, but
// for moving the rest of the line at each value. Also hides NAME:PASSWORD before an @. Not for the hub's own lines:
// `token: expected …` is one. Returns the new number of bytes.
size_t log_hide_named(char *text, size_t bytes);
// Adds a command line to `out`, with `***` in place of its secrets. Hidden are: the word behind an option, a header or
// a scheme of HTTP with a secret's name (`--token VALUE`, `Authorization: Bearer VALUE`); the rest of a word behind
// such a name (`--token=VALUE`, `'X-Api-Key: VALUE'`, `sh -c 'TOKEN=VALUE …'`); NAME:PASSWORD behind -u or --user, and
// before an @; credentials that are known by their form. A hidden word that opens `…` or $(…) hides the words up to the
// end of that. Words are those of argv_read. A word with a hidden part may be quoted differently; all other bytes stay.
// Without memory, `out` has failed.
void log_hide_command(const char *command, struct text *out);
// Adds one word of a command, as the program gets the word, to the empty `out` without its secrets: the word may be a
// whole command that was put in quotes. Without memory, `out` has failed.
void log_hide_word(const char *word, struct text *out);
// Adds the program of a command, its first word, as log_hide_word does. The program is `***` if the child's name is a
// secret's: `--extension token=VALUE` lacks the child's name.
void log_hide_program(const char *child, const char *program, struct text *out);

typedef void log_secret_sink(void *context, const char *secret, size_t bytes);
// Calls `sink` with each part that log_hide_command hides in `count` words, each with a zero byte at its end. A program
// may print less than the whole part, so `sink` also gets the part's first word, and what stands behind a colon. A
// secret is valid during the call. Returns false without memory.
bool log_find_command_secrets(const char *words, size_t count, log_secret_sink *sink, void *context);
// Hides each occurrence of this secret, escaped ones too (core/log/secret_variant.h), unless the secret has fewer than
// LOG_SECRET_BYTES_MIN bytes. `is_cut`: the text is the beginning of a longer text. Then LOG_SECRET_BYTES_MIN bytes or
// more of the secret at the text's end are hidden, too. Returns the new number of bytes.
size_t log_hide_secret(char *text, size_t bytes, const char *secret, size_t secret_bytes, bool is_cut);
