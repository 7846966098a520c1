// The name of a process in lists of processes: its name (comm) and its first argument.
#pragma once

// Remembers where the arguments lie, at the start of the program. Later calls of process_name_set overwrite them, so the program
// must read copies of them.
void process_name_begin(int argc, char **argv);
// Gives the calling process a name of 1 to 31 bytes, of which the kernel keeps 15: `ps`, `pgrep -x` and `pidof` know it by that name alone. A process that was
// forked keeps the arguments of its parent otherwise. Without process_name_begin the arguments stay.
void process_name_set(const char *name);
