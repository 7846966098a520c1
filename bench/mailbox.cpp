// The way between shards: router/engine/shard/mailbox.c beside ck_ring (Concurrency Kit), one producer thread
// and one consumer, pointers through 4,096 slots. Time is the consumer's a piece. Both threads run without
// pause, so it is the slower end's. ck_ring shows each piece as it is put in; ours shows them one by one or
// 64 together.
#include <benchmark/benchmark.h>

#include "bench/stage.h"

namespace {

void take(benchmark::State &state, mailbox_kind kind, uint32_t batch) {
    constexpr uint32_t pieces = 1024;
    auto *stage = mailbox_stage_open(kind, batch);
    for (auto _ : state) {
        if (!mailbox_stage_take(stage, pieces)) {
            state.SkipWithError("a piece was out of order");
            break;
        }
    }
    state.SetItemsProcessed(state.iterations() * pieces);
    mailbox_stage_close(stage);
}

} // namespace

BENCHMARK_CAPTURE(take, ours_one_by_one, MAILBOX_OURS, 1)->UseRealTime();
BENCHMARK_CAPTURE(take, ours_by_64, MAILBOX_OURS, 64)->UseRealTime();
BENCHMARK_CAPTURE(take, ck_ring, MAILBOX_CK, 1)->UseRealTime();
