// Static probes at the borders of a frame's stages, for bpftrace and perf (systemtap's sys/sdt.h, provider
// `patchbay`). A probe that is off is one nop. Without the header there are no probes.
//
//   receive  connection, bytes, kind     an arrival; kind: 1 straight into a large frame's memory, else 0
//   frame    connection, bytes, kind     a whole unit, envelope and body; kind as above
//   route    connection, bytes, kind     a body was looked up and is to be routed; kind: enum body_kind
//   queue    connection, bytes, waiting  a frame was queued; waiting: bytes in the outbox with it
//   send     connection, bytes, vectors  a send begins
//   sent     connection, bytes, left     a send ended; left: bytes in the outbox
//   drop     connection, bytes, kind     a frame isn't delivered; kind: enum counter
//
// `connection` is the source up to `route`, and the destination from `queue` on.
#pragma once

#if defined(__has_include)
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#endif
#endif

#ifdef DTRACE_PROBE3
#define PROBE(name, connection, bytes, kind) DTRACE_PROBE3(patchbay, name, connection, bytes, kind)
#else
#define PROBE(name, connection, bytes, kind) ((void)(connection), (void)(bytes), (void)(kind))
#endif
