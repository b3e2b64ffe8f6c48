// TensorBoardWriter writes scalars for TensorBoard, in its event file format.
//
//   ASSIGN_OR_RETURN(auto writer, TensorBoardWriter::Create(run + "/tensorboard"));
//   RETURN_IF_ERROR(writer->Add(UnixSeconds(), 12, {{"reward", 0.43}}));
//
// The file is a TFRecord: per record a little-endian length (u64), its masked CRC-32C (u32), the
// bytes, and theirs. A record is a tensorflow.Event (tensorflow/core/util/event.proto): wall_time
// = 1 (double), step = 2 (int64), file_version = 3 (string, "brain.Event:2" in the first record),
// summary = 5 { value = 1 { tag = 1 (string), simple_value = 2 (float) } }. So few fields need no
// schema of TensorFlow's here: they are encoded by hand.
#ifndef WHETSTONE_COORDINATOR_REPORT_TENSORBOARD_H_
#define WHETSTONE_COORDINATOR_REPORT_TENSORBOARD_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace whetstone {

// Returns the CRC-32C (Castagnoli) as TFRecord wants it: rotated right by 15 bits plus 0xa282ead8.
uint32_t MaskedCrc32c(absl::string_view bytes);

// The class is not thread-safe.
class TensorBoardWriter {
 public:
  // Makes a new events.out.tfevents.* file in `folder`, which must exist.
  static absl::StatusOr<std::unique_ptr<TensorBoardWriter>> Create(const std::string& folder);
  ~TensorBoardWriter();
  // Writes one event with all scalars; values that are not finite are left out. `unix_time`: when
  // they came to be, seconds since 1970.
  absl::Status Add(double unix_time, int64_t step, const std::map<std::string, double>& scalars);

 private:
  TensorBoardWriter(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  absl::Status WriteRecord(const std::string& event);
  const std::string path_;
  const int fd_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_TENSORBOARD_H_
