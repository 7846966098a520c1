// What there is to set, and the table of options: of the command line, and keys of an INI file.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/address.h"
#include "router/config_children.h"
#include "router/engine/shard/cluster_server.h"
#include "router/engine/shard/hub.h"

enum { CONFIG_FILES_MAX = 16, ACCOUNT_NAME_BYTES = 64 };

struct config {
    struct hub_settings settings;
    struct address listeners[LISTENERS_MAX];
    uint32_t listener_count;
    uint32_t listeners_from; // the source (below) that named them
    struct address http;     // its transport is empty where there is none
    bool http_given;
    uint32_t hosts_from, origins_from; // as listeners_from
    uint32_t source;                   // what is being read: 0 the command line, n the n-th file
    uint32_t files;                    // that were begun
    char journal[PATH_MAX];            // where settings.journal points
    char users[PATH_MAX];              // the file of users; empty: there is none
    char tls_certificate[PATH_MAX], tls_key[PATH_MAX], tls_clients[PATH_MAX]; // empty: not given
    bool io_fixed;                 // settings.io was asked for by name
    char user[ACCOUNT_NAME_BYTES]; // who the hub becomes; empty: nobody else
    bool check;                    // say what is so, and end
    const char *files_read[CONFIG_FILES_MAX];
    struct cluster_settings cluster; // where settings.cluster points; no name: there are no other hubs
    char nats_creds[PATH_MAX], nats_authorities[PATH_MAX]; // empty: not given
    bool insecure; // serve TCP addresses that other machines can reach
    struct config_children children;
};

enum option_kind {
    OPTION_LISTEN,
    OPTION_HTTP,
    OPTION_ALLOW,
    OPTION_VALIDATE,
    OPTION_HALF_CLOSE,
    OPTION_GATE,
    OPTION_PATH,
    OPTION_USER,
    OPTION_SANDBOX,
    OPTION_NATS,
    OPTION_CLUSTER,
    OPTION_IO,
    OPTION_SPIN,
    OPTION_FLAG,
    OPTION_EXTENSION,
    OPTION_COUNT,
    OPTION_SIZE,
    OPTION_TIME,
    OPTION_CONFIG
};

// The sanitizers' run time does what no hub does: asks for memory in its own ways, reads /proc, traces its own threads.
#ifdef PATCHBAY_SANITIZED
#define SANDBOX_DEFAULT      SANDBOX_OFF
#define SANDBOX_DEFAULT_NAME "off"
#else
#define SANDBOX_DEFAULT      SANDBOX_ON
#define SANDBOX_DEFAULT_NAME "on"
#endif

struct option {
    const char *name;
    enum option_kind kind;
    size_t offset; // of the field in struct config
    size_t bytes;  // of the field
    uint64_t min, max;
    const char *help;
};

// NULL when there is none of this name.
const struct option *option_find(const char *name);
// One line an option, on standard output.
void options_show(void);
