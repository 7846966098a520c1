// The cost of one message's judgement: may it go there, and is it within the limits. By the number of the
// user's patterns. Beside it stands std::map, asked for each beginning of a name, as the obvious way.
#include <benchmark/benchmark.h>

#include <map>
#include <string>
#include <vector>

#include "bench/stage.h"

namespace {

constexpr uint32_t NAMES_USED = 256; // messages go round these

std::vector<std::string> names(uint32_t patterns) {
    std::vector<std::string> made;
    char name[64];
    for (uint32_t index = 0; index < patterns && index < NAMES_USED; index++)
        made.emplace_back(name, rights_stage_name(index, name, sizeof name));
    return made;
}

template <int (*judge)(rights_stage *, const char *, size_t)> void run(benchmark::State &state) {
    const auto patterns = static_cast<uint32_t>(state.range(0)),
               denials = static_cast<uint32_t>(state.range(1));
    auto *stage = rights_stage_open(patterns, denials);
    const auto used = names(patterns);
    size_t at = 0;
    for (auto _ : state) {
        const auto &name = used[at];
        at = at + 1 == used.size() ? 0 : at + 1;
        if (!judge(stage, name.data(), name.size())) {
            state.SkipWithError("a message was refused");
            break;
        }
    }
    state.SetItemsProcessed(state.iterations());
    rights_stage_close(stage);
}

void call(benchmark::State &state) {
    run<rights_stage_call>(state);
}

void limits(benchmark::State &state) {
    run<rights_stage_limits>(state);
}

// Each beginning of a name is looked for among the prefixes, and all of it among the exact names.
void map_of_beginnings(benchmark::State &state) {
    const auto patterns = static_cast<uint32_t>(state.range(0));
    std::map<std::string, uint32_t, std::less<>> exact, prefixes;
    char name[64];
    for (uint32_t index = 0; index < patterns; index++)
        (index % 2 ? exact : prefixes)
            .emplace(std::string(name, rights_stage_name(index, name, sizeof name)), index);
    const auto used = names(patterns);
    size_t at = 0;
    for (auto _ : state) {
        const std::string_view asked = used[at];
        bool found = exact.find(asked) != exact.end();
        for (size_t bytes = 0; !found && bytes <= asked.size(); bytes++)
            found = prefixes.find(asked.substr(0, bytes)) != prefixes.end();
        benchmark::DoNotOptimize(found);
        at = at + 1 == used.size() ? 0 : at + 1;
    }
    state.SetItemsProcessed(state.iterations());
}

} // namespace

BENCHMARK(call)->ArgsProduct({{4, 64, 1024, 65536}, {0, 16}});
BENCHMARK(limits)->Args({4, 0});
BENCHMARK(map_of_beginnings)->Arg(4)->Arg(64)->Arg(1024)->Arg(65536);
