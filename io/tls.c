#include "io/tls.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "io/plain_file.h"
#include "io/tls_gcm.h"
#include "io/tls_records.h"

// TLS on one connection. OpenSSL reads arrivals and writes records through a BIO without a buffer of its own. The
// library's memory counts for the connection. After a handshake of TLS 1.3 the library isn't used any more:
// tls_records.c opens and seals records, with the secrets that the library gives to its key log callback.
//
// Success: a handshake, then records. Only the begin of a record is kept between arrivals. Failure: the library sends
// the peer an alert. A peer that doesn't speak TLS at all gets an alert from this file, since the library sends none.

enum { CONNECTION_BYTES_MAX = 512 * 1024 }; // bound of the library's memory for one connection

struct tls {
    struct secure secure;
    SSL *ssl; // NULL: no bytes have come yet, or tls_records has taken over
    struct secure_input *input;
    bool spoke; // bytes were given to secure_send
    // The traffic secrets of both directions, from the handshake on; wiped when `records` has them
    struct tls_secret client, server;
    uint64_t sealed;             // records sealed under the server's secret
    struct tls_records *records; // from the end of a handshake of TLS 1.3 on; else NULL
    X509 *certificate;           // the peer's, verified; or NULL
    STACK_OF(X509) * behind;     // the chain that the peer sent with it; or NULL
};

// --- Memory

static _Thread_local int64_t *account; // counts the memory of the present connection; NULL: none

static void *tls_take(size_t bytes, const char *file, int line) {
    (void)file, (void)line;
    void *memory = account && *account > CONNECTION_BYTES_MAX ? NULL : memory_take(bytes);
    if (account && memory)
        *account += (int64_t)memory_bytes(memory);
    return memory;
}

static void tls_give(void *memory, const char *file, int line) {
    (void)file, (void)line;
    if (account && memory)
        *account -= (int64_t)memory_bytes(memory);
    memory_give(memory);
}

static void *tls_resize(void *memory, size_t bytes, const char *file, int line) {
    if (!memory)
        return tls_take(bytes, file, line);
    if (bytes == 0) {
        tls_give(memory, file, line);
        return NULL;
    }
    int64_t before = account ? (int64_t)memory_bytes(memory) : 0;
    void *resized = memory_resize(memory, bytes);
    if (account && resized)
        *account += (int64_t)memory_bytes(resized) - before;
    return resized;
}

// --- The library's reads and writes

static struct tls *tls_of(struct secure *secure) {
    return (struct tls *)secure;
}

