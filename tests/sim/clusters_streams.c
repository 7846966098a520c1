// Sessions of HCS stay on their hub: what starts one comes to a producer there, or to nobody.
#include "tests/sim/clusters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/kernel.h"

void stream_start(unsigned by) {
    char body[256];
    struct guest *guest = &stage.guests[by];
    snprintf(body, sizeof body,
             "{\"type\":\"start\",\"request_id\":\"r\",\"session_id\":\"by-%u-%u\",\"targetAgent\":\"%s\"}",
             by, random_below(&stage.random, 4), model_agents[random_below(&stage.random, NAMES)]);
    guest_say(guest, "", body);
    sums.starts += guest->http_owner.cable != NULL;
}

void stream_hear(unsigned by, struct bit body) {
    static const char begin[] = "\"by-";
    struct bit session = naive_find(body, "session_id");
    if (!bit_is(naive_find(body, "type"), "\"start\""))
        return;
    if (session.count < sizeof begin || memcmp(session.bytes, begin, sizeof begin - 1) != 0)
        kernel_fail("a session came that nobody has begun");
    unsigned source = (unsigned)strtoul((const char *)session.bytes + sizeof begin - 1, NULL, 10);
    if (source >= stage.guest_count || stage.guests[source].site != stage.guests[by].site)
        kernel_fail("a session of guest %u has come to guest %u, at another hub", source, by);
    sums.started++;
}
