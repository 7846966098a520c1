// The route stage: all that core does for one request and its response, from the received bytes to the vectors that
// would be sent. The steps are frame_scan, lookup_body, rules_route, pending_add, parcel_create_with_holes and _fill, outbox_add and
// _gather, pending_find and _end. 16 requests lie side by side, as under load. One item is a request with its response.
#include <benchmark/benchmark.h>

#include "bench/stage.h"

namespace {

void route(benchmark::State &state, bool id_last) {
    constexpr uint32_t batch = 16;
    auto *stage = route_stage_open(static_cast<uint32_t>(state.range(0)), batch, id_last);
    for (auto _ : state) {
        if (route_stage_turn(stage) == 0) {
            state.SkipWithError("a message was not routed");
            break;
        }
    }
    state.SetItemsProcessed(state.iterations() * batch);
    route_stage_close(stage);
}

} // namespace

BENCHMARK_CAPTURE(route, id_first, false)->Arg(256)->Arg(1024)->Arg(16384);
BENCHMARK_CAPTURE(route, id_last, true)->Arg(256)->Arg(1024)->Arg(16384);
