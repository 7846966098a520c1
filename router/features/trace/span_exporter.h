// Sends spans to the collector, on shard 0: a POST of OTLP/HTTP a second or 512 spans, one at a time, each over a
// connection of its own.
//
//     idle ──due──▶ resolving ──▶ dialling ──▶ asking ──answer, or 10 s──▶ closing ──▶ idle
//
// The answer to a POST decides about its spans: the collector has taken them, has refused them for good, or must get
// them again. Without an answer the spans are sent again, too.
#pragma once

#include "router/features/trace/trace.h"

struct span_exporter;

// Makes an exporter. Returns NULL without memory.
struct span_exporter *span_exporter_create(struct shard *shard);
// Frees an exporter. Must be called only when span_exporter_holds is false.
void span_exporter_destroy(struct span_exporter *exporter);
// Takes a span, which the exporter owns from then on.
void span_exporter_take(struct span_exporter *exporter, struct span_record *record);

// Go on with the POST under way, when the exporter's timer has gone off, or when the kernel reports an event.
void span_exporter_expired(struct span_exporter *exporter);
void span_exporter_connected(struct span_exporter *exporter, const struct io_event *event);
void span_exporter_sent(struct span_exporter *exporter, const struct io_event *event);
void span_exporter_received(struct span_exporter *exporter, const struct io_event *event);
void span_exporter_resolved(struct span_exporter *exporter, const struct io_event *event);

// Begins the exporter's end with a phase of the hub's end. Waiting spans are sent within the drain's time, or dropped.
void span_exporter_drain(struct span_exporter *exporter);
// Returns whether spans wait, or an operation is under way.
bool span_exporter_holds(const struct span_exporter *exporter);
