// Byte-pair encoding of one piece of text (Sennrich et al., arXiv 1508.07909) joins the neighbours
// whose merge was learned first until none can be joined.
#ifndef WHETSTONE_GPU_TRAINER_TOKENIZER_BPE_H_
#define WHETSTONE_GPU_TRAINER_TOKENIZER_BPE_H_

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace whetstone {

// It is immutable and thread-safe after Parse.
class BytePairEncoder {
 public:
  // Reads the JSON value of "model". INVALID_ARGUMENT: not BPE, an option that changes ids and is
  // not supported, or a merge of tokens that the vocabulary lacks.
  static absl::StatusOr<BytePairEncoder> Parse(const nlohmann::json& model);

  // Appends the ids of `piece` (bytes, not the printable alphabet).
  void Encode(absl::string_view piece, std::vector<int32_t>* ids) const;

  // The tokens are as the file spells them.
  const std::unordered_map<std::string, int32_t>& vocabulary() const { return vocabulary_; }

 private:
  struct Merge {
    int32_t rank;
    int32_t id;
  };
  void MergeAll(std::vector<int32_t> symbols, std::vector<int32_t>* ids) const;

  std::unordered_map<std::string, int32_t> vocabulary_;
  std::unordered_map<std::string, int32_t> whole_;  // by bytes; only with ignore_merges
  std::unordered_map<uint64_t, Merge> merges_;      // by (left id, right id)
  std::array<int32_t, 256> byte_ids_{};             // -1: the vocabulary lacks this byte
  int32_t unknown_id_ = -1;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TOKENIZER_BPE_H_
