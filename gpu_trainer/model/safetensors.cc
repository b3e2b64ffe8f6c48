#include "gpu_trainer/model/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "safetensors is little-endian");

// The reference implementation has the same limit.
constexpr uint64_t kHeaderBytesMax = 100'000'000;
constexpr size_t kLengthBytes = 8;

absl::Status Invalid(absl::string_view what) { return absl::InvalidArgumentError(what); }

// Returns the bytes of the shape's elements, or nothing when they pass 2^63.
std::optional<uint64_t> ShapeBytes(const std::vector<int64_t>& shape, int64_t element_bytes) {
  uint64_t bytes = static_cast<uint64_t>(element_bytes);
  for (const int64_t size : shape) {
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes)) return std::nullopt;
  }
  if (bytes > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
  return bytes;
}

bool IsUnsigned(const json& value) { return value.is_number_unsigned(); }

absl::StatusOr<SafetensorsEntry> ParseEntry(const std::string& name, const json& value) {
  auto fail = [&](absl::string_view what) {
    return Invalid(absl::StrCat("tensor \"", name, "\": ", what));
  };
  if (!value.is_object()) return fail("its description is not an object");
  for (const auto& [key, _] : value.items()) {
    if (key != "dtype" && key != "shape" && key != "data_offsets") {
      return fail(absl::StrCat("unknown key \"", key, "\""));
    }
  }
  if (!value.contains("dtype") || !value["dtype"].is_string()) return fail("dtype is missing");
  if (!value.contains("shape") || !value["shape"].is_array()) return fail("shape is missing");
  if (!value.contains("data_offsets") || !value["data_offsets"].is_array() ||
      value["data_offsets"].size() != 2) {
    return fail("data_offsets is not a pair");
  }
  SafetensorsEntry entry;
  entry.dtype = value["dtype"].get<std::string>();
  const int64_t element_bytes = SafetensorsDtypeBytes(entry.dtype);
  if (element_bytes == 0) return fail(absl::StrCat("unknown dtype \"", entry.dtype, "\""));
  for (const json& size : value["shape"]) {
    if (!IsUnsigned(size) || size.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) {
      return fail("shape holds something other than a size");
    }
    entry.shape.push_back(size.get<int64_t>());
  }
  if (!IsUnsigned(value["data_offsets"][0]) || !IsUnsigned(value["data_offsets"][1])) {
    return fail("data_offsets are not non-negative integers");
  }
  entry.begin = value["data_offsets"][0].get<uint64_t>();
  entry.end = value["data_offsets"][1].get<uint64_t>();
  const std::optional<uint64_t> bytes = ShapeBytes(entry.shape, element_bytes);
  if (!bytes || entry.end < entry.begin || entry.end - entry.begin != *bytes) {
    return fail(absl::StrCat("data_offsets ", entry.begin, " to ", entry.end,
                             " do not match its shape's ", bytes.value_or(0), " bytes"));
  }
  return entry;
}

// nlohmann's parser keeps the last of two equal keys; this callback sees both.
class DuplicateKeyFinder {
 public:
  bool operator()(int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) keys_.emplace_back();
    if (event == json::parse_event_t::object_end && !keys_.empty()) keys_.pop_back();
    if (event == json::parse_event_t::key && !keys_.empty() &&
        !keys_.back().insert(parsed.get<std::string>()).second && duplicate_.empty()) {
      duplicate_ = parsed.get<std::string>();
    }
    return true;
  }
  const std::string& duplicate() const { return duplicate_; }

 private:
  std::vector<std::set<std::string>> keys_;
  std::string duplicate_;
};

absl::Status WriteAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), std::min<size_t>(bytes.size(), 1u << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      if (errno == ENOSPC || errno == EDQUOT) {
        return absl::ResourceExhaustedError("the disk is full; free some space and try again");
      }
      return absl::ErrnoToStatus(errno, "write failed");
    }
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

uint64_t BytesOf(const SafetensorsTensor& tensor) {
  return ShapeBytes(tensor.shape, SafetensorsDtypeBytes(tensor.dtype)).value();
}

