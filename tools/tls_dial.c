// Success: the connection is to the hub, as far as authorities tell. Failure: the reason is printed.
#include "tools/tls_dial.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

enum { HANDSHAKE_S = 10 };

static const char *trusted, *own_certificate, *own_key;
static bool is_said; // the fault of a file was printed

void tls_trust(const char *authorities, const char *certificate, const char *key) {
    trusted = authorities;
    own_certificate = certificate;
    own_key = key != NULL ? key : certificate;
}

static const char *reason_of(unsigned long error) {
    const char *reason =
        ERR_SYSTEM_ERROR(error) ? strerror(ERR_GET_REASON(error)) : ERR_reason_error_string(error);
    return reason != NULL ? reason : "it failed";
}

static bool complain_of_file(const char *option, const char *path, const char *expected) {
    is_said = true;
    fprintf(stderr, "patchbay: %s %s: expected %s: %s\n", option, path, expected,
            reason_of(ERR_peek_error()));
    return false;
}

static bool set_trust(SSL_CTX *context) {
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(context, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_ENABLE_PARTIAL_WRITE);
    bool good = SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1;
    if (trusted == NULL) {
        good = good && SSL_CTX_set_default_verify_paths(context) == 1;
    } else if (SSL_CTX_load_verify_file(context, trusted) != 1) {
        return complain_of_file("--tls-ca", trusted, "certificates of authorities in PEM");
    }
    if (own_certificate != NULL && SSL_CTX_use_certificate_chain_file(context, own_certificate) != 1) {
        return complain_of_file("--tls-certificate", own_certificate, "a certificate in PEM");
    }
    if (own_certificate != NULL && SSL_CTX_use_PrivateKey_file(context, own_key, SSL_FILETYPE_PEM) != 1) {
        return complain_of_file("--tls-key", own_key, "the certificate's private key in PEM");
    }
    return good;
}

static bool expect_address(SSL *ssl, const struct address *address) {
    char text[INET6_ADDRSTRLEN] = "";
    const struct sockaddr_storage *storage = &address->storage;
    const void *number = storage->ss_family == AF_INET6
                             ? (const void *)&((const struct sockaddr_in6 *)storage)->sin6_addr
                             : (const void *)&((const struct sockaddr_in *)storage)->sin_addr;
    inet_ntop(storage->ss_family, number, text, sizeof text);
    return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), text) == 1;
}

// Sets the name for which the certificate must be. A wildcard stands for a whole label. The hub is told the name, too
// (SNI).
static bool expect_name(SSL *ssl, const char *name) {
    X509_VERIFY_PARAM_set_hostflags(SSL_get0_param(ssl), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return X509_VERIFY_PARAM_set1_host(SSL_get0_param(ssl), name, 0) == 1 &&
           SSL_set_tlsext_host_name(ssl, name) == 1;
}

static const char *advice_on(long verified, unsigned long error) {
    switch (verified) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return ": the URI must name the hub as its certificate does";
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        return ": --tls-ca FILE or PATCHBAY_TLS_CA must name the authority of the hub's certificate";
    default:
        break;
    }
    bool is_plain = verified == X509_V_OK && ERR_GET_LIB(error) == ERR_LIB_SSL &&
                    ERR_GET_REASON(error) == SSL_R_WRONG_VERSION_NUMBER;
    return is_plain ? ": that address speaks no TLS" : "";
}

static void say_why(const SSL *ssl) {
    long verified = ssl != NULL ? SSL_get_verify_result(ssl) : X509_V_OK;
    unsigned long error = ERR_peek_error();
    const char *reason = verified != X509_V_OK ? X509_verify_cert_error_string(verified)
                         : error == 0          ? "the hub doesn't answer"
                                               : reason_of(error);
    if (!is_said) {
        fprintf(stderr, "patchbay: TLS: %s%s\n", reason, advice_on(verified, error));
    }
}

static SSL *make(int socket, const struct hub_address *hub) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *ssl = context != NULL && set_trust(context) ? SSL_new(context) : NULL;
    SSL_CTX_free(context); // the SSL has its own reference
    if (ssl == NULL) {
        return NULL;
    }
    bool good = SSL_set_fd(ssl, socket) == 1 &&
                (hub->name[0] != '\0' ? expect_name(ssl, hub->name) : expect_address(ssl, &hub->address));
    if (!good) {
        SSL_free(ssl);
    }
    return good ? ssl : NULL;
}

// Does the handshake. The kernel doesn't restart an interrupted call on a socket with a timeout, so the call is
// repeated here.
static int connect_patiently(SSL *ssl) {
    int result;
    do {
        errno = 0;
        result = SSL_connect(ssl);
    } while (result != 1 && SSL_get_error(ssl, result) == SSL_ERROR_WANT_READ && errno == EINTR);
    return result;
}

int tls_handshake(int socket, const struct hub_address *hub, SSL **out) {
    const struct timeval patience = {.tv_sec = HANDSHAKE_S};
    ERR_clear_error();
    is_said = false;
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    SSL *ssl = make(socket, hub);
    if (ssl == NULL || connect_patiently(ssl) != 1) {
        say_why(ssl);
        SSL_free(ssl);
        return -EKEYREJECTED;
    }
    *out = ssl;
    return 0;
}
