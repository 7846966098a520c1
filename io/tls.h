// TLS by OpenSSL, as a cipher of secure.h: TLS 1.2 with ECDHE and AEAD, and TLS 1.3. Sessions are in tickets only. No
// early data, no renegotiation, no compression. The server name that a client sends is ignored.
#pragma once

#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdbool.h>
#include <stddef.h>

#include "io/secure.h"

// --- Names of files

// Paths of files in PEM.
struct tls_files {
    const char *certificate; // the server's certificate, and the chain above it except the root
    const char *key;
    // The authorities that sign clients' certificates; NULL: clients aren't asked for a certificate
    const char *clients;
};

// Initialises the library. Must be called once, before any other use and before there are threads. The library's memory
// comes from the hub's allocator and counts for its connection. Only files of tls_read are read.
void tls_begin(void);
// Reads certificate, key and authorities. Returns one reference; or NULL, and writes to `why` which file is wrong,
// without its contents.
struct secure_source *tls_read(const struct tls_files *files, char *why, size_t capacity);
// Returns why clients would refuse the certificate of tls_read at this time, as static text; NULL: the certificate is
// valid now.
const char *tls_certificate_fault(struct secure_source *source);
// Reads the authorities for dialled connections from a PEM file; with NULL, the system's. Returns one reference; or
// NULL with a reason in `why`.
struct secure_source *tls_read_authorities(const char *path, char *why, size_t capacity);

// --- Contexts

// Keys and certificates, read once and shared by all connections. Only for io/tls.c.

SSL_CTX *tls_context_of(struct secure_source *source);
// Implements tls_read.
struct secure_source *tls_context_read(const struct cipher *cipher, const struct tls_files *files, char *why,
                                       size_t capacity);
// Implements tls_read_authorities.
struct secure_source *tls_context_read_authorities(const struct cipher *cipher, const char *path, char *why,
                                                   size_t capacity);
// Prepares a connection that dials `server`, a name or a numeric address. The peer's certificate must be for `server`.
bool tls_context_dial(SSL *ssl, const char *server);
// Returns whether the authorities of `now` verify a client's certificate and chain, which the authorities of `before`
// verified. The time isn't checked again.
bool tls_context_verifies(const struct secure_source *now, const struct secure_source *before,
                          X509 *certificate, STACK_OF(X509) * behind);
void tls_context_destroy(struct secure_source *source);

// --- Names of a certificate

// The names in a certificate. Only for io/tls.c.

// Visits the names in a certificate, as connection_certificate.
bool tls_names_visit(X509 *certificate, secure_visit *visit, void *context);
