// Files that an operator names, which are read at start and again while the hub runs. Other files than plain files are
// refused: a FIFO or a device might block the hub without end.
#pragma once

#include <stddef.h>

// Opens a plain file for reading. Returns a descriptor with close-on-exec, or -errno: -EISDIR for a directory,
// -EOPNOTSUPP for other kinds.
int plain_file_open(const char *path);
// Reads to the file's end, at most `room` bytes. Returns 0 or -errno. *bytes is the number of bytes read, also after a
// failure.
int plain_file_read(int file, char *text, size_t room, size_t *bytes);
// Returns the words for an errno of these functions.
const char *plain_file_why(int error);
// Checks that plain_file_open would succeed. Returns 0 or -errno. For libraries that open a file themselves.
int plain_file_check(const char *path);
