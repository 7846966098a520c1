// Orders: `command/execute` without an id. Each order is for an agent that carries out its command, or offers the
// method, at the source's own hub. Without such an agent the order goes to other hubs once, for the command. Some
// orders name their agent. Each order comes once, behind those that were given before it.
#include "tests/sim/clusters.h"

#include <stdio.h>

#include "tests/sim/kernel.h"

static bool holds(unsigned by, unsigned name) {
    return stage.guests[by].holds[name] && orders_are_offered(name, stage.guests[by].offers[name]);
}

// Returns the guest that carries out orders under this name, at one hub, or (SITES_MAX) at any; guest_count: none.
static unsigned holder_at(unsigned name, unsigned site) {
    unsigned by = 0;
    while (by < stage.guest_count &&
           !(holds(by, name) && (site == SITES_MAX || stage.guests[by].site == site)))
        by++;
    return by;
}

static unsigned target(const struct order *order) {
    unsigned from = stage.guests[order->source].site, by = stage.guest_count;
    if (order->is_named)
        by = stage_holder(NAME_ORDERS);
    if (order->is_named)
        return by < stage.guest_count && !stage_together(from, stage.guests[by].site) ? stage.guest_count
                                                                                      : by;
    if (order->is_known)
        by = holder_at(NAME_COMMAND, from);
    if (by == stage.guest_count)
        by = holder_at(NAME_ORDERS, from);
    if (by == stage.guest_count && order->is_known)
        by = holder_at(NAME_COMMAND, SITES_MAX);
    return by < stage.guest_count && !stage_together(from, stage.guests[by].site) ? stage.guest_count : by;
}

// Returns whether an order of this guest's must arrive. A registration under way may be at the hub already, and an
// order never goes to its own source.
static bool is_sure(unsigned by) {
    if (!stage_is_well() || holds(by, NAME_COMMAND) || holds(by, NAME_ORDERS))
        return false;
    for (unsigned other = 0; other < stage.guest_count; other++)
        if (stage.guests[other].claims[NAME_COMMAND].open || stage.guests[other].claims[NAME_ORDERS].open)
            return false;
    return true;
}

static void order_give(unsigned by) {
    char body[256];
    struct guest *guest = &stage.guests[by];
    if (!guest->http_owner.cable || stage.order_count == ORDERS_MAX)
        return;
    unsigned number = stage.order_count++;
    struct order *order = &stage.orders[number];
    *order = (struct order){.source = by,
                            .epoch = stage.epoch,
                            .is_named = !stage.by_users && random_chance(&stage.random, 300),
                            .is_known = random_chance(&stage.random, 400),
                            .is_sure = is_sure(by)};
    snprintf(body, sizeof body,
             "{\"jsonrpc\":\"2.0\",\"method\":\"command/"
             "execute\",\"params\":{%s%s%s\"command\":\"%s\",\"order\":%u}}",
             order->is_named ? "\"targetAgent\":\"" : "", order->is_named ? model_agents[NAME_ORDERS] : "",
             order->is_named ? "\"," : "", order->is_known ? "known" : "nothing", number);
    guest_say(guest, "", body);
}

void orders_give(unsigned by) {
    for (unsigned more = random_between(&stage.random, 1, 3); more > 0; more--)
        order_give(by);
}

// Whichever way each has gone, they come as they were given.
static void check_place(unsigned by, unsigned number) {
    const struct order *order = &stage.orders[number];
    for (unsigned later = number + 1; later < stage.order_count; later++) {
        const struct order *other = &stage.orders[later];
        if (other->source == order->source && other->copies && other->by == by && other->is_sure &&
            order->is_sure && other->epoch == order->epoch && stage_still(order->epoch))
            kernel_fail("order %u of guest %u comes to guest %u behind order %u", number, order->source, by,
                        later);
    }
    stage.orders[number].by = by;
}

void order_comes(unsigned by, struct bit body) {
    unsigned number = (unsigned)bit_number(naive_find(body, "params.order"));
    if (number >= stage.order_count)
        kernel_fail("guest %u gets an order that nobody gave", by);
    struct order *order = &stage.orders[number];
    if (order->copies++)
        kernel_fail("order %u of guest %u comes twice", number, order->source);
    check_place(by, number);
    if (order->is_sure && stage_still(order->epoch) && by != target(order))
        kernel_fail("order %u of guest %u comes to guest %u, and is guest %u's", number, order->source, by,
                    target(order));
}

void orders_check(void) {
    for (unsigned number = 0; number < stage.order_count; number++) {
        struct order *order = &stage.orders[number];
        if (!order->is_sure || !stage_still(order->epoch))
            continue;
        unsigned by = target(order);
        if (order->copies != (by < stage.guest_count))
            kernel_fail("order %u of guest %u, at hub %u, %s, comes %u times to guest %u", number,
                        order->source, stage.guests[order->source].site,
                        order->is_named   ? "by name"
                        : order->is_known ? "by its command"
                                          : "by its method",
                        order->copies, by);
        order->is_sure = false;
        sums.orders += order->copies;
        sums.orders_crossed += order->copies && stage.guests[by].site != stage.guests[order->source].site;
    }
}
