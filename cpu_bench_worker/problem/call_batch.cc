#include "cpu_bench_worker/problem/call_batch.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "common/philox.h"

namespace whetstone {
namespace {

constexpr size_t kLineBytes = 64;
constexpr size_t kPageBytes = 4096;

// The gap between two calls is less than this.
constexpr size_t kGapLines = 4;

size_t RoundUp(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

std::vector<CallWord> WordsOf(const Arguments& arguments, const CallShape& shape, CallRole role) {
  std::vector<CallWord> words;
  for (size_t i = 0; i < arguments.specs().size(); ++i) {
    const ArgumentSpec& spec = arguments.specs()[i];
    CallWord word;
    word.arg = static_cast<int>(i);
    if (spec.is_array() || spec.is_struct_value()) {
      word.alignment = spec.element.alignment;
      word.bytes = spec.is_array() ? static_cast<size_t>(shape.args[i].count) * spec.element.bytes
                                   : spec.element.bytes;
      switch (role) {
        case CallRole::kKernel:
          word.place = spec.is_output() ? WordPlace::kOutput : WordPlace::kInput;
          break;
        case CallRole::kGenerator:
          word.place = WordPlace::kOutput;
          break;
        case CallRole::kChecker:
          word.place = WordPlace::kInput;
          if (spec.kind == ArgumentKind::kInOut) {
            word.before = true;
            words.push_back(word);
            word.before = false;
          }
          break;
      }
    }
    words.push_back(word);
  }
  if (role == CallRole::kGenerator)
    words.push_back({.place = WordPlace::kScalar, .arg = kSeedWord});
  if (arguments.has_return() && role != CallRole::kGenerator) {
    const ElementLayout& returned = arguments.returned();
    const WordPlace place = role == CallRole::kKernel ? WordPlace::kOutput
                            : returned.is_struct()    ? WordPlace::kInput
                                                      : WordPlace::kScalar;
    words.push_back({.place = place,
                     .arg = kReturnWord,
                     .bytes = place == WordPlace::kScalar ? 0 : returned.bytes,
                     .alignment = returned.alignment});
  }
  if (role == CallRole::kChecker)
    words.push_back({.place = WordPlace::kOutput, .arg = kVerdictWord, .bytes = 1});
  return words;
}

CallBatch::CallBatch(const Arguments* arguments, const CallShape& shape, int calls,
                     Placement placement, CallRole role)
    : arguments_(arguments),
      shape_(shape),
      calls_(calls),
      unaligned_(placement.unaligned),
      words_(WordsOf(*arguments, shape, role)),
      shifts_(words_.size()),
      order_(static_cast<size_t>(calls)),
      offsets_(words_.size() * static_cast<size_t>(calls)),
      scalars_(offsets_.size()) {
  // The same random shift for an argument in every call keeps the calls alike.
  Philox rng(placement.seed, {0x91ACE, 0, 0, 0});
  for (size_t& s : shifts_) s = kLineBytes * rng.Below(kPageBytes / kLineBytes);
  std::iota(order_.begin(), order_.end(), 0);
  if (placement.last_array >= 0 && calls == 1) {
    ends_at_page_ = true;
    last_ = {ArrayIn(WordPlace::kInput, placement.last_array),
             ArrayIn(WordPlace::kOutput, placement.last_array)};
  }
  // The regions have room for the largest gaps.
  const bool shuffles = role == CallRole::kKernel && calls > 1;
  const std::array<size_t, 2> ends = LayOut([&] { return shuffles ? kGapLines - 1 : size_t{0}; });
  input_bytes_ = RoundUp(ends[0], kLineBytes);
  in_place_ = role == CallRole::kKernel && input_bytes_ > kInPlaceBytesMin;
  if (!in_place_) inputs_.assign(input_bytes_, '\0');
  outputs_.assign(RoundUp(ends[1], kLineBytes), static_cast<char>(kGuardByte));
}

size_t CallBatch::ArrayIn(WordPlace region, int number) const {
  std::vector<size_t> arrays;
  for (size_t s = 0; s < words_.size(); ++s) {
    const bool array = words_[s].place == region && words_[s].arg >= 0 &&
                       arguments_->specs()[static_cast<size_t>(words_[s].arg)].is_array();
    if (array) arrays.push_back(s);
  }
  return arrays.empty() ? SIZE_MAX : arrays[static_cast<size_t>(number) % arrays.size()];
}

std::array<size_t, 2> CallBatch::LayOut(const std::function<size_t()>& gap_lines) {
  std::array<size_t, 2> ends = {0, 0};
  for (const int call : order_) {
    std::array<bool, 2> begun = {false, false};
    for (size_t s = 0; s < words_.size(); ++s) {
      const CallWord& word = words_[s];
      if (word.place == WordPlace::kScalar || IsLast(s)) continue;
      const size_t region = word.place == WordPlace::kOutput ? 1 : 0;
      size_t& end = ends[region];
      if (!std::exchange(begun[region], true)) end += kLineBytes * gap_lines();
      size_t at = RoundUp(end, kLineBytes) + kGuardBytes + (call == order_[0] ? shifts_[s] : 0);
      if (unaligned_) at += word.alignment;
      offsets_[Index(call, s)] = at;
      end = at + word.bytes + kGuardBytes;
    }
  }
  for (const size_t region : {size_t{0}, size_t{1}}) {
    if (!ends_at_page() || last_[region] == SIZE_MAX) continue;
    const size_t bytes = words_[last_[region]].bytes;
    ends[region] = RoundUp(ends[region] + kGuardBytes + bytes, kPageBytes);
    offsets_[Index(order_[0], last_[region])] = ends[region] - bytes;
  }
  return ends;
}

void CallBatch::PlaceInputs(char* at, size_t offset) {
  placed_ = at;
  input_offset_ = offset;
}

void CallBatch::Fill(uint64_t key, FillStyle style) {
  if (calls_ > 1) {
    Philox rng(key, {0x0D3E, 0, 0, 0});
    for (size_t i = order_.size() - 1; i > 0; --i) std::swap(order_[i], order_[rng.Below(i + 1)]);
    LayOut([&] { return rng.Below(kGapLines); });
    std::fill(outputs_.begin(), outputs_.end(), static_cast<char>(kGuardByte));
  }
  Philox keys(key, {0xF111, 0, 0, 0});
  for (int call = 0; call < calls_; ++call) {
    for (size_t s = 0; s < words_.size(); ++s) {
      const CallWord& word = words_[s];
      const uint64_t own_key = keys.Next64();
      char* data = word.place == WordPlace::kOutput ? outputs_.data() : inputs();
      data += offset(call, s);
      if (word.arg == kReturnWord) {
        PoisonElements(arguments_->returned(), 1, own_key, data);
        continue;
      }
      const auto a = static_cast<size_t>(word.arg);
      const ArgumentSpec& spec = arguments_->specs()[a];
      if (spec.kind == ArgumentKind::kSize) {
        scalar(call, s) = static_cast<uint64_t>(shape_.args[a].value);
      } else if (word.place == WordPlace::kScalar) {
        scalar(call, s) = 0;
        FillElements(spec.element, shape_.args[a].fills, style, 1, own_key, &scalar(call, s));
      } else if (spec.kind == ArgumentKind::kOut) {
        PoisonElements(spec.element, shape_.args[a].count, own_key, data);
      } else if (!spec.fills.empty()) {
        const int64_t count = spec.is_array() ? shape_.args[a].count : 1;
        FillElements(spec.element, shape_.args[a].fills, style, count, own_key, data);
      }
    }
  }
}

void CallBatch::WriteTable(uint64_t input_address, uint64_t output_address, uint64_t* table) const {
  for (size_t i = 0; i < offsets_.size(); ++i) {
    switch (words_[i % words_.size()].place) {
      case WordPlace::kScalar:
        table[i] = scalars_[i];
        break;
      case WordPlace::kInput:
        table[i] = input_address + offsets_[i];
        break;
      case WordPlace::kOutput:
        table[i] = output_address + offsets_[i];
        break;
    }
  }
}

bool CallBatch::GuardsIntact(const char* got) const {
  size_t checked = 0;  // Everything below is an array or intact.
  const auto intact_until = [&](size_t at) {
    return std::memcmp(got + checked, outputs_.data() + checked, at - checked) == 0;
  };
  for (const int call : order_) {
    for (size_t s = 0; s < words_.size(); ++s) {
      if (words_[s].place != WordPlace::kOutput || IsLast(s)) continue;
      if (!intact_until(offset(call, s))) return false;
      checked = offset(call, s) + words_[s].bytes;
    }
  }
  if (last_[1] == SIZE_MAX) return intact_until(outputs_.size());
  return intact_until(offset(order_[0], last_[1]));
}

}  // namespace whetstone
