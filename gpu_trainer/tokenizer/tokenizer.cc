#include "gpu_trainer/tokenizer/tokenizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "gpu_trainer/tokenizer/added_tokens.h"
#include "gpu_trainer/tokenizer/bpe.h"
#include "gpu_trainer/tokenizer/byte_level.h"
#include "gpu_trainer/tokenizer/pre_tokenizer.h"

namespace whetstone {
namespace {

using nlohmann::json;

// Tells whether the text is normalised to NFC.
absl::StatusOr<bool> ParseNormalizer(const json& value) {
  if (value.is_null()) return false;
  const std::string type = value.value("type", "");
  if (type == "NFC") return true;
  if (type == "Sequence") {
    bool nfc = false;
    for (const json& part : value.value("normalizers", json::array())) {
      ASSIGN_OR_RETURN(const bool one, ParseNormalizer(part));
      nfc = nfc || one;
    }
    return nfc;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("normalizer ", type, " is not supported; supported: NFC or none"));
}

// Decode joins the bytes of tokens, whatever the file says; so it must say just that.
absl::Status CheckDecoder(const json& value) {
  if (value.is_null() || value.value("type", "") == "ByteLevel") return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("decoder ", value.value("type", value.dump()),
                                                 " is not supported; supported: ByteLevel"));
}

std::string Nfc(const std::string& text) {
  const bool ascii = std::all_of(text.begin(), text.end(), [](char c) { return c >= 0; });
  if (ascii) return text;
  utf8proc_uint8_t* out = nullptr;
  const utf8proc_ssize_t bytes =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &out,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  if (bytes < 0) return text;  // Memory is short; the input is valid.
  std::string result(reinterpret_cast<char*>(out), static_cast<size_t>(bytes));
  std::free(out);
  return result;
}

}  // namespace

struct Tokenizer::Impl {
  AddedTokenMatcher raw_added, normalized_added;
  bool nfc = false;
  std::unique_ptr<PreTokenizer> pre_tokenizer;
  BytePairEncoder bpe;
  std::unordered_map<std::string, int32_t> added_ids;
  std::vector<std::string> bytes;  // By id.
  std::vector<bool> special;       // By id.

  absl::Status Fill(const json& root);
};

absl::Status Tokenizer::Impl::Fill(const json& root) {
  if (!root.contains("model")) return absl::InvalidArgumentError("the key \"model\" is missing");
  ASSIGN_OR_RETURN(bpe, BytePairEncoder::Parse(root["model"]));
  ASSIGN_OR_RETURN(pre_tokenizer, MakePreTokenizer(root.value("pre_tokenizer", json())));
  ASSIGN_OR_RETURN(nfc, ParseNormalizer(root.value("normalizer", json())));
  RETURN_IF_ERROR(CheckDecoder(root.value("decoder", json())));
  ASSIGN_OR_RETURN(const std::vector<AddedToken> added,
                   ParseAddedTokens(root.value("added_tokens", json::array())));
  int32_t highest = -1;
  for (const auto& [token, id] : bpe.vocabulary()) highest = std::max(highest, id);
  for (const AddedToken& token : added) highest = std::max(highest, token.id);
  if (highest < 0 || highest > (1 << 28)) {
    return absl::InvalidArgumentError("the vocabulary is empty or its ids are absurd");
  }
  bytes.resize(static_cast<size_t>(highest) + 1);
  special.resize(bytes.size());
  for (const auto& [token, id] : bpe.vocabulary()) {
    bytes[static_cast<size_t>(id)] = BytesOfToken(token);
  }
  for (const AddedToken& token : added) {
    const auto known = bpe.vocabulary().find(token.content);
    if (known != bpe.vocabulary().end() && known->second != token.id) {
      return absl::InvalidArgumentError(absl::StrCat("added token ", json(token.content).dump(),
                                                     " has the id ", token.id, ", but ",
                                                     known->second, " in vocab"));
    }
    const size_t id = static_cast<size_t>(token.id);
    bytes[id] = BytesOfToken(token.content);
    special[id] = token.special;
    added_ids[token.content] = token.id;
    if (token.normalized) {
      normalized_added.Add(nfc ? Nfc(token.content) : token.content, token);
    } else {
      raw_added.Add(token.content, token);
    }
  }
  return absl::OkStatus();
}

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::~Tokenizer() = default;

absl::StatusOr<std::unique_ptr<Tokenizer>> Tokenizer::Parse(absl::string_view text,
                                                            const std::string& where) {
  const json root = json::parse(text.begin(), text.end(), nullptr, false);
  if (root.is_discarded() || !root.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, " is not a JSON object: damaged? Copy or download it again."));
  }
  auto impl = std::make_unique<Impl>();
  absl::Status status;
  try {
    status = impl->Fill(root);
    // A value may be of another type than its key promises.
  } catch (const json::exception& error) {
    status = absl::InvalidArgumentError(error.what());
  }
  if (!status.ok()) {
    return absl::Status(status.code(), absl::StrCat(where, ": ", status.message()));
  }
  return std::unique_ptr<Tokenizer>(new Tokenizer(std::move(impl)));
}

absl::StatusOr<std::unique_ptr<Tokenizer>> Tokenizer::Load(const std::string& directory) {
  const std::string path = directory + "/tokenizer.json";
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return Parse(text, path);
}

std::vector<int32_t> Tokenizer::Encode(absl::string_view text) const {
  std::vector<int32_t> ids;
  if (text.empty()) return ids;
  std::vector<Segment> segments = {{ToValidUtf8(text), -1}};
  impl_->raw_added.Cut(&segments);
  if (impl_->nfc) {
    for (Segment& segment : segments) segment.text = Nfc(segment.text);
  }
  impl_->normalized_added.Cut(&segments);
  for (Segment& segment : segments) {
    if (segment.id >= 0) {
      ids.push_back(segment.id);
      continue;
    }
    std::vector<std::string> pieces = {std::move(segment.text)};
    impl_->pre_tokenizer->Cut(&pieces);
    for (const std::string& piece : pieces) impl_->bpe.Encode(piece, &ids);
  }
  return ids;
}

std::string Tokenizer::Normalized(absl::string_view text) const {
  return impl_->nfc ? Nfc(ToValidUtf8(text)) : ToValidUtf8(text);
}

std::string Tokenizer::Decode(const std::vector<int32_t>& ids, Special special) const {
  std::string bytes;
  for (const int32_t id : ids) {
    if (special == kSkipSpecial && IsSpecial(id)) continue;
    const absl::string_view token = TokenBytes(id);
    bytes.append(token.data(), token.size());
  }
  return ToValidUtf8(bytes);
}

absl::string_view Tokenizer::TokenBytes(int32_t id) const {
  if (id < 0 || id >= size()) return "";
  return impl_->bytes[static_cast<size_t>(id)];
}

bool Tokenizer::IsSpecial(int32_t id) const {
  return id >= 0 && id < size() && impl_->special[static_cast<size_t>(id)];
}

std::optional<int32_t> Tokenizer::IdOf(absl::string_view token) const {
  const std::string key(token);
  if (const auto it = impl_->added_ids.find(key); it != impl_->added_ids.end()) return it->second;
  const auto& vocabulary = impl_->bpe.vocabulary();
  if (const auto it = vocabulary.find(key); it != vocabulary.end()) return it->second;
  return std::nullopt;
}

int32_t Tokenizer::size() const { return static_cast<int32_t>(impl_->bytes.size()); }

}  // namespace whetstone
