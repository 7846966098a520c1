// The cost of taking the mask off a WebSocket frame's payload: where it lies, and moved down over the header of a
// fragment. Beside it stand a loop byte by byte, as servers first have it, and a copy of as many bytes, which can't be
// beaten.
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

extern "C" {
#include "core/wire/websocket_mask.h"
}

namespace {

enum { HEADER_BYTES = 8 };

void report(benchmark::State &state) {
    state.SetBytesProcessed(state.iterations() * state.range(0));
}

void off(benchmark::State &state, size_t down) {
    const auto count = static_cast<size_t>(state.range(0));
    std::vector<uint8_t> bytes(count + HEADER_BYTES, '7');
    uint8_t mask[WEBSOCKET_MASK_BYTES] = {0x37, 0x7a, 0x21, 0x3d};
    for (auto _ : state) {
        bool ascii = ::websocket_mask_off(bytes.data(), bytes.data() + down, count, mask);
        benchmark::DoNotOptimize(ascii);
        benchmark::ClobberMemory();
    }
    report(state);
}

void bytewise(benchmark::State &state) {
    const auto count = static_cast<size_t>(state.range(0));
    std::vector<uint8_t> bytes(count, '7');
    uint8_t mask[WEBSOCKET_MASK_BYTES] = {0x37, 0x7a, 0x21, 0x3d};
    for (auto _ : state) {
        benchmark::DoNotOptimize(mask);
        for (size_t at = 0; at < count; at++)
            bytes[at] = static_cast<uint8_t>(bytes[at] ^ mask[at % WEBSOCKET_MASK_BYTES]);
        benchmark::ClobberMemory();
    }
    report(state);
}

void copied(benchmark::State &state) {
    const auto count = static_cast<size_t>(state.range(0));
    std::vector<uint8_t> from(count, '7'), to(count);
    for (auto _ : state) {
        std::memcpy(to.data(), from.data(), count);
        benchmark::ClobberMemory();
    }
    report(state);
}

void sizes(benchmark::internal::Benchmark *benchmark) {
    for (int64_t count : {16, 200, 1024, 16 * 1024, 1024 * 1024})
        benchmark->Arg(count);
}

BENCHMARK_CAPTURE(off, in_place, 0)->Apply(sizes);
BENCHMARK_CAPTURE(off, moved_down, HEADER_BYTES)->Apply(sizes);
BENCHMARK(bytewise)->Apply(sizes);
BENCHMARK(copied)->Apply(sizes);

} // namespace
