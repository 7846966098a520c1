// The send stage with a real send behind it, by the frame's size, over TCP on loopback and over a Unix socket. Frames
// are copied together, sent from where they lie, or sent as outbox_gather does. The two curves cross at COPY_BYTES_MAX
// (core/base/limits.h). Another thread takes the bytes; CPU is this thread's own.
#include <benchmark/benchmark.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "bench/stage.h"

namespace {

enum Way { copied, vectors, gathered };

bool connect_tcp(int pair[2]) {
    int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    struct sockaddr_in address {};
    socklen_t bytes = sizeof address;
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto *any = reinterpret_cast<struct sockaddr *>(&address);
    pair[0] = socket(AF_INET, SOCK_STREAM, 0);
    bool good = bind(listener, any, bytes) == 0 && listen(listener, 1) == 0 &&
                getsockname(listener, any, &bytes) == 0 && connect(pair[0], any, bytes) == 0;
    pair[1] = good ? accept(listener, nullptr, nullptr) : -1;
    setsockopt(pair[0], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    close(listener);
    return pair[1] >= 0;
}

void drain(int socket) {
    std::vector<char> bytes(256 * 1024);
    while (recv(socket, bytes.data(), bytes.size(), 0) > 0) {
    }
}

void send_all(void *context, struct iovec *vectors, unsigned count) {
    struct msghdr message {};
    message.msg_iov = vectors;
    message.msg_iovlen = count;
    if (sendmsg(*static_cast<int *>(context), &message, MSG_NOSIGNAL | MSG_WAITALL) <= 0)
        abort();
}

void send_frames(benchmark::State &state, Way way, bool tcp) {
    int pair[2];
    if (!(tcp ? connect_tcp(pair) : socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0)) {
        state.SkipWithError("no sockets");
        return;
    }
    std::thread reader(drain, pair[1]);
    const auto frames = static_cast<uint32_t>(state.range(1));
    auto *stage = send_stage_open(static_cast<uint32_t>(state.range(0)), frames);
    std::vector<struct iovec> out(4 * size_t{frames});
    for (auto _ : state) {
        if (way == gathered)
            send_stage_gathered(stage, send_all, pair);
        else
            send_all(pair, out.data(),
                     way == copied ? send_stage_copied(stage, out.data())
                                   : send_stage_vectors(stage, out.data()));
    }
    state.SetItemsProcessed(state.iterations() * frames);
    send_stage_close(stage);
    shutdown(pair[0], SHUT_WR);
    reader.join();
    close(pair[0]);
    close(pair[1]);
}

void sizes(benchmark::internal::Benchmark *benchmark) {
    for (int frames : {16, 64})
        for (int bytes : {64, 256, 512, 1024, 2048, 4096})
            benchmark->Args({bytes, frames});
}

} // namespace

BENCHMARK_CAPTURE(send_frames, tcp_copied, copied, true)->Apply(sizes);
BENCHMARK_CAPTURE(send_frames, tcp_vectors, vectors, true)->Apply(sizes);
BENCHMARK_CAPTURE(send_frames, tcp_gathered, gathered, true)->Apply(sizes);
BENCHMARK_CAPTURE(send_frames, unix_copied, copied, false)->Apply(sizes);
BENCHMARK_CAPTURE(send_frames, unix_vectors, vectors, false)->Apply(sizes);
BENCHMARK_CAPTURE(send_frames, unix_gathered, gathered, false)->Apply(sizes);
