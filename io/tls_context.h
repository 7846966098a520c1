// Keys and certificates, read once and shared by all connections that are made from them. Known to io/tls.c.
#pragma once

#include <openssl/ssl.h>

#include "io/secure.h"
#include "io/tls_files.h"

SSL_CTX *tls_context_of(struct secure_source *source);
// As tls_read.
struct secure_source *tls_context_read(const struct cipher *cipher, const struct tls_files *files, char *why,
                                       size_t capacity);
// As tls_read_authorities.
struct secure_source *tls_context_read_authorities(const struct cipher *cipher, const char *path, char *why,
                                                   size_t capacity);
// Has one of its connections dial `server`, a name or a numeric address, which its certificate must be for.
bool tls_context_dial(SSL *ssl, const char *server);
// Whether the authorities of `now` vouch for a client's certificate, and for those that the client has shown
// behind it, for which those of `before` did. The time isn't asked anew.
bool tls_context_vouches(const struct secure_source *now, const struct secure_source *before,
                         X509 *certificate, STACK_OF(X509) * behind);
void tls_context_destroy(struct secure_source *source);
