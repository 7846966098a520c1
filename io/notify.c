#include "io/notify.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int notify_open(void) {
    const char *name = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t bytes = name ? strlen(name) : 0;
    if (bytes < 2 || bytes >= sizeof address.sun_path || (name[0] != '/' && name[0] != '@'))
        return -1;
    memcpy(address.sun_path, name, bytes + 1);
    if (name[0] == '@')
        address.sun_path[0] = '\0'; // abstract: the length marks the name's end
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + bytes + (name[0] == '/'));
    if (descriptor < 0 || connect(descriptor, (const struct sockaddr *)&address, length) == 0)
        return descriptor;
    close(descriptor);
    return -1;
}

void notify_tell(int descriptor, const char *text) {
    if (descriptor < 0)
        return;
    (void)!send(descriptor, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);
}

// Reads a decimal number without other characters. Returns 0 for other texts.
static unsigned long long read_number(const char *text) {
    char *end = NULL;
    errno = 0;
    unsigned long long number = text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    return number > 0 && !errno && !*end ? number : 0;
}

uint64_t notify_watchdog_ms(void) {
    const char *process = getenv("WATCHDOG_PID");
    unsigned long long microseconds = read_number(getenv("WATCHDOG_USEC"));
    bool is_ours = !process || read_number(process) == (unsigned long long)getpid();
    uint64_t half_ms = is_ours ? microseconds / 2000 : 0;
    return half_ms > 0 || !is_ours || microseconds == 0 ? half_ms : 1;
}
