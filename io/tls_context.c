// Success: all three files are good, and the key is the certificate's. Failure: the fault is told with the
// file's name and the library's reason, which tells nothing of the contents.
//
// Each reading has keys of its own for tickets: a session goes on only as long as the files that it began
// with.
#include "io/tls_context.h"

#include <openssl/err.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "io/plain_file.h"

enum {
    TICKET_S = 3600,
    CLIENT_CHAIN_BYTES_MAX = 64 * 1024,
};

static const char TLS_1_2_CIPHERS[] = "ECDHE+AESGCM:ECDHE+CHACHA20";
static const char TLS_1_3_CIPHERS[] =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
static const char GROUPS[] = "X25519:P-256:P-384";
static const unsigned char SESSIONS[] = "patchbay";

struct tls_context {
    struct secure_source source;
    SSL_CTX *context;
    uint8_t clients[SHA256_DIGEST_LENGTH]; // of all who vouch for clients
};

SSL_CTX *tls_context_of(struct secure_source *source) {
    return ((struct tls_context *)source)->context;
}

void tls_context_destroy(struct secure_source *source) {
    SSL_CTX_free(tls_context_of(source));
    memory_give(source);
}

// A key that needs a word to be read isn't: nobody is there to be asked.
static int no_word(char *out, int room, int writes, void *context) {
    (void)out, (void)room, (void)writes, (void)context;
    return -1;
}

// Whether the certificate that a client showed when its session began has come to its end. (Those that it had shown behind
// it aren't in a ticket.)
static bool has_expired(SSL_SESSION *session) {
    X509 *certificate = session ? SSL_SESSION_get0_peer(session) : NULL;
    return certificate && X509_cmp_current_time(X509_get0_notAfter(certificate)) <= 0;
}

// A ticket vouches for a certificate as long as that itself would; then it is to be shown again, which fails.
static SSL_TICKET_RETURN check_ticket(SSL *ssl, SSL_SESSION *session, const unsigned char *name, size_t bytes,
                                      SSL_TICKET_STATUS status, void *context) {
    (void)ssl, (void)name, (void)bytes, (void)context;
    switch (status) {
    case SSL_TICKET_SUCCESS:
        return has_expired(session) ? SSL_TICKET_RETURN_IGNORE_RENEW : SSL_TICKET_RETURN_USE;
    case SSL_TICKET_SUCCESS_RENEW:
        return has_expired(session) ? SSL_TICKET_RETURN_IGNORE_RENEW : SSL_TICKET_RETURN_USE_RENEW;
    default:
        return SSL_TICKET_RETURN_IGNORE_RENEW;
    }
}

static bool set_rules(SSL_CTX *context) {
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CLEANSE_PLAINTEXT |
                                     SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    // Authorities of clients have nothing to do with those of the hub's own certificate.
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN);
    SSL_CTX_set_security_level(context, 2);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF); // tickets are the client's to keep
    SSL_CTX_set_timeout(context, TICKET_S);
    SSL_CTX_set_max_cert_list(context, CLIENT_CHAIN_BYTES_MAX);
    SSL_CTX_set_default_passwd_cb(context, no_word);
    return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
           SSL_CTX_set_cipher_list(context, TLS_1_2_CIPHERS) == 1 &&
           SSL_CTX_set_ciphersuites(context, TLS_1_3_CIPHERS) == 1 &&
           SSL_CTX_set1_groups_list(context, GROUPS) == 1 && SSL_CTX_set_max_early_data(context, 0) == 1 &&
           SSL_CTX_set_num_tickets(context, 1) == 1 &&
           SSL_CTX_set_session_ticket_cb(context, NULL, check_ticket, NULL) == 1 &&
           SSL_CTX_set_session_id_context(context, SESSIONS, sizeof SESSIONS - 1) == 1;
}

// The library reads a certificate's extensions when it first needs them, and keeps the result in the
// certificate. A certificate that all shards share is read before they run. The bytes that tell these
// authorities from others go to `digest`.
static bool note_authorities(SSL_CTX *context, EVP_MD_CTX *digest) {
    STACK_OF(X509_OBJECT) *shared = X509_STORE_get0_objects(SSL_CTX_get_cert_store(context));
    uint8_t one[SHA256_DIGEST_LENGTH];
    bool good = digest && EVP_DigestInit_ex(digest, EVP_sha256(), NULL) == 1;
    for (int at = 0; good && at < sk_X509_OBJECT_num(shared); at++) {
        X509 *certificate = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(shared, at));
        if (certificate) {
            X509_check_purpose(certificate, -1, 0);
            good = X509_digest(certificate, EVP_sha256(), one, NULL) == 1 &&
                   EVP_DigestUpdate(digest, one, sizeof one) == 1;
        }
    }
    return good;
}

static bool set_clients(struct tls_context *made, const char *path) {
    SSL_CTX *context = made->context;
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(path);
    if (!names)
        return false;
    SSL_CTX_set_client_CA_list(context, names);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    if (SSL_CTX_load_verify_file(context, path) != 1)
        return false;
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    bool good = note_authorities(context, digest) && EVP_DigestFinal_ex(digest, made->clients, NULL) == 1;
    EVP_MD_CTX_free(digest);
    return good;
}

// The library would wait for who writes to a FIFO.
static bool is_file(const char *path) {
    int fault = plain_file_check(path);
    if (fault)
        ERR_raise(ERR_LIB_SYS, -fault);
    return !fault;
}

