// The names in a certificate. Known to io/tls.c.
#pragma once

#include <openssl/x509.h>

#include "io/secure.h"

// As connection_certificate.
bool tls_names_visit(X509 *certificate, secure_visit *visit, void *context);