std::string HeaderOf(const std::vector<SafetensorsTensor>& tensors) {
  nlohmann::ordered_json header;
  header["__metadata__"] = {{"format", "pt"}};
  uint64_t offset = 0;
  for (const SafetensorsTensor& tensor : tensors) {
    const uint64_t end = offset + BytesOf(tensor);
    header[tensor.name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  // Spaces align the data to 8 bytes, as the reference writer does.
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

}  // namespace

int64_t SafetensorsDtypeBytes(absl::string_view dtype) {
  static const auto* const kBytes = new std::map<absl::string_view, int64_t>{
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1},
      {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
      {"U32", 4},  {"F32", 4}, {"F64", 8}, {"I64", 8},     {"U64", 8}};
  const auto it = kBytes->find(dtype);
  return it == kBytes->end() ? 0 : it->second;
}

absl::StatusOr<std::map<std::string, SafetensorsEntry>> ParseSafetensorsHeader(
    absl::string_view header, uint64_t data_bytes) {
  DuplicateKeyFinder duplicates;
  // Exceptions are off: a syntax error gives a discarded value, nothing is thrown.
  const json parsed = json::parse(header.begin(), header.end(), std::ref(duplicates), false);
  if (parsed.is_discarded() || !parsed.is_object()) {
    return Invalid("its header is not a JSON object");
  }
  if (!duplicates.duplicate().empty()) {
    return Invalid(absl::StrCat("the key \"", duplicates.duplicate(), "\" appears twice"));
  }
  std::map<std::string, SafetensorsEntry> entries;
  std::vector<std::pair<uint64_t, const std::string*>> order;
  for (const auto& [name, value] : parsed.items()) {
    if (name == "__metadata__") {
      if (!value.is_object()) return Invalid("__metadata__ is not an object");
      continue;
    }
    ASSIGN_OR_RETURN(SafetensorsEntry entry, ParseEntry(name, value));
    entries.emplace(name, std::move(entry));
  }
  for (const auto& [name, entry] : entries) order.emplace_back(entry.begin, &name);
  std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
    // Empty tensors come before the tensor that starts where they stand.
    return std::pair(a.first, entries[*a.second].end) < std::pair(b.first, entries[*b.second].end);
  });
  uint64_t covered = 0;
  for (const auto& [begin, name] : order) {
    if (begin != covered) {
      return Invalid(absl::StrCat("tensor \"", *name, "\" starts at byte ", begin, ", expected ",
                                  covered, begin < covered ? " (overlap)" : " (hole)"));
    }
    covered = entries[*name].end;
  }
  if (covered != data_bytes) {
    return Invalid(absl::StrCat("its tensors end at byte ", covered, " but the file holds ",
                                data_bytes, covered > data_bytes ? " (truncated)" : " (too long)"));
  }
  return entries;
}

absl::StatusOr<std::unique_ptr<SafetensorsFile>> SafetensorsFile::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  absl::Cleanup close_fd = [fd] { close(fd); };
  struct stat info;
  if (fstat(fd, &info) != 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot stat ", path));
  auto fail = [&](absl::string_view what) {
    return Invalid(absl::StrCat(path, " is not a valid safetensors file: ", what,
                                ". Copy or download it again."));
  };
  if (!S_ISREG(info.st_mode)) return fail("not a regular file");
  const size_t bytes = static_cast<size_t>(info.st_size);
  if (bytes < kLengthBytes) return fail(absl::StrCat("it has only ", bytes, " bytes"));

  auto file = std::unique_ptr<SafetensorsFile>(new SafetensorsFile());
  file->path_ = path;
  void* map = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
  if (map == MAP_FAILED) return absl::ErrnoToStatus(errno, absl::StrCat("cannot map ", path));
  file->map_ = static_cast<const char*>(map);
  file->map_bytes_ = bytes;
  uint64_t header_bytes;
  std::memcpy(&header_bytes, file->map_, kLengthBytes);
  if (header_bytes > kHeaderBytesMax || header_bytes > bytes - kLengthBytes) {
    return fail(absl::StrCat("its header claims ", header_bytes, " bytes of a file of ", bytes));
  }
  file->data_begin_ = kLengthBytes + header_bytes;
  auto entries = ParseSafetensorsHeader(absl::string_view(file->map_ + kLengthBytes, header_bytes),
                                        bytes - file->data_begin_);
  if (!entries.ok()) return fail(entries.status().message());
  file->entries_ = *std::move(entries);
  return file;
}

SafetensorsFile::~SafetensorsFile() {
  if (map_ != nullptr) munmap(const_cast<char*>(map_), map_bytes_);
}

absl::string_view SafetensorsFile::Bytes(const SafetensorsEntry& entry) const {
  return absl::string_view(map_ + data_begin_ + entry.begin, entry.end - entry.begin);
}

absl::Status WriteSafetensors(const std::string& path,
                              const std::vector<SafetensorsTensor>& tensors) {
  return WriteSafetensors(path, tensors, [&](size_t i) { return tensors[i].bytes; });
}

absl::Status WriteSafetensors(
    const std::string& path, const std::vector<SafetensorsTensor>& tensors,
    const std::function<absl::StatusOr<absl::string_view>(size_t i)>& bytes_of) {
  const std::string header = HeaderOf(tensors);
  const uint64_t header_bytes = header.size();
  char length[kLengthBytes];
  std::memcpy(length, &header_bytes, kLengthBytes);

  const std::string temp = path + ".tmp";
  const int fd = open(temp.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot create ", temp));
  absl::Status status = WriteAll(fd, absl::string_view(length, kLengthBytes));
  if (status.ok()) status = WriteAll(fd, header);
  for (size_t i = 0; status.ok() && i < tensors.size(); ++i) {
    const absl::StatusOr<absl::string_view> bytes = bytes_of(i);
    status = bytes.status();
    if (!status.ok()) break;
    CHECK(bytes->size() == BytesOf(tensors[i]));
    status = WriteAll(fd, *bytes);
  }
  if (status.ok() && fsync(fd) != 0) status = absl::ErrnoToStatus(errno, "fsync failed");
  if (close(fd) != 0 && status.ok()) status = absl::ErrnoToStatus(errno, "close failed");
  if (status.ok() && rename(temp.c_str(), path.c_str()) != 0) {
    status = absl::ErrnoToStatus(errno, "rename failed");
  }
  if (!status.ok()) {
    unlink(temp.c_str());
    return absl::Status(status.code(), absl::StrCat("cannot write ", path, ": ", status.message()));
  }
  return absl::OkStatus();
}

}  // namespace whetstone
