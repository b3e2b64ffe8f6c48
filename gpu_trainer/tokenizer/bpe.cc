#include "gpu_trainer/tokenizer/bpe.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <queue>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "gpu_trainer/tokenizer/byte_level.h"

namespace whetstone {
namespace {

using nlohmann::json;

uint64_t PairKey(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

absl::Status Fail(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("model: ", what));
}

// Refuses options that would change ids if they were ignored.
absl::Status RefuseUnsupported(const json& model) {
  if (model.value("type", "BPE") != "BPE") {
    return Fail(absl::StrCat("type ", model["type"].dump(), " is not supported; supported: BPE"));
  }
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (model.contains(key) && model[key].is_string() && !model[key].get<std::string>().empty()) {
      return Fail(absl::StrCat(key, " is not supported"));
    }
  }
  if (model.contains("dropout") && model["dropout"].is_number() &&
      model["dropout"].get<double>() != 0) {
    return Fail("dropout is not supported");
  }
  if (model.value("byte_fallback", false)) return Fail("byte_fallback is not supported");
  return absl::OkStatus();
}

absl::StatusOr<std::pair<std::string, std::string>> MergeParts(const json& merge) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return std::pair(merge[0].get<std::string>(), merge[1].get<std::string>());
  }
  if (merge.is_string()) {
    const std::string text = merge.get<std::string>();
    const size_t blank = text.find(' ');
    if (blank != std::string::npos && text.find(' ', blank + 1) == std::string::npos) {
      return std::pair(text.substr(0, blank), text.substr(blank + 1));
    }
  }
  return Fail(absl::StrCat("merge ", merge.dump(), " is not a pair"));
}

}  // namespace

absl::StatusOr<BytePairEncoder> BytePairEncoder::Parse(const json& model) {
  if (!model.is_object() || !model.contains("vocab") || !model["vocab"].is_object() ||
      !model.contains("merges") || !model["merges"].is_array()) {
    return Fail("no BPE model with vocab and merges");
  }
  RETURN_IF_ERROR(RefuseUnsupported(model));
  BytePairEncoder encoder;
  for (const auto& [token, id] : model["vocab"].items()) {
    if (!id.is_number_integer() || id.get<int64_t>() < 0 || id.get<int64_t>() > (1 << 28)) {
      return Fail(absl::StrCat("token ", json(token).dump(), " has the id ", id.dump()));
    }
    encoder.vocabulary_.emplace(token, id.get<int32_t>());
  }
  const auto& vocabulary = encoder.vocabulary_;
  int32_t rank = 0;
  for (const json& merge : model["merges"]) {
    ASSIGN_OR_RETURN(const auto parts, MergeParts(merge));
    const auto left = vocabulary.find(parts.first), right = vocabulary.find(parts.second),
               joined = vocabulary.find(parts.first + parts.second);
    if (left == vocabulary.end() || right == vocabulary.end() || joined == vocabulary.end()) {
      return Fail(absl::StrCat("merge ", merge.dump(), " is of a token that vocab lacks"));
    }
    // As in the reference, the last of two equal merges counts.
    encoder.merges_[PairKey(left->second, right->second)] = {rank++, joined->second};
  }
  for (size_t byte = 0; byte < 256; ++byte) {
    std::string symbol;
    AppendUtf8(ByteAlphabet()[byte], &symbol);
    const auto it = vocabulary.find(symbol);
    encoder.byte_ids_[byte] = it == vocabulary.end() ? -1 : it->second;
  }
  if (model.contains("unk_token") && model["unk_token"].is_string()) {
    const auto it = vocabulary.find(model["unk_token"].get<std::string>());
    if (it == vocabulary.end()) return Fail("unk_token is not in vocab");
    encoder.unknown_id_ = it->second;
    const bool whole = *std::min_element(encoder.byte_ids_.begin(), encoder.byte_ids_.end()) >= 0;
    if (!whole && model.value("fuse_unk", false)) {
      return Fail("fuse_unk with a vocab that lacks bytes is not supported");
    }
  }
  if (model.value("ignore_merges", false)) {
    for (const auto& [token, id] : vocabulary) {
      const auto bytes = BytesOfAlphabet(token);
      if (bytes) encoder.whole_.emplace(*bytes, id);
    }
  }
  return encoder;
}

void BytePairEncoder::Encode(absl::string_view piece, std::vector<int32_t>* ids) const {
  if (!whole_.empty()) {
    const auto it = whole_.find(std::string(piece));
    if (it != whole_.end()) {
      ids->push_back(it->second);
      return;
    }
  }
  std::vector<int32_t> symbols;
  symbols.reserve(piece.size());
  for (const char c : piece) {
    const int32_t id = byte_ids_[static_cast<unsigned char>(c)];
    if (id >= 0) {
      symbols.push_back(id);
    } else if (unknown_id_ >= 0) {
      symbols.push_back(unknown_id_);
    }
  }
  MergeAll(std::move(symbols), ids);
}

// The possible merges are queued over a doubly linked list, which takes n log n steps, so that a
// word of a million letters is no trap.
void BytePairEncoder::MergeAll(std::vector<int32_t> symbols, std::vector<int32_t>* ids) const {
  struct Link {
    int32_t prev, next;
  };
  struct Candidate {
    int32_t rank, position, left, right, joined;
    // The lowest rank comes first, and the leftmost among equals.
    bool operator<(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : position > other.position;
    }
  };
  const int32_t n = static_cast<int32_t>(symbols.size());
  std::vector<Link> links(symbols.size());
  std::priority_queue<Candidate> queue;
  auto consider = [&](int32_t position, int32_t next) {
    if (position < 0 || next >= n) return;
    const int32_t left = symbols[static_cast<size_t>(position)];
    const int32_t right = symbols[static_cast<size_t>(next)];
    const auto it = merges_.find(PairKey(left, right));
    if (it != merges_.end()) queue.push({it->second.rank, position, left, right, it->second.id});
  };
  for (int32_t i = 0; i < n; ++i) links[static_cast<size_t>(i)] = {i - 1, i + 1};
  for (int32_t i = 0; i + 1 < n; ++i) consider(i, i + 1);
  constexpr int32_t kGone = -1;
  while (!queue.empty()) {
    const Candidate merge = queue.top();
    queue.pop();
    const size_t position = static_cast<size_t>(merge.position);
    const int32_t next = links[position].next;
    // The merge is stale if one of the two has been joined with something else meanwhile.
    if (symbols[position] != merge.left || next >= n ||
        symbols[static_cast<size_t>(next)] != merge.right) {
      continue;
    }
    symbols[position] = merge.joined;
    symbols[static_cast<size_t>(next)] = kGone;
    const int32_t after = links[static_cast<size_t>(next)].next;
    links[position].next = after;
    if (after < n) links[static_cast<size_t>(after)].prev = merge.position;
    consider(links[position].prev, merge.position);
    consider(merge.position, after);
  }
  for (const int32_t symbol : symbols) {
    if (symbol != kGone) ids->push_back(symbol);
  }
}

}  // namespace whetstone