// The file that can't be used; NULL: all can.
static const char *load(struct tls_context *made, const struct tls_files *files) {
    SSL_CTX *context = made->context;
    if (!is_file(files->certificate) || SSL_CTX_use_certificate_chain_file(context, files->certificate) != 1)
        return files->certificate;
    if (!is_file(files->key) || SSL_CTX_use_PrivateKey_file(context, files->key, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(context) != 1)
        return files->key;
    bool good = !files->clients || (is_file(files->clients) && set_clients(made, files->clients));
    return good ? NULL : files->clients;
}

static void say_why(const char *file, char *why, size_t capacity) {
    unsigned long error = ERR_peek_error();
    const char *reason =
        ERR_SYSTEM_ERROR(error) ? strerror(ERR_GET_REASON(error)) : ERR_reason_error_string(error);
    snprintf(why, capacity, "%s: %s", file, reason ? reason : "can't be used");
    ERR_clear_error();
}

// Returns the finished source. On a fault says why, frees `made` and returns NULL.
static struct secure_source *finish(struct tls_context *made, const struct cipher *cipher, const char *fault,
                                    char *why, size_t capacity) {
    if (!fault) {
        made->source.cipher = cipher;
        atomic_init(&made->source.references, 1);
        return &made->source;
    }
    say_why(fault, why, capacity);
    if (made)
        SSL_CTX_free(made->context);
    memory_give(made);
    return NULL;
}

static struct tls_context *begin(const SSL_METHOD *method) {
    struct tls_context *made = memory_take_zeroed(1, sizeof *made);
    ERR_clear_error();
    if (made)
        made->context = SSL_CTX_new(method);
    return made;
}

struct secure_source *tls_context_read(const struct cipher *cipher, const struct tls_files *files, char *why,
                                       size_t capacity) {
    struct tls_context *made = begin(TLS_server_method());
    const char *fault = made && made->context && set_rules(made->context) ? load(made, files) : "TLS";
    return finish(made, cipher, fault, why, capacity);
}

// --- Peers that are connected

static bool verifies(SSL_CTX *context, X509 *certificate, STACK_OF(X509) * behind) {
    X509_STORE_CTX *asked = X509_STORE_CTX_new();
    bool good =
        asked && X509_STORE_CTX_init(asked, SSL_CTX_get_cert_store(context), certificate, behind) == 1;
    if (good) {
        X509_VERIFY_PARAM *rules = X509_STORE_CTX_get0_param(asked);
        X509_VERIFY_PARAM_set_auth_level(rules, SSL_CTX_get_security_level(context));
        good = X509_STORE_CTX_set_default(asked, "ssl_client") == 1 &&
               X509_VERIFY_PARAM_set1(rules, SSL_CTX_get0_param(context)) == 1 &&
               X509_VERIFY_PARAM_set_flags(rules, X509_V_FLAG_NO_CHECK_TIME) == 1 &&
               X509_verify_cert(asked) == 1;
    }
    X509_STORE_CTX_free(asked);
    ERR_clear_error();
    return good;
}

// A reading of the same authorities costs those who are there nothing.
bool tls_context_vouches(const struct secure_source *now, const struct secure_source *before,
                         X509 *certificate, STACK_OF(X509) * behind) {
    const struct tls_context *today = (const struct tls_context *)now,
                             *then = (const struct tls_context *)before;
    return memcmp(today->clients, then->clients, sizeof today->clients) == 0 ||
           verifies(today->context, certificate, behind);
}

// --- Dialling

// Where systems keep whom they trust in one file. A folder of them would be read when a server shows its certificate, and the layers
// are up by then.
static const char *find_authorities(void) {
    const char *const paths[] = {getenv(X509_get_default_cert_file_env()),
                                 X509_get_default_cert_file(),
                                 "/etc/ssl/certs/ca-certificates.crt",
                                 "/etc/pki/tls/certs/ca-bundle.crt",
                                 "/etc/ssl/ca-bundle.pem",
                                 "/etc/ssl/cert.pem"};
    for (size_t at = 0; at < sizeof paths / sizeof *paths; at++)
        if (paths[at] && plain_file_check(paths[at]) == 0)
            return paths[at];
    return NULL;
}

struct secure_source *tls_context_read_authorities(const struct cipher *cipher, const char *path, char *why,
                                                   size_t capacity) {
    struct tls_context *made = begin(TLS_client_method());
    const char *from = path ? path : find_authorities();
    const char *fault = !from ? "no file of the authorities that this system trusts" : NULL;
    if (!fault && !(made && made->context && set_rules(made->context)))
        fault = "TLS";
    else if (!fault && !(is_file(from) && SSL_CTX_load_verify_file(made->context, from) == 1))
        fault = from;
    if (!fault)
        SSL_CTX_set_verify(made->context, SSL_VERIFY_PEER, NULL);
    return finish(made, cipher, fault, why, capacity);
}

bool tls_context_dial(SSL *ssl, const char *server) {
    X509_VERIFY_PARAM *rules = SSL_get0_param(ssl);
    SSL_set_connect_state(ssl);
    X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (X509_VERIFY_PARAM_set1_ip_asc(rules, server) == 1)
        return true;
    ERR_clear_error();
    return SSL_set1_host(ssl, server) == 1 && SSL_set_tlsext_host_name(ssl, server) == 1;
}