static int read_input(BIO *bio, char *out, int room) {
    struct tls *tls = BIO_get_data(bio);
    size_t count = tls->input ? tls->input->count : 0;
    BIO_clear_retry_flags(bio);
    if (count == 0 || room <= 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    if (count > (size_t)room)
        count = (size_t)room;
    memcpy(out, tls->input->bytes, count);
    tls->input->bytes += count;
    tls->input->count -= count;
    return (int)count;
}

static int write_output(BIO *bio, const char *bytes, int count) {
    struct tls *tls = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (count > 0)
        secure_send(&tls->secure, bytes, (size_t)count);
    tls->spoke = true;
    return count;
}

static long control(BIO *bio, int command, long number, void *pointer) {
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

// --- The library's reports of the handshake

static int nibble(char digit) {
    return digit <= '9' ? digit - '0' : (digit | 32) - 'a' + 10;
}

// Stores a traffic secret from a line of NSS's key log: `LABEL CLIENT_RANDOM SECRET`, in hexadecimal.
static void note_secret(const SSL *ssl, const char *line) {
    static const char client[] = "CLIENT_TRAFFIC_SECRET_0 ", server[] = "SERVER_TRAFFIC_SECRET_0 ";
    struct tls *tls = SSL_get_ex_data(ssl, 0);
    struct tls_secret *secret = strncmp(line, client, sizeof client - 1) == 0   ? &tls->client
                                : strncmp(line, server, sizeof server - 1) == 0 ? &tls->server
                                                                                : NULL;
    if (!secret)
        return;
    const char *digits = strrchr(line, ' ') + 1;
    size_t count = strlen(digits) / 2;
    for (size_t at = 0; at < count && at < sizeof secret->bytes; at++)
        secret->bytes[at] = (uint8_t)(nibble(digits[2 * at]) << 4 | nibble(digits[2 * at + 1]));
    secret->count = count <= sizeof secret->bytes ? (uint8_t)count : 0;
}

// Counts records sealed under the server's secret: session tickets use the same key as later data.
static void note_record(int written, int version, int type, const void *bytes, size_t count, SSL *ssl,
                        void *context) {
    struct tls *tls = context;
    (void)version, (void)bytes, (void)count, (void)ssl;
    tls->sealed += written && type == SSL3_RT_HEADER && tls->server.count > 0;
}

// --- The library's side of a connection

static BIO_METHOD *method;

// Makes the BIO method. The library has a number for each kind of BIO.
static bool make_method(void) {
    method = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "patchbay");
    return method && BIO_meth_set_read(method, read_input) && BIO_meth_set_write(method, write_output) &&
           BIO_meth_set_ctrl(method, control);
}

static struct secure *tls_make(struct secure_source *source) {
    (void)source;
    struct tls *tls = memory_take_zeroed(1, sizeof *tls);
    return tls ? &tls->secure : NULL;
}

// Makes the library's state at the first arrival, so that silent connections cost almost no memory.
static bool tls_start(struct tls *tls) {
    SSL *ssl = SSL_new(tls_context_of(tls->secure.source));
    BIO *bio = ssl ? BIO_new(method) : NULL;
    if (!bio) {
        SSL_free(ssl);
        return false;
    }
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    tls->ssl = ssl;
    if (tls->secure.server)
        return tls_context_dial(ssl, tls->secure.server);
    SSL_set_accept_state(ssl);
    SSL_set_msg_callback(ssl, note_record);
    SSL_set_msg_callback_arg(ssl, tls);
    return SSL_set_ex_data(ssl, 0, tls) == 1;
}

// --- The cipher

// Sends a fatal unexpected_message alert to a peer that doesn't speak TLS.
static void object(struct tls *tls) {
    static const uint8_t alert[] = {21, 3, 1, 0, 2, 2, 10};
    if (!tls->spoke)
        secure_send(&tls->secure, alert, sizeof alert);
}

// Notes the fault of a certificate that doesn't verify; else the library's reason.
static void note_why(struct tls *tls) {
    long verified = SSL_get_verify_result(tls->ssl);
    tls->secure.why = verified != X509_V_OK ? X509_verify_cert_error_string(verified)
                                            : ERR_reason_error_string(ERR_peek_error());
}

static enum secure_result judge(struct tls *tls, int result) {
    switch (SSL_get_error(tls->ssl, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return SECURE_MORE;
    case SSL_ERROR_ZERO_RETURN:
        return SECURE_END;
    default:
        note_why(tls);
        if (!tls->secure.established)
            object(tls);
        return SECURE_BROKEN;
    }
}

// Replaces the library by tls_records after a handshake of TLS 1.3. (No secrets are noted on a dialled connection: the
// library must read the server's messages after the handshake, such as tickets.)
static bool take_over(struct tls *tls) {
    tls->records =
        tls_records_create(&tls->client, &tls->server, SSL_get_current_cipher(tls->ssl), tls->sealed);
    OPENSSL_cleanse(&tls->client, sizeof tls->client);
    OPENSSL_cleanse(&tls->server, sizeof tls->server);
    SSL_free(tls->ssl);
    tls->ssl = NULL;
    return tls->records;
}

// Applies the record length that the client has asked for (RFC 6066, section 4). The library has agreed, and cuts its
// own records of TLS 1.2 to that length. If the client asked for none, the library returns 0 or 255.
static void apply_record_length(struct tls *tls) {
    uint8_t length = SSL_SESSION_get_max_fragment_length(SSL_get_session(tls->ssl));
    if (length >= TLSEXT_max_fragment_length_512 && length <= TLSEXT_max_fragment_length_4096)
        tls->secure.record_bytes_max = 256U << length;
}

static enum secure_result handshake_done(struct tls *tls) {
    apply_record_length(tls);
    bool verified = SSL_get_verify_result(tls->ssl) == X509_V_OK;
    tls->certificate = verified ? SSL_get1_peer_certificate(tls->ssl) : NULL;
    STACK_OF(X509) *behind = tls->certificate ? SSL_get_peer_cert_chain(tls->ssl) : NULL;
    tls->behind = sk_X509_num(behind) > 0 ? X509_chain_up_ref(behind) : NULL;
    SSL_set_msg_callback(tls->ssl, NULL);
    bool agreed = tls->client.count > 0 && tls->server.count > 0 && !SSL_has_pending(tls->ssl);
    if (SSL_version(tls->ssl) != TLS1_3_VERSION || !agreed || take_over(tls))
        return SECURE_SHAKEN;
    tls->secure.out_of_memory = true;
    return SECURE_BROKEN;
}

static enum secure_result open_some(struct tls *tls, uint8_t *out, size_t room, size_t *count) {
    if (tls->records)
        return tls_records_open(tls->records, &tls->secure, tls->input, out, room, count);
    ERR_clear_error();
    if (!tls->ssl && !tls_start(tls)) {
        tls->secure.out_of_memory = true;
        return SECURE_BROKEN;
    }
    if (!tls->secure.established) {
        int result = SSL_do_handshake(tls->ssl);
        return result == 1 ? handshake_done(tls) : judge(tls, result);
    }
    int result = SSL_read_ex(tls->ssl, out, room, count);
    return result == 1 ? SECURE_BYTES : judge(tls, result);
}

static enum secure_result tls_open(struct secure *secure, struct secure_input *input, uint8_t *out,
                                   size_t room, size_t *count) {
    struct tls *tls = tls_of(secure);
    account = &secure->memory;
    tls->input = input;
    enum secure_result result = open_some(tls, out, room, count);
    tls->input = NULL;
    account = NULL;
    return result;
}

static bool seal_by_library(struct tls *tls, const struct iovec *parts, unsigned parts_count) {
    size_t count, written = 0;
    const uint8_t *bytes = secure_whole(&tls->secure, parts, parts_count, &count);
    ERR_clear_error();
    return SSL_write_ex(tls->ssl, bytes, count, &written) == 1 && written == count;
}

static bool tls_seal(struct secure *secure, const struct iovec *parts, unsigned count) {
    struct tls *tls = tls_of(secure);
    account = &secure->memory;
    bool sealed = tls->records ? tls_records_seal(tls->records, secure, parts, count)
                               : seal_by_library(tls, parts, count);
    account = NULL;
    return sealed;
}

static void tls_finish(struct secure *secure) {
    struct tls *tls = tls_of(secure);
    account = &secure->memory;
    ERR_clear_error();
    if (tls->records)
        tls_records_finish(tls->records, secure);
    else
        SSL_shutdown(tls->ssl);
    account = NULL;
}

static bool tls_certificate(const struct secure *secure, const struct secure_source *now, secure_visit *visit,
                            void *context) {
    const struct tls *tls = (const struct tls *)secure;
    return tls->certificate && tls_context_verifies(now, secure->source, tls->certificate, tls->behind) &&
           tls_names_visit(tls->certificate, visit, context);
}

static void tls_destroy(struct secure *secure) {
    struct tls *tls = tls_of(secure);
    tls_records_destroy(tls->records);
    SSL_free(tls->ssl);
    X509_free(tls->certificate);
    sk_X509_pop_free(tls->behind, X509_free);
    OPENSSL_cleanse(&tls->client, sizeof tls->client);
    OPENSSL_cleanse(&tls->server, sizeof tls->server);
    memory_give(tls);
}

static const struct cipher tls_cipher = {
    .make = tls_make,
    .open = tls_open,
    .seal = tls_seal,
    .finish = tls_finish,
    .certificate = tls_certificate,
    .destroy = tls_destroy,
    .destroy_source = tls_context_destroy,
};

// --- The library

void tls_begin(void) {
    CRYPTO_set_mem_functions(tls_take, tls_resize, tls_give);
    OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_LOAD_SSL_STRINGS, NULL);
    tls_gcm_begin();
}

static bool is_ready(char *why, size_t capacity) {
    bool ready = method || make_method();
    if (!ready)
        snprintf(why, capacity, "memory is used up");
    return ready;
}

struct secure_source *tls_read_authorities(const char *path, char *why, size_t capacity) {
    return is_ready(why, capacity) ? tls_context_read_authorities(&tls_cipher, path, why, capacity) : NULL;
}

struct secure_source *tls_read(const struct tls_files *files, char *why, size_t capacity) {
    if (!is_ready(why, capacity))
        return NULL;
    struct secure_source *source = tls_context_read(&tls_cipher, files, why, capacity);
    if (source)
        SSL_CTX_set_keylog_callback(tls_context_of(source), note_secret);
    return source;
}

const char *tls_certificate_fault(struct secure_source *source) {
    const X509 *certificate = SSL_CTX_get0_certificate(tls_context_of(source));
    assert(certificate);
    return X509_cmp_current_time(X509_get0_notAfter(certificate)) <= 0   ? "the certificate has expired"
           : X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0 ? "the certificate isn't valid yet"
                                                                         : NULL;
}

// --- Contexts

// Success: all three files are valid, and the key fits the certificate. Failure: the fault has the file's name and the
// library's reason, without the file's contents.
//
// Each reading has its own ticket keys: a session lasts only as long as the files that it began with.

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
    uint8_t clients[SHA256_DIGEST_LENGTH]; // a digest of all authorities for clients' certificates
};

