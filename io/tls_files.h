// Where TLS finds what it is made from.
#pragma once

// Paths of files in PEM.
struct tls_files {
    const char *certificate; // and those that it was signed by, but for the root
    const char *key;
    const char
        *clients; // of authorities by which clients' certificates may be signed; NULL: none is asked for
};
