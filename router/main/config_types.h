// The operator's settings, as they were read.
#pragma once

#include <limits.h>

#include "core/log/log_event.h"
#include "io/address.h"
#include "router/engine/shard/hub.h"
#include "router/features/cluster/cluster_settings.h"

struct option;

enum { CONFIG_FILES_MAX = 16, ACCOUNT_NAME_BYTES = 64 };

enum config_io { CONFIG_IO_AUTO, CONFIG_IO_URING, CONFIG_IO_EPOLL };

// An option, or a key of a child's section, that was given, and where.
struct config_given {
    struct config_given *next;
    const struct option *option; // NULL: a child's key
    const char *child;           // its name, which lies behind the value; NULL: an option
    const char *key;             // likewise
    uint32_t source;             // 0 the command line, n the n-th file
    uint32_t line;
    char value[]; // of an option
};

struct config {
    struct hub_settings settings;
    struct address listeners[LISTENERS_MAX];
    uint32_t listener_count;
    uint32_t listeners_from; // the source (below) that named them
    struct address http;     // its transport is empty where there is none
    bool has_http;
    uint32_t source;        // what is being read: 0 the command line, n the n-th file
    uint32_t line;          // of that file
    uint32_t files;         // that were begun
    uint32_t faults;        // that have been named
    char journal[PATH_MAX]; // where settings.journal points
    char users[PATH_MAX];   // the file of users; empty: there is none
    char tls_certificate[PATH_MAX], tls_key[PATH_MAX], tls_clients[PATH_MAX]; // empty: not given
    enum config_io io;                                                        // settings.io follows from it
    char user[ACCOUNT_NAME_BYTES]; // who the hub becomes; empty: nobody else
    bool check;                    // say what is so, and end
    bool prints;                   // print what is in force, and end
    const char *files_read[CONFIG_FILES_MAX];
    struct hub_cluster cluster; // where settings.cluster points; no name: there are no other hubs
    struct cluster_settings cluster_settings;              // where cluster.settings points
    char nats_creds[PATH_MAX], nats_authorities[PATH_MAX]; // empty: not given
    enum log_format log_format;
    enum log_level log_level;                 // the highest that is written
    bool insecure;                            // serve TCP addresses that other machines can reach
    struct child_settings *section;           // of a child, that is being read; NULL: none
    struct config_given *given, **given_last; // in the order in which they came; owned
};
