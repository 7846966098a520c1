// TLS by OpenSSL, as a cipher of secure.h: 1.2 with ECDHE and AEAD, and 1.3. Tickets, and no sessions kept here; no early
// data, no renegotiation, no compression; which server the client names isn't looked at.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "io/secure.h"
#include "io/tls_files.h"

// Makes the library ready, once, before anything else of it is used and before there are threads. The
// library's memory comes from ours and counts for the connection for which it is taken. No file is read but
// those of tls_read.
void tls_begin(void);
// One reference. NULL, with what is wrong in `why`: which file, never what is in it.
struct secure_source *tls_read(const struct tls_files *files, char *why, size_t capacity);
// For connections that are dialled: whose certificates are trusted, a file in PEM; NULL: whom the system trusts. One reference, or
// likewise.
struct secure_source *tls_read_authorities(const char *path, char *why, size_t capacity);
