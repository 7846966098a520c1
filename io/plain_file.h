// Files that an operator names, to be read at start and again while the hub runs. Anything else than a plain
// file is refused: a FIFO or a device might never come to an end, and the hub with it.
#pragma once

#include <stddef.h>

// Opens one for reading. The descriptor, closed on exec, or -errno: -EISDIR for a directory, -EOPNOTSUPP for what else is no
// file.
int plain_file_open(const char *path);
// Reads on to the file's end, `room` bytes at most. 0, or -errno. `bytes` tells how many came, also where it fails.
int plain_file_read(int file, char *text, size_t room, size_t *bytes);
// Why it can't be read, in words, for an errno of these functions.
const char *plain_file_why(int error);
// Whether it can be opened so: 0 or -errno. For libraries that open it themselves.
int plain_file_check(const char *path);
