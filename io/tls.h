// TLS by OpenSSL, as a cipher of secure.h: 1.2 with ECDHE and AEAD, and 1.3. Tickets, and no sessions kept here; no early
// data, no renegotiation, no compression; which server the client names isn't looked at.
#pragma once

#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdbool.h>
#include <stddef.h>

#include "io/secure.h"

// --- Names of files

// Where TLS finds what it is made from.

// Paths of files in PEM.
struct tls_files {
    const char *certificate; // and those that it was signed by, but for the root
    const char *key;
    const char
        *clients; // of authorities by which clients' certificates may be signed; NULL: none is asked for
};

// Makes the library ready, once, before anything else of it is used and before there are threads. The
// library's memory comes from ours and counts for the connection for which it is taken. No file is read but
// those of tls_read.
void tls_begin(void);
// One reference. NULL, with what is wrong in `why`: which file, never what is in it.
struct secure_source *tls_read(const struct tls_files *files, char *why, size_t capacity);
// Why a client would refuse the certificate of tls_read now, by the time alone; NULL where it is good now. The text is constant.
const char *tls_certificate_fault(struct secure_source *source);
// For connections that are dialled: whose certificates are trusted, a file in PEM; NULL: whom the system trusts. One reference, or
// likewise.
struct secure_source *tls_read_authorities(const char *path, char *why, size_t capacity);

// --- Contexts

// Keys and certificates, read once and shared by all connections that are made from them. Known to io/tls.c.

SSL_CTX *tls_context_of(struct secure_source *source);
// Implements tls_read.
struct secure_source *tls_context_read(const struct cipher *cipher, const struct tls_files *files, char *why,
                                       size_t capacity);
// Implements tls_read_authorities.
struct secure_source *tls_context_read_authorities(const struct cipher *cipher, const char *path, char *why,
                                                   size_t capacity);
// Has one of its connections dial `server`, a name or a numeric address, which its certificate must be for.
bool tls_context_dial(SSL *ssl, const char *server);
// Whether the authorities of `now` vouch for a client's certificate, and for those that the client has shown
// behind it, for which those of `before` did. The time isn't asked anew.
bool tls_context_verifies(const struct secure_source *now, const struct secure_source *before,
                          X509 *certificate, STACK_OF(X509) * behind);
void tls_context_destroy(struct secure_source *source);

// --- Names of a certificate

// The names in a certificate. Known to io/tls.c.

// Visits the names in a certificate, as connection_certificate does.
bool tls_names_visit(X509 *certificate, secure_visit *visit, void *context);
