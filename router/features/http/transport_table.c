#include "router/features/http/transport_table.h"

#include <string.h>

#include "router/features/http/http_transport.h"

const struct transport *transport_table_find(const char *name) {
    static const struct transport *const transports[] = {&transport_framed, &transport_lines,
                                                         &transport_http};
    for (size_t index = 0; index < sizeof transports / sizeof *transports; index++)
        if (strcmp(transports[index]->name, name) == 0)
            return transports[index];
    return NULL;
}
