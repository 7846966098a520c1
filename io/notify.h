// Tells the service manager that started the hub how it is (NOTIFY_SOCKET, as sd_notify does): a socket that is connected
// before the layers, behind which none can be.
#pragma once

#include <stdint.h>

// A descriptor, or -1: nobody wants to be told.
int notify_open(void);
// Tells the service manager. The function doesn't wait for a manager that doesn't listen.
void notify_tell(int descriptor, const char *text);
// How often the manager wants to hear that this process is alive, in milliseconds: half of WATCHDOG_USEC. 0: never.
uint64_t notify_watchdog_ms(void);
