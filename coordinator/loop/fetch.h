// Brings a checkpoint from the trainer's filesystem to this one, every byte verified.
//
//   FetchHooks hooks;
//   hooks.read = [&](const std::string& file, int64_t offset, int64_t length) { … };
//   ASSIGN_OR_RETURN(const Fetched fetched,
//                    FetchCheckpoint(entry.checksum, paths.checkpoints() + "/step-12", hooks));
//
// All or nothing: files are written to DIR.part, which is renamed to DIR when all of them have the
// size and SHA-256 of the checkpoint's own list, and that list the checksum that the journal
// recorded when it was saved. A fetch that was cut off goes on where it ended.
#ifndef WHETSTONE_COORDINATOR_LOOP_FETCH_H_
#define WHETSTONE_COORDINATOR_LOOP_FETCH_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"

namespace whetstone {

struct FetchHooks {
  // Reads at most `length` bytes of one of the checkpoint's files; fewer at its end only.
  // UNAVAILABLE and DEADLINE_EXCEEDED are tried again.
  std::function<absl::StatusOr<std::string>(const std::string& file, int64_t offset,
                                            int64_t length)>
      read;
  // Waits a moment before each further try. An error (CANCELLED) ends the fetch.
  std::function<absl::Status(const absl::Status& why)> wait;
  // Hears how many bytes have come and how many there are. It may be empty.
  std::function<void(int64_t done, int64_t total)> on_progress;
};

struct Fetched {
  int64_t bytes = 0;         // of the checkpoint
  bool was_here = false;     // nothing was fetched: `to` already held it
  int64_t bytes_before = 0;  // of an earlier fetch that was cut off
};

// `checksum` is CheckpointEntry::checksum; the directory `to` is made with its parents.
// DATA_LOSS: the checkpoint over there is not the one that was saved, or what arrived is not what
// its list says (the file is named and will be fetched anew). ALREADY_EXISTS: `to` is something
// else. RESOURCE_EXHAUSTED: no room. And what `read` and `wait` return.
absl::StatusOr<Fetched> FetchCheckpoint(const std::string& checksum, const std::string& to,
                                        const FetchHooks& hooks);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_LOOP_FETCH_H_
