// The program's arguments, in which URLs may hold credentials.
#pragma once

// Returns a copy of the arguments, which are read again at SIGHUP; the copy stays until the process ends. Overwrites
// the credentials of all URLs in `argv`, where other processes can read them. Returns NULL without memory.
char **config_arguments_keep(int argc, char **argv);
