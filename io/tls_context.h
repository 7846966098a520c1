// Keys and certificates, read once and shared by all connections that are made from them. Known to io/tls.c.
#pragma once

#include <openssl/ssl.h>

#include "io/secure.h"
#include "io/tls_files.h"

SSL_CTX *tls_context_of(struct secure_source *source);
// As tls_read.
struct secure_source *tls_context_read(const struct cipher *cipher, const struct tls_files *files, char *why,
                                       size_t capacity);
void tls_context_destroy(struct secure_source *source);
