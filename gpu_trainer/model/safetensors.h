// The safetensors file format is 8 bytes little-endian header length, a JSON header that maps
// tensor names to {dtype, shape, data_offsets}, then the bytes.
// (github.com/huggingface/safetensors.)
//
//   ASSIGN_OR_RETURN(auto file, SafetensorsFile::Open(path));
//   for (const auto& [name, entry] : file->entries()) use(name, entry.shape, file->Bytes(entry));
//
// Hostile or damaged files are an error that names file and tensor: the header must be exact JSON
// without duplicate keys, every tensor's bytes must match its shape, and the tensors must cover the
// data without hole or overlap.
#ifndef WHETSTONE_GPU_TRAINER_MODEL_SAFETENSORS_H_
#define WHETSTONE_GPU_TRAINER_MODEL_SAFETENSORS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace whetstone {

struct SafetensorsEntry {
  std::string dtype;  // "F32", "BF16", "F16", "I64", …
  std::vector<int64_t> shape;
  uint64_t begin = 0;  // bytes from the start of the data section
  uint64_t end = 0;
};

// It is a mapped file, read-only. Thread-safe. The file must not be truncated while it is open.
class SafetensorsFile {
 public:
  // NOT_FOUND and the like from the system; INVALID_ARGUMENT: not a valid safetensors file.
  static absl::StatusOr<std::unique_ptr<SafetensorsFile>> Open(const std::string& path);
  ~SafetensorsFile();
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  const std::string& path() const { return path_; }
  const std::map<std::string, SafetensorsEntry>& entries() const { return entries_; }
  // The bytes are valid while this object lives, and not necessarily aligned.
  absl::string_view Bytes(const SafetensorsEntry& entry) const;

 private:
  SafetensorsFile() = default;
  std::string path_;
  const char* map_ = nullptr;
  size_t map_bytes_ = 0;
  size_t data_begin_ = 0;
  std::map<std::string, SafetensorsEntry> entries_;
};

// Does the header's part of Open on bytes: `header` is the JSON alone, `data_bytes` what follows
// it.
absl::StatusOr<std::map<std::string, SafetensorsEntry>> ParseSafetensorsHeader(
    absl::string_view header, uint64_t data_bytes);

// Returns the bytes of one element; 0 for an unknown dtype.
int64_t SafetensorsDtypeBytes(absl::string_view dtype);

// A SafetensorsTensor says what to write: `bytes` is borrowed until the call returns.
struct SafetensorsTensor {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  absl::string_view bytes;
};

// Writes PATH.tmp, fsyncs and renames over PATH; nothing is left behind after a failure. Metadata
// is {"format": "pt"}, which transformers asks for. RESOURCE_EXHAUSTED: disk full.
absl::Status WriteSafetensors(const std::string& path,
                              const std::vector<SafetensorsTensor>& tensors);
// Does the same for tensors that are made one by one: bytes_of(i) is asked once for each, in order,
// and what it returns is borrowed until the next. Their `bytes` are not looked at.
absl::Status WriteSafetensors(
    const std::string& path, const std::vector<SafetensorsTensor>& tensors,
    const std::function<absl::StatusOr<absl::string_view>(size_t i)>& bytes_of);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_MODEL_SAFETENSORS_H_
