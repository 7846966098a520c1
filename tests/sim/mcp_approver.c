// The approver of patchbay_mcp: a framed connection that lists held calls and decides on them, sooner or later.
#include <stdio.h>
#include <string.h>

#include "tests/sim/kernel.h"
#include "tests/sim/mcp_stage.h"

static struct {
    struct cable *cable; // NULL: none
    uint8_t in[ROOM];
    size_t count;
} approver;

static void say(const char *body) {
    char head[64];
    int bytes = snprintf(head, sizeof head, "Content-Length: %zu\r\n\r\n", strlen(body));
    cable_write(approver.cable, head, (size_t)bytes);
    cable_write(approver.cable, body, strlen(body));
}

void approver_act(void) {
    if (!approver.cable) {
        approver.count = 0;
        approver.cable = world_dial(&stage.world);
        if (approver.cable && stage.has_users)
            say("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"token\":\"secret-of-"
                "6\"}}");
    }
    if (approver.cable)
        say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hub/approvals\"}");
}

static void decide(struct bit checkpoint) {
    static const char *const decisions[] = {"approved", "approved", "rejected", "needs_revision"};
    char body[512];
    snprintf(
        body, sizeof body,
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"governance/approval\",\"params\":{\"checkpoint\":%.*s,"
        "\"artifact\":{},\"approver\":\"a\",\"decision\":\"%s\"}}",
        (int)checkpoint.count, (const char *)checkpoint.bytes, decisions[random_below(&stage.random, 4)]);
    say(body);
    sums.decisions++;
}

static void take(struct bit body) {
    struct bit all = naive_find(body, "result.approvals");
    struct naive_item item;
    for (size_t at = 0; all.bytes && naive_next(all, &at, &item);)
        if (stage.good || random_chance(&stage.random, 500))
            decide(naive_find(item.value, "checkpoint"));
}

bool approver_hear(void) {
    struct naive_frame frame;
    bool any = false;
    if (!approver.cable)
        return false;
    approver.count += cable_read(approver.cable, approver.in + approver.count, ROOM - approver.count);
    while (approver.count && naive_frame(&frame, approver.in, approver.count) == NAIVE_WHOLE) {
        take(frame.body);
        approver.count -= frame.bytes;
        memmove(approver.in, approver.in + frame.bytes, approver.count);
        any = true;
    }
    return any;
}

void approver_leave(void) {
    if (approver.cable)
        cable_close(approver.cable);
    approver.cable = NULL;
    approver.count = 0;
}
