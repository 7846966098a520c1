// TLS to a hub: its certificate must verify for the name, or the address, by which the URI tells it (RFC 6125).
#pragma once

#include <openssl/types.h>

#include "tools/hub_address.h"

// Files in PEM, kept; NULL for none: of authorities, in place of the system's, and of a certificate of the client's own
// with its key, which may be in the same file.
void tls_trust(const char *authorities, const char *certificate, const char *key);
// Shakes hands over a blocking socket, which stays the caller's. 0; or -EKEYREJECTED, and it has been said why.
int tls_shake_hands(int socket, const struct hub_address *hub, SSL **out);
