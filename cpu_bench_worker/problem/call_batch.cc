#include "cpu_bench_worker/problem/call_batch.h"

#include <algorithm>
#include <cstring>

#include "common/philox.h"

namespace whetstone {
namespace {

constexpr size_t kLineBytes = 64;
constexpr size_t kPageBytes = 4096;

// Alignment, guards and the random shift add at most this per array.
constexpr size_t kSlackBytes = kPageBytes + 4 * kLineBytes;

size_t RoundUp(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

size_t RegionBytesMax(const Arguments& arguments, const CallShape& shape, int calls,
                      WordPlace place) {
  size_t bytes = 0;
  for (const CallWord& word : WordsOf(arguments, shape, CallRole::kKernel))
    if (word.place == place)
      bytes += static_cast<size_t>(calls) * (word.bytes + 4 * kLineBytes) + kSlackBytes;
  return RoundUp(bytes, kPageBytes);
}

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
      words_(WordsOf(*arguments, shape, role)),
      offsets_(words_.size() * static_cast<size_t>(calls)),
      scalars_(offsets_.size()) {
  // The same random shift for an argument in every call keeps the calls alike.
  Philox rng(placement.seed, {0x91ACE, 0, 0, 0});
  std::vector<size_t> shift(words_.size());
  for (size_t& s : shift) s = kLineBytes * rng.Below(kPageBytes / kLineBytes);
  size_t used[2] = {0, 0};
  for (int call = 0; call < calls; ++call) {
    for (size_t s = 0; s < words_.size(); ++s) {
      const CallWord& word = words_[s];
      if (word.place == WordPlace::kScalar) continue;
      size_t& end = used[word.place == WordPlace::kOutput];
      size_t at = RoundUp(end, kLineBytes) + kGuardBytes + (call == 0 ? shift[s] : 0);
      if (placement.unaligned) at += word.alignment;
      offsets_[Index(call, s)] = at;
      end = at + word.bytes + kGuardBytes;
    }
  }
  input_bytes_ = RoundUp(used[0], kLineBytes);
  in_place_ = role == CallRole::kKernel && input_bytes_ > kInPlaceBytesMin;
  if (!in_place_) inputs_.assign(input_bytes_, '\0');
  outputs_.assign(RoundUp(used[1], kLineBytes), static_cast<char>(kGuardByte));
}

void CallBatch::PlaceInputs(char* at, size_t offset) {
  placed_ = at;
  input_offset_ = offset;
}

void CallBatch::Fill(uint64_t key, FillStyle style) {
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
        FillElements(spec.element, spec.fills, style, 1, own_key, &scalar(call, s));
      } else if (spec.kind == ArgumentKind::kOut) {
        PoisonElements(spec.element, shape_.args[a].count, own_key, data);
      } else if (!spec.fills.empty()) {
        const int64_t count = spec.is_array() ? shape_.args[a].count : 1;
        FillElements(spec.element, spec.fills, style, count, own_key, data);
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
  for (size_t i = 0; i < offsets_.size(); ++i) {
    const CallWord& word = words_[i % words_.size()];
    if (word.place != WordPlace::kOutput) continue;
    if (std::memcmp(got + checked, outputs_.data() + checked, offsets_[i] - checked) != 0)
      return false;
    checked = offsets_[i] + word.bytes;
  }
  return std::memcmp(got + checked, outputs_.data() + checked, outputs_.size() - checked) == 0;
}

size_t InputBytesMax(const Arguments& arguments, const CallShape& shape, int calls) {
  return RegionBytesMax(arguments, shape, calls, WordPlace::kInput);
}

size_t OutputBytesMax(const Arguments& arguments, const CallShape& shape, int calls) {
  return RegionBytesMax(arguments, shape, calls, WordPlace::kOutput);
}

}  // namespace whetstone
