// How worker and screener talk: over a socket, each message four bytes of length (little-endian)
// and that much JSON. One answer follows one request.
#ifndef WHETSTONE_CPU_BENCH_WORKER_SCREEN_SCREEN_PROTOCOL_H_
#define WHETSTONE_CPU_BENCH_WORKER_SCREEN_SCREEN_PROTOCOL_H_

#include <chrono>
#include <string>

namespace whetstone {

// The screener's end of the socket.
inline constexpr int kScreenerFd = 3;
inline constexpr size_t kScreenMessageBytesMax = size_t{4} << 20;
// CPU seconds that reading one candidate may take.
inline constexpr int kScreenSeconds = 5;

// False: the peer has gone, the deadline passed, or the message is too long.
bool SendFrame(int fd, const std::string& text);
bool ReceiveFrame(int fd, std::chrono::milliseconds deadline, std::string* text);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_SCREEN_SCREEN_PROTOCOL_H_
