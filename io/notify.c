#include "io/notify.h"

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
        address.sun_path[0] = '\0'; // abstract: its length says where the name ends
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
    close(descriptor);
}