SSL_CTX *tls_context_of(struct secure_source *source) {
    return ((struct tls_context *)source)->context;
}

void tls_context_destroy(struct secure_source *source) {
    SSL_CTX_free(tls_context_of(source));
    memory_give(source);
}

// Refuses keys with a password: nobody could enter one.
static int refuse_passphrase(char *out, int room, int writes, void *context) {
    (void)out, (void)room, (void)writes, (void)context;
    return -1;
}

// Returns whether the client's certificate of the session has expired. (A ticket doesn't have the chain that the client
// sent.)
static bool has_expired(SSL_SESSION *session) {
    X509 *certificate = session ? SSL_SESSION_get0_peer(session) : NULL;
    return certificate && X509_cmp_current_time(X509_get0_notAfter(certificate)) <= 0;
}

// Accepts a ticket only while the client's certificate is valid. Afterwards the client must send the certificate again,
// which fails.
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
    // The hub's own chain must not be completed from the clients' authorities.
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN);
    SSL_CTX_set_security_level(context, 2);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF); // clients keep their sessions in tickets
    SSL_CTX_set_timeout(context, TICKET_S);
    SSL_CTX_set_max_cert_list(context, CLIENT_CHAIN_BYTES_MAX);
    SSL_CTX_set_default_passwd_cb(context, refuse_passphrase);
    return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
           SSL_CTX_set_cipher_list(context, TLS_1_2_CIPHERS) == 1 &&
           SSL_CTX_set_ciphersuites(context, TLS_1_3_CIPHERS) == 1 &&
           SSL_CTX_set1_groups_list(context, GROUPS) == 1 && SSL_CTX_set_max_early_data(context, 0) == 1 &&
           SSL_CTX_set_num_tickets(context, 1) == 1 &&
           SSL_CTX_set_session_ticket_cb(context, NULL, check_ticket, NULL) == 1 &&
           SSL_CTX_set_session_id_context(context, SESSIONS, sizeof SESSIONS - 1) == 1;
}

