#include "cpu_bench_worker/timing/recorded_timings.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace whetstone {
namespace {

constexpr absl::string_view kMagic = "WHETTIM1";
constexpr double kUnit = 1e-4;    // This is the unit of ln(ratio).
constexpr int kLargest = 32'000;  // This counts units.
// This limits sizes, pairs and samples in a file that is not damaged.
constexpr uint16_t kListMax = 4096;

void Put(uint16_t word, std::string* out) {
  out->push_back(static_cast<char>(word & 0xFF));
  out->push_back(static_cast<char>(word >> 8));
}

void PutLog(double ratio, std::string* out) {
  const double units =
      std::clamp(std::round(std::log(ratio) / kUnit), -1.0 * kLargest, 1.0 * kLargest);
  Put(static_cast<uint16_t>(static_cast<int16_t>(units)), out);
}

class Reader {
 public:
  explicit Reader(absl::string_view bytes) : bytes_(bytes) {}
  bool Take(uint16_t* word) {
    if (bytes_.size() < 2) return false;
    *word = static_cast<uint16_t>(static_cast<uint8_t>(bytes_[0]) |
                                  (static_cast<uint8_t>(bytes_[1]) << 8));
    bytes_.remove_prefix(2);
    return true;
  }
  bool TakeRatio(double* ratio) {
    uint16_t word = 0;
    if (!Take(&word)) return false;
    *ratio = std::exp(kUnit * static_cast<int16_t>(word));
    return true;
  }
  bool TakeLength(uint16_t* length) { return Take(length) && *length <= kListMax; }
  bool empty() const { return bytes_.empty(); }

 private:
  absl::string_view bytes_;
};

bool Decode(Reader* reader, RecordedTimings* timings) {
  uint16_t sizes = 0;
  if (!reader->TakeRatio(&timings->truth) || !reader->TakeLength(&sizes)) return false;
  timings->sizes.resize(sizes);
  for (PairedRatios& ratios : timings->sizes) {
    uint16_t pairs = 0;
    if (!reader->TakeLength(&pairs)) return false;
    ratios.resize(pairs);
    for (std::vector<double>& samples : ratios) {
      uint16_t count = 0;
      if (!reader->TakeLength(&count)) return false;
      samples.resize(count);
      for (double& ratio : samples)
        if (!reader->TakeRatio(&ratio)) return false;
    }
  }
  return reader->empty();
}

}  // namespace

std::string EncodeTimings(const RecordedTimings& timings) {
  std::string out(kMagic);
  PutLog(timings.truth, &out);
  Put(static_cast<uint16_t>(timings.sizes.size()), &out);
  for (const PairedRatios& ratios : timings.sizes) {
    Put(static_cast<uint16_t>(ratios.size()), &out);
    for (const std::vector<double>& samples : ratios) {
      Put(static_cast<uint16_t>(samples.size()), &out);
      for (const double ratio : samples) PutLog(ratio, &out);
    }
  }
  return out;
}

absl::StatusOr<RecordedTimings> DecodeTimings(absl::string_view bytes) {
  RecordedTimings timings;
  if (bytes.substr(0, kMagic.size()) == kMagic) {
    Reader reader(bytes.substr(kMagic.size()));
    if (Decode(&reader, &timings)) return timings;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("not a file of recorded timings, or cut short (", bytes.size(), " bytes)"));
}

}  // namespace whetstone
