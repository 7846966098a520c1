// TLS to a hub, whose certificate must verify for the name or the address in the URI (RFC 6125).
#pragma once

#include <openssl/types.h>

#include "tools/hub_address.h"

// Sets files in PEM: of authorities, instead of the system's; of a certificate of the client; and of its key, which may
// be in the certificate's file. NULL: none. The texts must stay.
void tls_trust(const char *authorities, const char *certificate, const char *key);
// Does the handshake over a blocking socket, which stays the caller's. Returns 0; or -EKEYREJECTED, after printing why.
int tls_handshake(int socket, const struct hub_address *hub, SSL **out);