// Prepares the authorities' certificates, and writes a digest of all of them. The library parses a certificate's
// extensions at the first use, and stores the result in the certificate. Shards share these certificates, so this must
// happen before the shards run.
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

// Checks that the path is a plain file: the library would wait for a FIFO's writer.
static bool is_file(const char *path) {
    int fault = plain_file_check(path);
    if (fault)
        ERR_raise(ERR_LIB_SYS, -fault);
    return !fault;
}

// Loads the files. Returns the path of the file that can't be used; NULL: all can.
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

// Returns the expected content of a file; NULL if the fault isn't in one of the files.
static const char *expected_of(const struct tls_files *files, const char *file) {
    return !files                       ? "certificates of authorities in PEM"
           : file == files->certificate ? "a certificate in PEM, and behind it those that it was signed by"
           : file == files->key         ? "the certificate's private key in PEM, without a password"
           : file == files->clients     ? "certificates of authorities in PEM"
                                        : NULL;
}

static void explain(const struct tls_files *files, const char *file, char *why, size_t capacity) {
    const char *expected = expected_of(files, file);
    unsigned long error = ERR_peek_error();
    const char *reason =
        ERR_SYSTEM_ERROR(error) ? plain_file_why(ERR_GET_REASON(error)) : ERR_reason_error_string(error);
    snprintf(why, capacity, "%s: %s%s%s", file, expected ? "expected " : "", expected ? expected : "",
             expected ? ": " : "");
    size_t used = strlen(why);
    snprintf(why + used, capacity - used, "%s", reason ? reason : "it can't be used");
    ERR_clear_error();
}

// Returns the finished source. With a fault writes the reason, frees `made` and returns NULL.
static struct secure_source *finish(struct tls_context *made, const struct cipher *cipher,
                                    const struct tls_files *files, const char *fault, char *why,
                                    size_t capacity) {
    if (!fault) {
        made->source.cipher = cipher;
        atomic_init(&made->source.references, 1);
        return &made->source;
    }
    explain(files, fault, why, capacity);
    if (made)
        SSL_CTX_free(made->context);
    memory_give(made);
    return NULL;
}

