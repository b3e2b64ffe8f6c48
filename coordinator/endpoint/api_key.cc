#include "coordinator/endpoint/api_key.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/file.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

constexpr size_t kKeyBytesMax = 4096;

absl::StatusOr<std::string> CheckedKey(std::string key, const std::string& where) {
  absl::StripAsciiWhitespace(&key);
  if (key.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(where, " holds no key; it is empty"));
  }
  if (key.size() > kKeyBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, " holds more than ", kKeyBytesMax, " bytes: that is no key"));
  }
  const auto printable = [](char c) { return absl::ascii_isgraph(static_cast<unsigned char>(c)); };
  if (!std::all_of(key.begin(), key.end(), printable)) {
    return absl::InvalidArgumentError(
        absl::StrCat(where,
                     " holds white space, control characters or other than ASCII within the "
                     "key; is it one line with the key alone?"));
  }
  return key;
}

}  // namespace

absl::StatusOr<std::string> ReadApiKey(const KeySource& source) {
  if (!source.environment_variable.empty() && !source.file.empty()) {
    return absl::InvalidArgumentError(
        "give the key by policy.key_env or policy.key_file, not both");
  }
  if (!source.environment_variable.empty()) {
    const std::string where =
        absl::StrCat("the environment variable ", source.environment_variable, " (policy.key_env)");
    const char* const value = std::getenv(source.environment_variable.c_str());
    if (value == nullptr) return absl::InvalidArgumentError(absl::StrCat(where, " is not set"));
    return CheckedKey(value, where);
  }
  if (source.file.empty()) return std::string();
  const absl::StatusOr<std::string> text = ReadFile(source.file);
  if (!text.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("policy.key_file: ", text.status().message()));
  }
  return CheckedKey(*text, absl::StrCat("the file ", source.file, " (policy.key_file)"));
}

std::string WithoutKey(absl::string_view text, const std::string& key) {
  if (key.empty()) return std::string(text);
  // As it is, and as JSON may write it.
  const std::string slashes = absl::StrReplaceAll(key, {{"/", "\\/"}});
  const std::string escapes = absl::StrReplaceAll(key, {{"=", "\\u003d"}, {"+", "\\u002b"}});
  return absl::StrReplaceAll(text, {{key, "[key]"}, {slashes, "[key]"}, {escapes, "[key]"}});
}

}  // namespace whetstone
