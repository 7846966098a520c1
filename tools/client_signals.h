// SIGINT, SIGTERM and SIGHUP as something to poll for, for commands that must end in order.
#pragma once

// Blocks them and gives a descriptor that is readable when one has come; -errno.
int signals_open(void);
// Takes one that has come: its number, 0 when none has.
int signals_take(int signals);
// Closes the descriptor; the signals stay blocked.
void signals_close(int signals);
// Closes the descriptor and lets the signals act as they do by default. A signal that has come and wasn't
// taken acts, too: the process then ends here, as the shell expects of a process that was interrupted.
void signals_default(int signals);
