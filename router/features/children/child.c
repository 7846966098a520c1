#include "router/features/children/child.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "io/log.h"
#include "router/engine/shard/peer_cold.h"

void child_set_state(struct child *child, enum child_state state) {
    assert(state < CHILD_STATES_COUNT && child->settings);
    child->state = state;
    child_touch(child);
    atomic_store_explicit(&child->record->state, state,
                          memory_order_release); // releases the record's name, too (child_record.h)
    atomic_store_explicit(&child->record->protocol, child->settings->protocol, memory_order_relaxed);
    if (child->settings->protocol != CHILD_MCP || child->modern)
        child_show_era(child, child->modern ? MCP_MODERN : MCP_ERAS_COUNT);
    atomic_store_explicit(&child->record->each, child_is_stand_in(child), memory_order_relaxed);
    atomic_store_explicit(&child->record->acp, child->settings->cancels_acp, memory_order_relaxed);
}

void child_show_era(struct child *child, enum mcp_era era) {
    atomic_store_explicit(&child->record->era, (uint32_t)era, memory_order_relaxed);
}

void child_log(const struct child *child, const char *format, ...) {
    assert(child->record);
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    log_write(LOG_CHILD_FAULT, LOG_FIELDS(log_text(child->record->name)), "child %s: %s", child->record->name,
              line);
}

void child_wake_after(struct shard *shard, struct child *child, uint64_t ms) {
    assert(child->stub && child_of_stub(child->stub) == child);
    wheel_arm(&shard->wheel, &child->stub->cold->timer, shard_now_ms(shard) + ms);
}

void child_fail(struct shard *shard, struct child *child, enum child_fault fault, int32_t number) {
    assert(fault < CHILD_FAULTS_COUNT && child->stub);
    if (!child_is_up(child))
        return;
    if (child->fault == CHILD_FAULT_NONE) {
        child->fault = fault;
        child->fault_number = number;
    }
    if (child->stub->state == PEER_OPEN)
        peer_close(shard, child->stub, COUNTER_NONE);
}
