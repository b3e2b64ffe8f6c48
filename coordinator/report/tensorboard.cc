#include "coordinator/report/tensorboard.h"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/crc32c.h"
#include "common/host.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;
using google::protobuf::io::StringOutputStream;

std::string LittleEndian(uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
  return out;
}

}  // namespace

uint32_t MaskedCrc32c(absl::string_view bytes) {
  const uint32_t crc = Crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

absl::StatusOr<std::unique_ptr<TensorBoardWriter>> TensorBoardWriter::Create(
    const std::string& folder) {
  const std::string path =
      absl::StrCat(folder, "/events.out.tfevents.", static_cast<int64_t>(UnixSeconds()), ".",
                   Hostname(), ".", getpid());
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  std::unique_ptr<TensorBoardWriter> writer(new TensorBoardWriter(path, fd));
  std::string event;
  {
    StringOutputStream stream(&event);
    CodedOutputStream out(&stream);
    WireFormatLite::WriteDouble(1, UnixSeconds(), &out);
    WireFormatLite::WriteString(3, "brain.Event:2", &out);
  }
  RETURN_IF_ERROR(writer->WriteRecord(event));
  return writer;
}

TensorBoardWriter::~TensorBoardWriter() { close(fd_); }

absl::Status TensorBoardWriter::Add(double unix_time, int64_t step,
                                    const std::map<std::string, double>& scalars) {
  std::string summary;
  {
    StringOutputStream stream(&summary);
    CodedOutputStream out(&stream);
    for (const auto& [tag, number] : scalars) {
      if (!std::isfinite(number)) continue;
      std::string value;
      {
        StringOutputStream value_stream(&value);
        CodedOutputStream value_out(&value_stream);
        WireFormatLite::WriteString(1, tag, &value_out);
        WireFormatLite::WriteFloat(2, static_cast<float>(number), &value_out);
      }
      WireFormatLite::WriteBytes(1, value, &out);
    }
  }
  std::string event;
  {
    StringOutputStream stream(&event);
    CodedOutputStream out(&stream);
    WireFormatLite::WriteDouble(1, unix_time, &out);
    WireFormatLite::WriteInt64(2, step, &out);
    WireFormatLite::WriteBytes(5, summary, &out);
  }
  return WriteRecord(event);
}

absl::Status TensorBoardWriter::WriteRecord(const std::string& event) {
  const std::string length = LittleEndian(event.size(), 8);
  const std::string record = absl::StrCat(length, LittleEndian(MaskedCrc32c(length), 4), event,
                                          LittleEndian(MaskedCrc32c(event), 4));
  const ssize_t n = write(fd_, record.data(), record.size());
  if (n == static_cast<ssize_t>(record.size())) return absl::OkStatus();
  if (n >= 0 || errno == ENOSPC) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "cannot write ", path_,
        ": the disk is full; nothing is lost: free some space, then go on with whet resume"));
  }
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path_));
}

}  // namespace whetstone
