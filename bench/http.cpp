// The cost of a request of HTTP: the scanner and the reader of the head on requests of clients, and a chunked body in
// pieces.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstring>
#include <string>

// In C a function may bear a struct's name and {0} is all zeros; C++ warns of both.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
extern "C" {
#include "core/wire/http.h"
#include "core/wire/http_block.h"
#include "core/wire/http_request.h"
}
#pragma GCC diagnostic pop

namespace {

const struct unit_limits limits = {8 * 1024, 16 * 1024 * 1024};

const char curl[] = "POST /rpc HTTP/1.1\r\n"
                    "Host: 127.0.0.1:7412\r\n"
                    "User-Agent: curl/7.88.1\r\n"
                    "Accept: */*\r\n"
                    "Content-Type: application/json\r\n"
                    "Content-Length: 221\r\n\r\n";
const char hugai[] = "POST /rpc HTTP/1.1\r\n"
                     "Host: 127.0.0.1:7412\r\n"
                     "Content-Type: application/json\r\n"
                     "HugAI-Version: 2.0.0\r\n"
                     "Governance-Level: supervised\r\n"
                     "Request-Id: 4bf92f3577b34da6a3ce929d0e0e4736\r\n"
                     "Content-Length: 221\r\n\r\n";
const char browser[] = "POST /rpc HTTP/1.1\r\n"
                       "Host: localhost:7412\r\n"
                       "Connection: keep-alive\r\n"
                       "Content-Length: 221\r\n"
                       "sec-ch-ua: \"Not A(Brand\";v=\"99\", \"Chromium\";v=\"121\"\r\n"
                       "sec-ch-ua-platform: \"Linux\"\r\n"
                       "sec-ch-ua-mobile: ?0\r\n"
                       "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
                       "Chrome/121.0 Safari/537.36\r\n"
                       "Content-Type: application/json\r\n"
                       "Accept: */*\r\n"
                       "Origin: http://localhost:7412\r\n"
                       "Sec-Fetch-Site: same-origin\r\n"
                       "Sec-Fetch-Mode: cors\r\n"
                       "Sec-Fetch-Dest: empty\r\n"
                       "Referer: http://localhost:7412/\r\n"
                       "Accept-Encoding: gzip, deflate, br\r\n"
                       "Accept-Language: en-US,en;q=0.9\r\n\r\n";

std::string request_of(const char *head) {
    return std::string(head) + std::string(221, ' ');
}

// The scanner may change what it scans, but changes nothing of a body that isn't chunked.
void scan(benchmark::State &state, const char *head) {
    std::string text = request_of(head);
    auto *bytes = reinterpret_cast<uint8_t *>(text.data());
    for (auto _ : state) {
        struct unit unit;
        unit_begin(&unit);
        benchmark::DoNotOptimize(bytes);
        if (::http_scan(&unit, bytes, text.size(), &limits) != UNIT_WHOLE)
            state.SkipWithError("the request was not taken");
        benchmark::DoNotOptimize(unit);
    }
    state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(std::strlen(head)));
}

void read(benchmark::State &state, const char *head) {
    std::string text = request_of(head);
    auto *bytes = reinterpret_cast<uint8_t *>(text.data());
    struct unit unit;
    unit_begin(&unit);
    ::http_scan(&unit, bytes, text.size(), &limits);
    for (auto _ : state) {
        struct http_request request;
        benchmark::DoNotOptimize(bytes);
        ::http_read(bytes, &unit, &request);
        benchmark::DoNotOptimize(request);
    }
    state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(std::strlen(head)));
}

// All that happens to a request until it is a framed unit, and the copy that the loop needs.
void frame(benchmark::State &state, const char *head) {
    const std::string text = request_of(head);
    std::string copy = text;
    auto *bytes = reinterpret_cast<uint8_t *>(copy.data());
    for (auto _ : state) {
        struct unit unit;
        struct http_request request;
        unit_begin(&unit);
        std::memcpy(bytes, text.data(), text.size());
        ::http_scan(&unit, bytes, text.size(), &limits);
        ::http_read(bytes, &unit, &request);
        benchmark::DoNotOptimize(::http_make_framed(bytes, &unit));
        benchmark::DoNotOptimize(request);
    }
    state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(std::strlen(head)));
}

// A body of 64 KiB in chunks of so many bytes, and the copy that the loop needs.
void chunks(benchmark::State &state) {
    std::string text = "POST /rpc HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    char line[20];
    const auto size = static_cast<size_t>(state.range(0));
    for (size_t sum = 0; sum < 64 * 1024; sum += size)
        text.append(line, static_cast<size_t>(std::snprintf(line, sizeof line, "%zx\r\n", size)))
            .append(size, ' ')
            .append("\r\n");
    text += "0\r\n\r\n";
    std::string copy = text;
    for (auto _ : state) {
        struct unit unit;
        unit_begin(&unit);
        std::memcpy(copy.data(), text.data(), text.size());
        if (::http_scan(&unit, reinterpret_cast<uint8_t *>(copy.data()), copy.size(), &limits) != UNIT_WHOLE)
            state.SkipWithError("the request was not taken");
        benchmark::DoNotOptimize(unit);
    }
    state.SetBytesProcessed(state.iterations() * 64 * 1024);
}

BENCHMARK_CAPTURE(scan, curl, curl);
BENCHMARK_CAPTURE(scan, hugai, hugai);
BENCHMARK_CAPTURE(scan, browser, browser);
BENCHMARK_CAPTURE(read, curl, curl);
BENCHMARK_CAPTURE(read, hugai, hugai);
BENCHMARK_CAPTURE(read, browser, browser);
BENCHMARK_CAPTURE(frame, hugai, hugai);
BENCHMARK_CAPTURE(frame, browser, browser);
BENCHMARK(chunks)->Arg(16)->Arg(1024)->Arg(16 * 1024);

} // namespace
