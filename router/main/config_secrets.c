#include "router/main/config_secrets.h"

#include <assert.h>
#include <errno.h>
#include <unistd.h>

#include "core/rights/digest.h"
#include "io/plain_file.h"
#include "io/tls.h"
#include "router/main/config_fault.h"

// --- Credentials

static const char *parse_creds(int file, struct nats_creds *out) {
    char text[NATS_CREDS_FILE_BYTES_MAX + 1];
    size_t bytes;
    int failed = plain_file_read(file, text, sizeof text, &bytes);
    bool good = !failed && nats_creds_read(text, bytes, out);
    digest_wipe(text, sizeof text);
    return good     ? NULL
           : failed ? "expected a file that can be read"
                    : "expected one seed of a user's nkey in it: SU and 56 letters and digits";
}

static const char *read_creds(const char *path, struct nats_creds *out) {
    assert(path && *path);
    int file = plain_file_open(path);
    if (file < 0)
        return file == -ENOENT                          ? "expected a file that is there"
               : file == -EISDIR || file == -EOPNOTSUPP ? "expected a regular file"
                                                        : "expected a file that can be read";
    const char *fault = parse_creds(file, out);
    close(file);
    return fault;
}

static bool are_creds_good(struct config *config) {
    const struct cluster_settings *cluster = &config->cluster_settings;
    struct nats_creds creds;
    char signature[NKEY_SIGNATURE_BYTES];
    const char *fault = cluster->creds ? read_creds(cluster->creds, &creds) : NULL;
    if (!cluster->creds)
        return true;
    // A trial signature, with which the TLS library loads all that signing needs before the sandbox hides files
    if (!fault && !nats_creds_sign(&creds, "", 0, signature))
        fault = "expected a seed that signs: the library for TLS refuses this one";
    nats_creds_wipe(&creds);
    if (fault)
        config_complain_of(config, "nats-credentials", "%s: %s", cluster->creds, fault);
    return !fault;
}

// --- TLS

// Returns whether a link to a server uses TLS, or may use it.
static bool needs_authorities(const struct config *config) {
    const struct cluster_settings *cluster = &config->cluster_settings;
    bool needs = config->nats_authorities[0] != '\0';
    for (uint32_t at = 0; at < cluster->server_count; at++)
        needs = needs || cluster->servers[at].url.secure || !address_is_local(&cluster->servers[at].address);
    return needs;
}

static bool needs_tls(const struct config *config) {
    for (uint32_t at = 0; at < config->cluster_settings.server_count; at++)
        if (config->cluster_settings.servers[at].url.secure)
            return true;
    return config->nats_authorities[0] != '\0';
}

bool config_prepare_cluster(struct config *config) {
    struct cluster_settings *cluster = &config->cluster_settings;
    const char *path = config->nats_authorities[0] ? config->nats_authorities : NULL;
    char why[PATH_MAX + 128];
    assert(!cluster->authorities);
    cluster->read_creds = read_creds;
    if (!are_creds_good(config))
        return false;
    if (needs_authorities(config))
        cluster->authorities = tls_read_authorities(path, why, sizeof why);
    if (cluster->authorities || !needs_tls(config))
        return true;
    return config_complain_of(config, path ? "nats-ca" : "nats", "TLS: %s", why);
}

bool config_cluster_is_secret(const struct config *config) {
    bool is_secret = config->nats_creds[0] || needs_tls(config);
    for (uint32_t at = 0; at < config->cluster_settings.server_count; at++) {
        const struct nats_url *url = &config->cluster_settings.servers[at].url;
        is_secret = is_secret || url->password[0] || url->token[0];
    }
    return is_secret;
}
