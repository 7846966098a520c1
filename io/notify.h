// Tells the service manager that started the hub how it is (NOTIFY_SOCKET, as sd_notify does): a socket that is connected
// before the layers, behind which none can be.
#pragma once

// A descriptor, or -1: nobody wants to be told.
int notify_open(void);
// Tells the service manager, and closes the descriptor. The function doesn't wait for a manager that doesn't
// listen.
void notify_tell(int descriptor, const char *text);
