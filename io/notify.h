// Reports the hub's state to the service manager that started the hub (NOTIFY_SOCKET, as sd_notify does). The socket
// must be connected before the sandbox, which allows no new socket of that kind.
#pragma once

#include <stdint.h>

// Connects to the service manager. Returns a descriptor, or -1 if there is no manager to notify.
int notify_open(void);
// Sends a text to the service manager. Doesn't wait for a manager that doesn't read.
void notify_tell(int descriptor, const char *text);
// Returns how often the manager expects a sign of life, in ms: half of WATCHDOG_USEC. 0: never.
uint64_t notify_watchdog_ms(void);
