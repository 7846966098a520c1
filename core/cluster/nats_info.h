// What a NATS server says of itself: the argument of INFO, and who says that it is no NATS server.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/json/json.h"

struct nats_info {
    uint64_t payload_bytes_max;
    bool headers;
    bool auth_required;
    bool tls_required, tls_available; // TLS must, or may, begin behind INFO
    bool lame_duck;                   // it will go soon
    struct span connect_urls;         // an array, of others in its cluster; bytes 0: it names none
    struct span nonce;                // a string; likewise
};

// False where it is no object, or one without a payload's bound.
bool nats_info_read(const uint8_t *text, struct span argument, struct nats_info *out);
