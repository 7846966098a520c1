// The table of pending requests. One request begins, with its lists and its timer. One is found by its hub id, and
// ends. The rows differ in the number of requests and in the length of the source's id: up to 24 bytes lie in the
// table. Beside it stands a hash map from a number to the id's text, as a hub without slots would have. The map has
// neither lists nor timers.
#include <benchmark/benchmark.h>

#include <string>
#include <unordered_map>

#include "bench/stage.h"

namespace {

void ours(benchmark::State &state) {
    auto *stage =
        pending_stage_open(static_cast<uint32_t>(state.range(0)), static_cast<uint32_t>(state.range(1)));
    for (auto _ : state) {
        if (!pending_stage_turn(stage)) {
            state.SkipWithError("a request was not found");
            break;
        }
    }
    state.SetItemsProcessed(state.iterations());
    pending_stage_close(stage);
}

void unordered_map(benchmark::State &state) {
    const auto under_way = static_cast<uint64_t>(state.range(0));
    const std::string id(static_cast<size_t>(state.range(1)), '7');
    std::unordered_map<uint64_t, std::string> table;
    uint64_t next = 0;
    while (next < under_way)
        table.emplace(next++, id);
    for (auto _ : state) {
        auto found = table.find(next - under_way);
        benchmark::DoNotOptimize(found->second.data());
        table.erase(found);
        table.emplace(next++, id);
    }
    state.SetItemsProcessed(state.iterations());
}

void sizes(benchmark::internal::Benchmark *benchmark) {
    for (int under_way : {64, 4096, 65536})
        for (int id_bytes : {8, 40})
            benchmark->Args({under_way, id_bytes});
}

} // namespace

BENCHMARK(ours)->Apply(sizes);
BENCHMARK(unordered_map)->Apply(sizes);
