// Sends spans to the collector, on shard 0: a POST of OTLP/HTTP a second or 512 spans, one at a time, each over a
// connection of its own.
//
//     idle ──due──▶ resolving ──▶ dialling ──▶ asking ──answer, or 10 s──▶ closing ──▶ idle
//
// An answer decides about the spans of its POST: the collector has them, or refuses them for good, or is to be asked again.
// Without an answer they are sent again, too.
#pragma once

#include "router/features/trace/trace.h"

struct span_exporter;

// NULL without memory.
struct span_exporter *span_exporter_create(struct shard *shard);
// Must be called only once span_exporter_holds is false.
void span_exporter_destroy(struct span_exporter *exporter);
// Takes a span over.
void span_exporter_take(struct span_exporter *exporter, struct span_record *record);

// Go on with the POST under way: the exporter's timer has gone off, or the kernel tells of one of its tokens.
void span_exporter_expired(struct span_exporter *exporter);
void span_exporter_connected(struct span_exporter *exporter, const struct io_event *event);
void span_exporter_sent(struct span_exporter *exporter, const struct io_event *event);
void span_exporter_received(struct span_exporter *exporter, const struct io_event *event);
void span_exporter_resolved(struct span_exporter *exporter, const struct io_event *event);

// The hub enters a phase of its end. What waits is sent within the drain's time, and else dropped.
void span_exporter_drain(struct span_exporter *exporter);
// Whether something waits, or is under way.
bool span_exporter_holds(const struct span_exporter *exporter);
