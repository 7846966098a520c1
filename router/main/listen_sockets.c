#include "router/main/listen_sockets.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "io/log.h"
#include "io/passed_sockets.h"
#include "router/main/config_fault.h"
#include "router/main/config_options.h"

// Opens a listener, and tries for a second while the address is in use: the kernel needs a moment to close the sockets
// of a hub that was killed.
static int open_patiently(struct listener *listener, const struct address *address, bool shared,
                          const char **why) {
    const struct timespec pause = {.tv_nsec = 50000000};
    int failed = listener_open(listener, address, shared, why);
    for (int tries = 20; failed == -EADDRINUSE && tries > 0; tries--) {
        nanosleep(&pause, NULL);
        failed = listener_open(listener, address, shared, why);
    }
    return failed;
}

// Returns whether the next start may succeed with the same configuration.
static bool may_pass(int failed) {
    return failed == -EADDRINUSE || failed == -EADDRNOTAVAIL || failed == -EMFILE || failed == -ENFILE ||
           failed == -ENOBUFS || failed == -ENOMEM;
}

bool listen_sockets_open(struct listen_sockets *listening, struct config *config,
                         const struct privdrop_user *user) {
    assert(config->listener_count > 0 && config->listener_count <= LISTENERS_MAX);
    for (uint32_t index = 0; index < config->listener_count; index++) {
        const char *why = "";
        const struct passed_socket *passed = passed_sockets_find(&config->listeners[index]);
        listening->passed[index] = passed != NULL;
        if (passed) {
            listener_adopt(&listening->listeners[index], &config->listeners[index], passed->socket);
            listening->count++;
            continue;
        }
        int failed = open_patiently(&listening->listeners[index], &config->listeners[index],
                                    config->settings.share_addresses, &why);
        if (failed) {
            char uri[160];
            address_format(&config->listeners[index], uri, sizeof uri);
            if (!may_pass(failed))
                return config_complain_of(config, option_of_address(&config->listeners[index])->name,
                                          "%s: %s: %s", uri, why, strerror(-failed));
            log_write(LOG_FAILED, LOG_NO_FIELDS, "can't listen on %s: %s: %s", uri, why, strerror(-failed));
            return false;
        }
        listening->count++;
        failed = listener_share(&listening->listeners[index]);
        if (failed)
            return config_complain_of(config, option_of_address(&config->listeners[index])->name,
                                      "the socket's file can't be given its mode and group: %s",
                                      failed == -ENOENT ? "there is no such group" : strerror(-failed));
        failed = user ? listener_give(&listening->listeners[index], user->user) : 0;
        if (failed)
            log_write(LOG_NOTICE, LOG_NO_FIELDS, "the socket stays its maker's: %s", strerror(-failed));
    }
    return true;
}

void listen_sockets_close(struct listen_sockets *listening) {
    assert(listening->count <= LISTENERS_MAX);
    for (uint32_t index = 0; index < listening->count; index++)
        listener_close(&listening->listeners[index]);
}