static struct tls_context *begin_context(const SSL_METHOD *kind) {
    struct tls_context *made = memory_take_zeroed(1, sizeof *made);
    ERR_clear_error();
    if (made)
        made->context = SSL_CTX_new(kind);
    return made;
}

struct secure_source *tls_context_read(const struct cipher *cipher, const struct tls_files *files, char *why,
                                       size_t capacity) {
    struct tls_context *made = begin_context(TLS_server_method());
    const char *fault = made && made->context && set_rules(made->context) ? load(made, files) : "TLS";
    return finish(made, cipher, files, fault, why, capacity);
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

// Verifies a certificate again. Costs almost nothing if the authorities haven't changed.
bool tls_context_verifies(const struct secure_source *now, const struct secure_source *before,
                          X509 *certificate, STACK_OF(X509) * behind) {
    const struct tls_context *today = (const struct tls_context *)now,
                             *then = (const struct tls_context *)before;
    return memcmp(today->clients, then->clients, sizeof today->clients) == 0 ||
           verifies(today->context, certificate, behind);
}

// --- Dialling

// Returns the file of authorities that the system trusts, or NULL. A folder of authorities would be read during a
// handshake, when the sandbox forbids that.
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
    struct tls_context *made = begin_context(TLS_client_method());
    const char *from = path ? path : find_authorities();
    const char *fault = !from ? "no file of the authorities that this system trusts" : NULL;
    if (!fault && !(made && made->context && set_rules(made->context)))
        fault = "TLS";
    else if (!fault && !(is_file(from) && SSL_CTX_load_verify_file(made->context, from) == 1))
        fault = from;
    if (!fault)
        SSL_CTX_set_verify(made->context, SSL_VERIFY_PEER, NULL);
    return finish(made, cipher, NULL, fault, why, capacity);
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

// --- Names of a certificate

// Visits a name. Skips a name with a zero byte: the part before that byte could be mistaken for the whole name.
static bool show(const ASN1_STRING *name, secure_visit *visit, void *context) {
    const char *bytes = (const char *)ASN1_STRING_get0_data(name);
    int count = ASN1_STRING_length(name);
    return count > 0 && !memchr(bytes, 0, (size_t)count) && visit(context, bytes, (size_t)count);
}

static bool show_address(const ASN1_STRING *name, secure_visit *visit, void *context) {
    char text[INET6_ADDRSTRLEN];
    int count = ASN1_STRING_length(name);
    int family = count == 4 ? AF_INET : count == 16 ? AF_INET6 : AF_UNSPEC;
    return family != AF_UNSPEC && inet_ntop(family, ASN1_STRING_get0_data(name), text, sizeof text) &&
           visit(context, text, strlen(text));
}

static bool show_alternative(const GENERAL_NAME *name, secure_visit *visit, void *context) {
    int type;
    const ASN1_STRING *value = GENERAL_NAME_get0_value(name, &type);
    switch (type) {
    case GEN_DNS:
    case GEN_EMAIL:
    case GEN_URI:
        return show(value, visit, context);
    case GEN_IPADD:
        return show_address(value, visit, context);
    default:
        return false;
    }
}

// Visits the subject's last CN, the most specific, in UTF-8.
static bool show_common_name(X509 *certificate, secure_visit *visit, void *context) {
    X509_NAME *subject = X509_get_subject_name(certificate);
    int at = -1;
    for (int next = -1; (next = X509_NAME_get_index_by_NID(subject, NID_commonName, next)) >= 0;)
        at = next;
    if (at < 0)
        return false;
    unsigned char *text = NULL;
    int count = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    bool taken = count > 0 && !memchr(text, 0, (size_t)count) && visit(context, (char *)text, (size_t)count);
    OPENSSL_free(text);
    return taken;
}

bool tls_names_visit(X509 *certificate, secure_visit *visit, void *context) {
    int critical;
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, &critical, NULL);
    if (!names) // no SANs (-1); or SANs that can't be read: then the certificate has no name
        return critical == -1 && show_common_name(certificate, visit, context);
    bool taken = false;
    for (int index = 0; !taken && index < sk_GENERAL_NAME_num(names); index++)
        taken = show_alternative(sk_GENERAL_NAME_value(names, index), visit, context);
    GENERAL_NAMES_free(names);
    return taken;
}
