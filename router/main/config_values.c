#include "router/main/config_values.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "io/passed_sockets.h"
#include "router/engine/shard/transport.h"
#include "router/main/config_fault.h"
#include "router/main/config_options.h"
#include "router/main/features.h"

#define DEFAULT_TCP "tcp://127.0.0.1:7411"

enum { EXPECTED_BYTES = 256 };

// --- Fields

static bool refuse(struct config *config, const struct option *option, const char *text,
                   const char *expected) {
    return config_complain_of_value(config, option->name, option->traits & OPTION_SECRET ? NULL : text,
                                    expected);
}

static bool refuse_value(struct config *config, const struct option *option, const char *text) {
    char expected[EXPECTED_BYTES];
    return refuse(config, option, text, option_expected(option, expected, sizeof expected));
}

// --- Kinds

// Sets a number, a time, a flag or a word.
static bool set_value(struct config *config, const struct option *option, const char *text) {
    uint64_t value;
    assert(option->offset + option->bytes <= sizeof *config);
    if (!option_read(option, text, &value))
        return refuse_value(config, option, text);
    bool is_level = option->offset == offsetof(struct config, settings.approval_level) && value > 0;
    option_store(option, config, is_level ? governance_parse(text, strlen(text)) : value);
    return true;
}

// Returns whether a text has control characters, which a line of a file or of a log can't hold.
static bool has_control(const char *text) {
    while (*text && (unsigned char)*text >= ' ' && *text != 0x7f)
        text++;
    return *text != '\0';
}

static bool set_text(struct config *config, const struct option *option, const char *text) {
    size_t bytes = strlen(text) + 1;
    assert(option->offset + option->bytes <= sizeof *config);
    if (bytes == 1 || bytes > option->bytes || has_control(text))
        return refuse_value(config, option, text);
    memcpy((char *)config + option->offset, text, bytes);
    return true;
}

// Adds a listener. Listeners of one source add up, and replace those of another source.
static bool set_listener(struct config *config, const struct option *option, const char *uri) {
    assert(config->listener_count <= LISTENERS_MAX);
    if (config->listeners_from != config->source)
        config->listener_count = 0;
    config->listeners_from = config->source;
    if (config->listener_count == LISTENERS_MAX)
        return refuse(config, option, uri, "16 addresses at most");
    struct address *address = &config->listeners[config->listener_count];
    const struct transport *transport =
        address_parse(address, uri) ? NULL : transport_find(features_all, address->transport);
    if (!transport || transport->option)
        return refuse(config, option, uri,
                      "tcp://HOST:PORT, tls://HOST:PORT or unix:///PATH, perhaps with -lines behind the "
                      "scheme, with a port from 0 to 65535, and a path of up to 107 bytes");
    config->listener_count++;
    return true;
}

// Returns the address that an option of kind OPTION_ADDRESS gives.
static struct address *own_address(struct config *config, const struct option *option) {
    assert(option->kind == OPTION_ADDRESS && option->offset >= offsetof(struct config, own));
    return (struct address *)((char *)config + option->offset);
}

static bool set_address(struct config *config, const struct option *option, const char *text) {
    char uri[128], expected[EXPECTED_BYTES];
    struct address *address = own_address(config, option);
    *address = (struct address){0};
    if (strcmp(text, "off") == 0)
        return true;
    const char *scheme = strstr(text, "://") ? "" : option->name, *between = *scheme ? "://" : "";
    bool fits = (size_t)snprintf(uri, sizeof uri, "%s%s%s", scheme, between, text) < sizeof uri;
    if (fits && address_parse(address, uri) == 0 && option_of_address(address) == option)
        return true;
    *address = (struct address){0};
    snprintf(expected, sizeof expected, "HOST:PORT, %ss://HOST:PORT or off, with a port from 0 to 65535",
             option->name);
    return refuse(config, option, text, expected);
}

// --- Others

// Returns whether the option's value before the current one came from another source.
static bool is_replaced(const struct config *config, const struct option *option) {
    uint32_t source = config->source, before = config->source;
    for (const struct config_given *given = config->given; given; given = given->next) {
        if (given->option != option)
            continue;
        before = source;
        source = given->source;
    }
    assert(source == config->source);
    return before != source;
}

// Hands a text to the option's feature. Without OPTION_ADDS, the feature first forgets the texts of another source.
static bool set_parsed(struct config *config, const struct option *option, const char *text) {
    const struct feature *feature = option_feature(option);
    assert(feature && feature->read_option);
    if (option->traits & OPTION_CHILD && config_is_hidden(text))
        return config_complain(config, option->name,
                               "expected a command: *** stands for a credential that was not shown");
    if (option->traits & OPTION_REPEATS && !(option->traits & OPTION_ADDS) && is_replaced(config, option))
        (void)feature->read_option(&config->settings, option->name, NULL);
    const char *expected = feature->read_option(&config->settings, option->name, text);
    return !expected ||
           (option->traits & OPTION_SHOWN ? refuse(config, option, text, expected)
                                          : config_complain(config, option->name, "expected %s", expected));
}

