// A TCP relay between an SSH client and its server, with delay and faults on demand.
#ifndef WHETSTONE_TESTS_SYSTEM_TCP_RELAY_H_
#define WHETSTONE_TESTS_SYSTEM_TCP_RELAY_H_

#include <atomic>
#include <chrono>
#include <deque>
#include <limits>
#include <list>
#include <string>
#include <thread>

#include "coordinator/tunnel/sockets.h"

namespace whetstone {

// Thread-safe.
class TcpRelay {
 public:
  // Listens on any free port of `address` and passes what comes on to 127.0.0.1:`to_port`, and
  // back, every byte `one_way` later.
  TcpRelay(const char* address, int to_port,
           std::chrono::milliseconds one_way = std::chrono::milliseconds(0));
  ~TcpRelay();

  int port() const { return port_; }
  // Counts those accepted so far, refused ones included.
  int connections() const { return connections_; }
  // Ends every connection at once / those to come as soon as they are made.
  void Cut() { cut_ = true; }
  void Refuse(bool refuse) { refuse_ = refuse; }
  // Ends each connection once the server has said so many pieces on it: what came together.
  void CutAfter(int pieces) { cut_after_ = pieces; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Piece {
    Clock::time_point due;
    std::string bytes;  // empty: the end
  };
  // What one side said and the other has not heard yet.
  struct Way {
    int from = -1;
    int to = -1;
    std::deque<Piece> pieces;
    bool ended = false;  // `from` says no more
    bool full = false;   // `to` takes nothing now
    int passed = 0;      // pieces that `to` has
  };
  struct Link {
    UniqueFd near;
    UniqueFd far;
    Way there;
    Way back;
  };

  void Run();
  void Accept();
  // False: the connection is over.
  bool Take(Way& way) const;
  bool Give(Way& way) const;

  const int to_port_;
  const std::chrono::milliseconds one_way_;
  int port_ = 0;
  UniqueFd listener_;
  std::atomic<int> connections_{0};
  std::atomic<bool> cut_{false};
  std::atomic<bool> refuse_{false};
  std::atomic<int> cut_after_{std::numeric_limits<int>::max()};
  std::atomic<bool> stop_{false};
  std::list<Link> links_;  // only the thread's
  std::thread thread_;
};

}  // namespace whetstone

#endif  // WHETSTONE_TESTS_SYSTEM_TCP_RELAY_H_
