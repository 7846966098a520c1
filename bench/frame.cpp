// The cost of a header block: the scanner on the blocks that peers send, whole and in two pieces. Beside it stands the
// reader that many clients have: memmem finds the blank line, strncasecmp and strtol the length. That reader judges
// none of the rules.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <strings.h>

// In C a function may bear a struct's name and {0} is all zeros; C++ warns of both.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
extern "C" {
#include "core/wire/frame.h"
}
#pragma GCC diagnostic pop

namespace {

const struct unit_limits limits = {8 * 1024, 16 * 1024 * 1024};

const char canonical[] = "Content-Length: 221\r\n\r\n";
const char usual[] = "Content-Length: 221\r\n"
                     "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n"
                     "HugAI-Version: 2.0.0\r\n"
                     "Governance-Level: supervised\r\n\r\n";
const char custom[] = "Content-Length: 221\r\n"
                      "Custom-Trace: 4bf92f3577b34da6a3ce929d0e0e4736\r\n"
                      "Custom-Span: 00f067aa0ba902b7\r\n"
                      "Custom-Tenant: research\r\n"
                      "Custom-Origin: editor\r\n"
                      "Custom-Build: 2024-11-05T10:22:31Z\r\n"
                      "Custom-Attempt: 1\r\n"
                      "Custom-Session: 0c2ad9f4-1f3f-4a55-9d9f-2a9a7ac2d0c1\r\n"
                      "Custom-Note: nothing to remark\r\n\r\n";
const char lower_last[] = "custom-trace: 4bf92f3577b34da6a3ce929d0e0e4736\r\n"
                          "content-length: 221\r\n\r\n";

std::string frame_of(const char *block) {
    return std::string(block) + std::string(221, ' ');
}

void report(benchmark::State &state, const char *block) {
    state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(std::strlen(block)));
}

void whole(benchmark::State &state, const char *block) {
    const std::string text = frame_of(block);
    const auto *bytes = reinterpret_cast<const uint8_t *>(text.data());
    for (auto _ : state) {
        struct unit scan;
        unit_begin(&scan);
        benchmark::DoNotOptimize(bytes);
        if (::frame_scan(&scan, bytes, text.size(), &limits) != UNIT_WHOLE)
            state.SkipWithError("the block was not taken");
        benchmark::DoNotOptimize(scan);
    }
    report(state, block);
}

void in_two(benchmark::State &state, const char *block) {
    const std::string text = frame_of(block);
    const auto *bytes = reinterpret_cast<const uint8_t *>(text.data());
    const size_t first = std::strlen(block) / 2;
    for (auto _ : state) {
        struct unit scan;
        unit_begin(&scan);
        benchmark::DoNotOptimize(bytes);
        if (::frame_scan(&scan, bytes, first, &limits) != UNIT_OPEN ||
            ::frame_scan(&scan, bytes, text.size(), &limits) != UNIT_WHOLE)
            state.SkipWithError("the block was not taken");
        benchmark::DoNotOptimize(scan);
    }
    report(state, block);
}

// The peer. Returns the whole frame's bytes, or 0.
size_t loose_read(const char *frame, size_t bytes) {
    const auto *blank = static_cast<const char *>(memmem(frame, bytes, "\r\n\r\n", 4));
    if (!blank)
        return 0;
    long length = 0;
    for (const char *line = frame; line < blank;) {
        if (strncasecmp(line, "Content-Length:", 15) == 0)
            length = std::strtol(line + 15, nullptr, 10);
        const auto *end =
            static_cast<const char *>(memmem(line, static_cast<size_t>(blank + 2 - line), "\r\n", 2));
        line = end + 2;
    }
    const size_t total = static_cast<size_t>(blank + 4 - frame) + static_cast<size_t>(length);
    return length > 0 && total <= bytes ? total : 0;
}

void loose(benchmark::State &state, const char *block) {
    const std::string text = frame_of(block);
    const char *bytes = text.data();
    for (auto _ : state) {
        benchmark::DoNotOptimize(bytes);
        size_t total = loose_read(bytes, text.size());
        if (total != text.size())
            state.SkipWithError("the block was not taken");
        benchmark::DoNotOptimize(total);
    }
    report(state, block);
}

BENCHMARK_CAPTURE(whole, canonical, canonical);
BENCHMARK_CAPTURE(whole, four_usual, usual);
BENCHMARK_CAPTURE(whole, eight_custom, custom);
BENCHMARK_CAPTURE(whole, lower_case_last, lower_last);
BENCHMARK_CAPTURE(in_two, canonical, canonical);
BENCHMARK_CAPTURE(in_two, four_usual, usual);
BENCHMARK_CAPTURE(in_two, eight_custom, custom);
BENCHMARK_CAPTURE(loose, canonical, canonical);
BENCHMARK_CAPTURE(loose, four_usual, usual);
BENCHMARK_CAPTURE(loose, eight_custom, custom);
BENCHMARK_CAPTURE(loose, lower_case_last, lower_last);

} // namespace
