// Keeps the token by which the hub knows this client: from a file that --token-file names, else from PATCHBAY_TOKEN.
// The token never stands on a command line, where all users of the machine could read it.
#pragma once

#include <stdbool.h>

// Reads the token from `file`, or with NULL from the environment. Returns false, and prints the fault on standard
// error, if the file can't be read or the text is no token.
bool credential_read(const char *file);
// Returns the token, visible ASCII with a terminating zero; NULL: there is none.
const char *credential_token(void);
// Overwrites the token. No connection may be opened afterwards.
void credential_forget(void);
// Returns whether the command line has a token, or an option for one (--token), where all users of the machine can read
// it. Prints the fault without the token, and overwrites the token.
bool credential_on_line(int argc, char **argv);