bool config_set(struct config *config, const struct option *option, const char *text) {
    switch (option->kind) {
    case OPTION_LISTEN:
        return set_listener(config, option, text);
    case OPTION_ADDRESS:
        return set_address(config, option, text);
    case OPTION_TEXT:
        return set_text(config, option, text);
    case OPTION_PARSED:
        return set_parsed(config, option, text);
    default:
        return set_value(config, option, text);
    }
}

// --- Defaults

void config_set_presets(struct config *config) {
    size_t count;
    const struct option *options = options_all(&count);
    for (size_t at = 0; at < count; at++) {
        bool is_preset = options[at].preset && options[at].kind != OPTION_ADDRESS;
        bool is_set = !is_preset || config_set(config, &options[at], options[at].preset);
        assert(is_set);
        (void)is_set;
    }
}

// --- Listeners

static bool add_listener(struct config *config, const struct address *address) {
    assert(config->listener_count <= LISTENERS_MAX);
    if (config->listener_count == LISTENERS_MAX)
        return config_complain_of(config, "listen",
                                  "expected 16 addresses at most, with those that are passed");
    config->listeners[config->listener_count++] = *address;
    return true;
}

static bool is_configured(const struct config *config, const struct passed_socket *passed) {
    bool found = false;
    for (unsigned number = 0; number < FEATURES_MAX && !found; number++)
        found = config->own[number].transport[0] && passed_sockets_find(&config->own[number]) == passed;
    for (uint32_t index = 0; index < config->listener_count && !found; index++)
        found = passed_sockets_find(&config->listeners[index]) == passed;
    return found;
}

// Chooses the transport of a passed socket: by the socket's name if the name is a scheme, else frames.
static void name_transport(const struct passed_socket *passed, struct address *address) {
    char uri[PASSED_NAME_BYTES + 32];
    struct address named;
    *address = passed->address;
    // Only the scheme of this URI counts. The rest is any place that the scheme may have.
    bool is_unix = strncmp(passed->name, "unix", strlen("unix")) == 0;
    snprintf(uri, sizeof uri, "%s://%s", passed->name, is_unix ? "/x" : "127.0.0.1:1");
    if (address_parse(&named, uri) == 0 && transport_find(features_all, named.transport)) {
        memcpy(address->transport, named.transport, sizeof address->transport);
        address->secure = named.secure;
    }
}

// Adds listeners for the passed sockets that no configured address names.
static bool add_passed(struct config *config) {
    uint32_t count;
    const struct passed_socket *all = passed_sockets_all(&count);
    bool good = true;
    for (uint32_t at = 0; at < count && good; at++) {
        struct address address;
        if (is_configured(config, &all[at]))
            continue;
        name_transport(&all[at], &address);
        const struct option *option = option_of_address(&address);
        struct address *own = option->kind == OPTION_ADDRESS ? own_address(config, option) : NULL;
        if (own && !own->transport[0])
            *own = address;
        else
            good = add_listener(config, &address);
    }
    return good;
}

// Sets the addresses of features that no option gives to their defaults; with passed sockets, only where the default is
// passed.
static bool add_own_defaults(struct config *config) {
    size_t count;
    uint32_t passed;
    const struct option *options = options_all(&count);
    passed_sockets_all(&passed);
    for (size_t at = 0; at < count; at++) {
        const struct option *option = &options[at];
        if (option->kind != OPTION_ADDRESS || !option->preset || config_is_given(config, option->name))
            continue;
        if (!set_address(config, option, option->preset))
            return false;
        struct address *address = own_address(config, option);
        if (passed > 0 && !passed_sockets_find(address))
            *address = (struct address){0};
    }
    return true;
}

// Adds the default addresses if no address is configured. With passed sockets, keeps only the default addresses that
// are passed: such a socket gets the default transport of its address.
static bool add_defaults(struct config *config) {
    char uri[160];
    uint32_t passed;
    const struct option *listen = option_find("listen");
    passed_sockets_all(&passed);
    if (address_default_unix(uri, sizeof uri))
        return config_complain(config, listen->name, "the path of the default Unix socket is too long");
    if (!set_listener(config, listen, DEFAULT_TCP) || !set_listener(config, listen, uri))
        return false;
    bool good = add_own_defaults(config);
    if (passed == 0)
        return good;
    uint32_t kept = 0;
    for (uint32_t index = 0; index < config->listener_count; index++)
        if (passed_sockets_find(&config->listeners[index]))
            config->listeners[kept++] = config->listeners[index];
    config->listener_count = kept;
    return good;
}

bool config_complete_listeners(struct config *config) {
    if (config->listener_count == 0 && !add_defaults(config))
        return false;
    bool good = add_passed(config);
    for (unsigned number = 0; number < FEATURES_MAX && good; number++)
        good = !config->own[number].transport[0] || add_listener(config, &config->own[number]);
    return good;
}
