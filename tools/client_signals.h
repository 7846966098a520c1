// Makes SIGINT, SIGTERM and SIGHUP readable by poll, for commands that must end in order.
#pragma once

// Blocks these signals. Returns a descriptor that is readable when a signal has come, or -errno.
int signals_open(void);
// Takes a signal that has come, and returns its number; 0: none has come.
int signals_take(int signals);
// Closes the descriptor; the signals stay blocked.
void signals_close(int signals);
// Closes the descriptor and gives the signals their default effect. A signal that has come and wasn't taken has its
// effect, too: the process ends here, as the shell expects of an interrupted process.
void signals_default(int signals);
