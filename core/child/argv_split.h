// A command line, split into words as a shell would: blanks separate; '…' keeps what is in it; in "…" a
// backslash stands before $ ` " and \, outside before anything. Nothing is expanded: no shell runs.
#pragma once

#include <stddef.h>

// Writes the words to `out`, each with a zero byte behind it: never more bytes than the text and one. Returns
// how many there are; SIZE_MAX when a quotation or an escape has no end.
size_t argv_split(const char *text, char *out);
