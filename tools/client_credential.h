// The token by which the hub knows this client: from a file that --token-file names, else from
// PATCHBAY_TOKEN. The token never stands on a command line, where the whole machine could read it.
#pragma once

#include <stdbool.h>

// Takes it from the environment, or from `file` where that isn't NULL. False, with what is wrong on standard error,
// when the file can't be read or holds no token.
bool credential_read(const char *file);
// Visible ASCII with a terminating zero; NULL: there is none.
const char *credential_token(void);
// Overwrites it: nothing is opened from here on.
void credential_forget(void);
// Whether the command line has a token on it, or a place for one (--token): all users of the machine can read it there. Then
// that was said, without the token, which is overwritten.
bool credential_on_line(int argc, char **argv);
