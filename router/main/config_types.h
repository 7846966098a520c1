// The operator's settings, as they were read.
#pragma once

#include <limits.h>

#include "core/log/log_event.h"
#include "io/address.h"
#include "router/engine/shard/hub.h"

struct option;

enum { CONFIG_FILES_MAX = 16, ACCOUNT_NAME_BYTES = 64 };

enum config_io { CONFIG_IO_AUTO, CONFIG_IO_URING, CONFIG_IO_EPOLL };

// One place that gave an option, or a key of a child's section.
struct config_given {
    struct config_given *next;
    const struct option *option; // NULL: this is a child's key
    const char *child;           // the child's name, stored behind the struct; NULL: this is an option
    const char *key;             // the child's key, stored behind the struct; NULL: this is an option
    uint32_t source;             // 0: the command line; n: the n-th file
    uint32_t line;
    char value[]; // the option's value
};

struct config {
    struct hub_settings settings;
    struct address listeners[LISTENERS_MAX];
    uint32_t listener_count;
    uint32_t listeners_from;          // the source (as below) that gave the listeners
    struct address own[FEATURES_MAX]; // from OPTION_ADDRESS, by feature; an empty transport: off
    uint32_t source;                  // the source that is being read: 0 the command line, n the n-th file
    uint32_t line;                    // the line of that file
    uint32_t files;                   // files that were begun
    uint32_t faults;                  // faults that were named
    char journal[PATH_MAX];           // settings.journal points here
    char users[PATH_MAX];             // the users file; empty: there is none
    char tls_certificate[PATH_MAX], tls_key[PATH_MAX], tls_clients[PATH_MAX]; // empty: not given
    enum config_io io;             // settings.io is chosen from this value
    char user[ACCOUNT_NAME_BYTES]; // the user that the hub becomes; empty: the hub keeps its user
    bool check;                    // check the configuration, and end
    bool prints;                   // print the configuration in force, and end
    const char *files_read[CONFIG_FILES_MAX];
    enum log_format log_format;
    enum log_level log_level;                 // the highest level that is logged
    bool insecure;                            // serve TCP addresses that other machines can reach
    struct child_settings *section;           // the section of a child that is being read; or NULL
    struct config_given *given, **given_last; // in the order of reading; owned
};
