// HTTP/1.1 (RFC 9110, RFC 9112): the transport of a connection whose requests are answered in their order, each as one
// exchange. Each path is a row of routes (http_routes.h).
#pragma once

#include "router/engine/shard/transport.h"

extern const struct transport transport_http;
