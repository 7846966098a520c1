// From an event's name to the topics that it belongs to, by the number of exact names and of lengths of prefix in use.
// Beside it std::unordered_map, which knows exact names alone.
#include <benchmark/benchmark.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "bench/stage.h"

namespace {

constexpr uint32_t NAMES_USED = 256; // events go round these

std::vector<std::string> names(uint32_t exact) {
    std::vector<std::string> made;
    char name[64];
    for (uint32_t index = 0; index < exact && index < NAMES_USED; index++)
        made.emplace_back(name, topics_stage_name(index, name, sizeof name));
    return made;
}

void ours(benchmark::State &state) {
    const auto exact = static_cast<uint32_t>(state.range(0)),
               prefixes = static_cast<uint32_t>(state.range(1));
    auto *stage = topics_stage_open(exact, prefixes);
    const auto used = names(exact);
    size_t at = 0;
    for (auto _ : state) {
        const auto &name = used[at];
        at = at + 1 == used.size() ? 0 : at + 1;
        if (topics_stage_match(stage, name.data(), name.size()) == 0) {
            state.SkipWithError("an event found no topic");
            break;
        }
    }
    state.SetItemsProcessed(state.iterations());
    topics_stage_close(stage);
}

void unordered_map(benchmark::State &state) {
    const auto exact = static_cast<uint32_t>(state.range(0));
    std::unordered_map<std::string, uint32_t> table;
    char name[64];
    for (uint32_t index = 0; index < exact; index++)
        table.emplace(std::string(name, topics_stage_name(index, name, sizeof name)), index);
    const auto used = names(exact);
    size_t at = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(table.find(used[at])->second);
        at = at + 1 == used.size() ? 0 : at + 1;
    }
    state.SetItemsProcessed(state.iterations());
}

} // namespace

BENCHMARK(ours)->ArgsProduct({{16, 1024, 65536}, {0, 1, 8}});
BENCHMARK(unordered_map)->Arg(16)->Arg(1024)->Arg(65536);
