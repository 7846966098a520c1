#include "router/features/children/child_record.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/mcp/mcp_message.h"
#include "io/keeper.h"

static_assert((int)CHILDREN_MAX <= (int)KEEPER_PLACES, "each has a place");

static bool is_named(const struct child_record *record, const char *name, size_t bytes) {
    return strlen(record->name) == bytes && memcmp(record->name, name, bytes) == 0;
}

struct child_record *child_record_find(const struct hub *hub, const char *name, size_t bytes) {
    uint32_t count = child_record_count(hub);
    for (uint32_t index = 0; index < count; index++)
        if (child_record_is_there(child_record_at(hub, index)) &&
            is_named(child_record_at(hub, index), name, bytes))
            return child_record_at(hub, index);
    return NULL;
}

static bool is_free(const struct child_record *record) {
    return !child_record_is_there(record) && record->leaving == 0;
}

static struct child_record *find_own(const struct hub *hub, const char *name) {
    uint32_t count = child_record_count(hub);
    for (uint32_t index = 0; index < count; index++)
        if (is_named(child_record_at(hub, index), name, strlen(name)))
            return child_record_at(hub, index);
    return NULL;
}

static struct child_record *find_free(const struct hub *hub) {
    uint32_t count = child_record_count(hub);
    for (uint32_t index = 0; index < count; index++)
        if (is_free(child_record_at(hub, index)))
            return child_record_at(hub, index);
    return NULL;
}

bool child_record_has_place(const struct hub *hub) {
    return child_record_count(hub) < CHILDREN_MAX || find_free(hub);
}

static void child_record_name(const struct hub *hub, struct child_record *record, const char *name) {
    const struct keeper *keeper = hub->start_settings.keeper;
    assert(strlen(name) < sizeof record->name && !child_record_is_there(record));
    strcpy(record->name, name);
    record->log_since = keeper ? atomic_load(&keeper->shared->places[record->place].log_end) : 0;
    atomic_store_explicit(&record->each, 0, memory_order_relaxed);
    atomic_store_explicit(&record->acp, 0, memory_order_relaxed);
    atomic_store_explicit(&record->instances, 0, memory_order_relaxed);
    atomic_store_explicit(&record->clients, 0, memory_order_relaxed);
    atomic_store_explicit(&record->web_sessions, 0, memory_order_relaxed);
    atomic_store_explicit(&record->era, MCP_ERAS_COUNT, memory_order_relaxed);
}

struct child_record *child_record_take(struct hub *hub, const char *name) {
    struct child_record *record = find_own(hub, name);
    uint32_t count = child_record_count(hub);
    if (record)
        return record;
    if (count == CHILDREN_MAX) {
        record = find_free(hub);
        if (record)
            child_record_name(hub, record, name);
        return record;
    }
    record = &child_records_of(hub)->all[count];
    record->place = count;
    atomic_store_explicit(&record->state, CHILD_REMOVED, memory_order_relaxed);
    child_record_name(hub, record, name);
    atomic_store_explicit(&child_records_of(hub)->count, count + 1, memory_order_release);
    return record;
}

bool child_record_is_there(const struct child_record *record) {
    return atomic_load_explicit(&record->state, memory_order_acquire) != CHILD_REMOVED;
}

static const char *const states[] = {
#define X(state, text) [state] = (text),
    CHILD_STATES(X)
#undef X
};

static const char *const faults[] = {
#define X(fault, text) [fault] = (text),
    CHILD_FAULTS(X)
#undef X
};

static uint32_t number(const _Atomic uint32_t *value) {
    return atomic_load_explicit(value, memory_order_relaxed);
}

static void put_fault(struct text *out, uint64_t fault) {
    enum child_fault kind = (enum child_fault)(fault >> 32);
    assert(kind < CHILD_FAULTS_COUNT);
    text_put(out, ",\"lastFault\":");
    text_put(out, kind ? "\"" : "null");
    text_put(out, faults[kind]);
    const char *reason = kind == CHILD_FAULT_START ? strerrordesc_np((int32_t)(uint32_t)fault) : NULL;
    if (reason) {
        text_put(out, " ");
        text_put(out, reason);
    } else if (kind == CHILD_FAULT_START || kind == CHILD_FAULT_STATUS || kind == CHILD_FAULT_SIGNAL) {
        text_put(out, " ");
        text_number(out, (int32_t)(uint32_t)fault);
    }
    text_put(out, kind ? "\"" : "");
}

void child_record_put(struct text *out, const struct hub *hub, const struct child_record *record) {
    static const char *const protocols[] = {"plain", "hermes", "mcp"};
    const struct keeper *keeper = hub->start_settings.keeper;
    int32_t process = atomic_load_explicit(&record->process, memory_order_relaxed);
    text_put(out, "\"state\":\"");
    text_put(out, states[number(&record->state)]);
    text_put(out, "\",\"protocol\":\"");
    text_put(out, protocols[number(&record->protocol)]);
    if (number(&record->era) < MCP_ERAS_COUNT) {
        text_put(out, "\",\"era\":\"");
        text_put(out, number(&record->era) == MCP_MODERN ? "modern" : "legacy");
    }
    text_put(out, "\",\"pid\":");
    if (process)
        text_number(out, process);
    else
        text_put(out, "null");
    text_put(out, ",\"restarts\":");
    text_number(out, number(&record->restarts));
    text_put(out, ",\"failures\":");
    text_number(out, number(&record->failures));
    put_fault(out, atomic_load_explicit(&record->fault, memory_order_relaxed));
    if (child_record_is_each(record)) {
        text_put(out, ",\"instances\":");
        text_number(out, number(&record->instances));
    }
    text_put(out, ",\"residentBytes\":");
    const _Atomic uint64_t *resident = keeper ? &keeper->shared->places[record->place].memory_bytes : NULL;
    text_number(out, process && resident ? (int64_t)atomic_load_explicit(resident, memory_order_relaxed) : 0);
}

const struct child_record *child_record_modern(const struct hub *hub, const struct child_record *record) {
    char name[AGENT_ID_BYTES_MAX + 16];
    if (!child_record_is_mcp(record) || child_record_is_each(record))
        return NULL;
    int bytes = snprintf(name, sizeof name, "%s#modern", record->name);
    return child_record_find(hub, name, (size_t)bytes);
}

bool child_record_is_mcp(const struct child_record *record) {
    assert(record);
    return atomic_load_explicit(&record->protocol, memory_order_relaxed) == CHILD_MCP;
}

bool child_record_cancels_acp(const struct child_record *record) {
    return atomic_load_explicit(&record->acp, memory_order_relaxed) != 0;
}

bool child_record_is_each(const struct child_record *record) {
    return atomic_load_explicit(&record->each, memory_order_relaxed) != 0;
}
