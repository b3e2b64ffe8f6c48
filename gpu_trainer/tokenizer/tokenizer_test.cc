#include "gpu_trainer/tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/philox.h"
#include "common/utf8.h"
#include "gpu_trainer/tokenizer/byte_level.h"

namespace whetstone {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The tokenizer has all bytes, four merges and two added tokens.
json Description() {
  json vocab;
  for (size_t byte = 0; byte < 256; ++byte) {
    std::string symbol;
    AppendUtf8(ByteAlphabet()[byte], &symbol);
    vocab[symbol] = byte;
  }
  vocab["ab"] = 256;
  vocab["abc"] = 257;
  vocab["bc"] = 258;
  vocab["Ġab"] = 259;
  return {{"model",
           {{"type", "BPE"},
            {"vocab", vocab},
            {"merges", json::array({"b c", "a b", json::array({"ab", "c"}), "Ġ ab"})}}},
          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
          {"added_tokens",
           {{{"id", 300}, {"content", "<s>"}, {"special", true}, {"normalized", false}},
            {{"id", 301}, {"content", "<s>x"}, {"special", false}, {"normalized", false}}}}};
}

std::unique_ptr<Tokenizer> Make(const json& description) {
  auto tokenizer = Tokenizer::Parse(description.dump(), "test.json");
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  return *std::move(tokenizer);
}

std::string Message(const json& description) {
  const auto tokenizer = Tokenizer::Parse(description.dump(), "test.json");
  EXPECT_EQ(tokenizer.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(tokenizer.status().message());
}

TEST(TokenizerTest, MergesInTheOrderTheyWereLearned) {
  const auto tokenizer = Make(Description());
  EXPECT_THAT(tokenizer->Encode("abc"), ElementsAre('a', 258));  // "b c" is older than "a b".
  EXPECT_THAT(tokenizer->Encode("abab"), ElementsAre(256, 256));
  EXPECT_THAT(tokenizer->Encode("x ab"), ElementsAre('x', 259));
  EXPECT_THAT(tokenizer->Encode(""), IsEmpty());
  EXPECT_EQ(tokenizer->size(), 302);
}

TEST(TokenizerTest, IgnoreMergesTakesWholeWords) {
  json description = Description();
  description["model"]["ignore_merges"] = true;
  EXPECT_THAT(Make(description)->Encode("abc"), ElementsAre(257));
}

TEST(TokenizerTest, AddedTokensAreMatchedInTextLongestFirst) {
  const auto tokenizer = Make(Description());
  EXPECT_THAT(tokenizer->Encode("a<s>b<s>x<s"), ElementsAre('a', 300, 'b', 301, '<', 's'));
  EXPECT_TRUE(tokenizer->IsSpecial(300));
  EXPECT_FALSE(tokenizer->IsSpecial(301));
  EXPECT_FALSE(tokenizer->IsSpecial(-1));
  EXPECT_EQ(tokenizer->IdOf("<s>"), 300);
  EXPECT_EQ(tokenizer->IdOf("nothing"), std::nullopt);
  EXPECT_EQ(tokenizer->Decode({'a', 300, 'b'}, Tokenizer::kSkipSpecial), "ab");
  EXPECT_EQ(tokenizer->Decode({'a', 300, 'b'}, Tokenizer::kKeepSpecial), "a<s>b");
}

// Each flag does what it does in the reference; tests/conformance/tokenizer_conformance.py compares
// thousands of texts with it.
TEST(TokenizerTest, FlagsOfAddedTokens) {
  json description = Description();
  const auto add = [&](int id, const char* content, const char* flag, bool normalized) {
    description["added_tokens"].push_back(
        {{"id", id}, {"content", content}, {flag, true}, {"normalized", normalized}});
  };
  add(310, "<l>", "lstrip", false);
  add(311, "<r>", "rstrip", false);
  add(312, "one", "single_word", false);
  add(313, "<s>y", "special", true);
  const auto tokenizer = Make(description);
  EXPECT_THAT(tokenizer->Encode("a \u2003<l> b"), ElementsAre('a', 310, ' ', 'b'));
  EXPECT_THAT(tokenizer->Encode("a <r> \n b"), ElementsAre('a', ' ', 311, 'b'));
  EXPECT_THAT(tokenizer->Encode("<r>  <l>"), ElementsAre(311, 310));
  EXPECT_THAT(tokenizer->Encode("(one)"), ElementsAre('(', 312, ')'));
  EXPECT_THAT(tokenizer->Encode("ones"), ElementsAre('o', 'n', 'e', 's'));
  EXPECT_THAT(tokenizer->Encode("_one"), ElementsAre('_', 'o', 'n', 'e'));
  // Tokens of the raw text come first, even where a longer one of the normalised text starts.
  EXPECT_THAT(tokenizer->Encode("<s>y"), ElementsAre(300, 'y'));
}

TEST(TokenizerTest, DecodingNeverFails) {
  const auto tokenizer = Make(Description());
  EXPECT_EQ(tokenizer->Decode({-5, 299, 1 << 30, 'o', 'k'}, Tokenizer::kKeepSpecial), "ok");
  Philox rng(1, {0, 0, 0, 0});
  for (int i = 0; i < 500; ++i) {
    std::vector<int32_t> ids;
    for (int j = 0; j < 20; ++j) ids.push_back(static_cast<int32_t>(rng.Below(310)));
    const std::string text = tokenizer->Decode(ids, Tokenizer::kKeepSpecial);
    EXPECT_EQ(ToValidUtf8(text), text);
    // Token by token the text is the same, and valid at every step.
    Utf8Stream stream;
    std::string streamed;
    for (const int32_t id : ids) {
      stream.Take(tokenizer->TokenBytes(id), &streamed);
      EXPECT_EQ(ToValidUtf8(streamed), streamed);
    }
    stream.Finish(&streamed);
    EXPECT_EQ(streamed, text);
  }
}

TEST(TokenizerTest, BytesRoundTrip) {
  const auto tokenizer = Make(Description());
  for (const char* text :
       {"plain", "é日本🤦🏽‍♂️", "\t\r\n \x01\x7f", "a  b   c\n\n\n"}) {
    EXPECT_EQ(tokenizer->Decode(tokenizer->Encode(text), Tokenizer::kKeepSpecial), text);
  }
  EXPECT_EQ(tokenizer->Decode(tokenizer->Encode("a\xff\xe3\x81"), Tokenizer::kKeepSpecial),
            "a\uFFFD\uFFFD");
}

TEST(TokenizerTest, AVeryLongWordIsNoTrap) {
  const auto tokenizer = Make(Description());
  const std::string word(300000, 'a');
  EXPECT_EQ(tokenizer->Encode(word).size(), word.size());
  EXPECT_EQ(tokenizer->Encode(std::string(300000, ' ')).size(), word.size());
}

TEST(TokenizerTest, WhatWouldChangeIdsIsRefused) {
  json description = Description();
  description["normalizer"] = {{"type", "Lowercase"}};
  EXPECT_THAT(Message(description), HasSubstr("normalizer Lowercase is not supported"));
  description = Description();
  description["pre_tokenizer"] = {{"type", "Metaspace"}};
  EXPECT_THAT(Message(description), HasSubstr("Metaspace is not supported"));
  description = Description();
  description["pre_tokenizer"] = {
      {"type", "Split"}, {"pattern", {{"Regex", "("}}}, {"behavior", "Isolated"}};
  EXPECT_THAT(Message(description), HasSubstr("is not valid at"));
  description["pre_tokenizer"]["behavior"] = "Removed";
  EXPECT_THAT(Message(description), HasSubstr("not supported"));
  description = Description();
  description["added_tokens"].push_back({{"id", 302}, {"content", "ab"}});
  EXPECT_THAT(Message(description), HasSubstr("has the id 302, but 256 in vocab"));
  description = Description();
  description["decoder"] = {{"type", "WordPiece"}};
  EXPECT_THAT(Message(description), HasSubstr("decoder WordPiece is not supported"));
  description = Description();
  description["model"]["merges"].push_back("q z");
  EXPECT_THAT(Message(description), HasSubstr("vocab lacks"));
  description["model"]["merges"] = json::array({"a b c"});
  EXPECT_THAT(Message(description), HasSubstr("not a pair"));
  description["model"]["vocab"]["a"] = "x";
  EXPECT_THAT(Message(description), HasSubstr("has the id"));
  description = Description();
  description["added_tokens"][0]["id"] = "x";
  EXPECT_THAT(Message(description), HasSubstr("test.json"));
  EXPECT_THAT(Message(json::array()), HasSubstr("test.json"));
  EXPECT_THAT(Message(json::object()), HasSubstr("model"));
}

TEST(Utf8Test, BrokenSequencesBecomeReplacements) {
  EXPECT_EQ(ToValidUtf8("a\xC0\xAFz"), "a\uFFFD\uFFFDz");        // overlong
  EXPECT_EQ(ToValidUtf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");  // surrogate
  EXPECT_EQ(ToValidUtf8("\xF0\x9F\xA4"), "\uFFFD");              // cut short: one
  EXPECT_EQ(ToValidUtf8("\xF4\x90\x80\x80").size(), 12u);        // beyond U+10FFFF
  EXPECT_EQ(ToValidUtf8("é日🤦"), "é日🤦");
}

TEST(Utf8Test, AStreamDoesNotDependOnWhereItIsCut) {
  const std::string bytes = "é日🤦\xF0\x9F\xA4z\xED\xA0\x80\xC3\xC3\xA9\xFF\xE3\x81";
  for (size_t step = 1; step <= bytes.size(); ++step) {
    Utf8Stream stream;
    std::string text;
    for (size_t at = 0; at < bytes.size(); at += step) {
      stream.Take(absl::string_view(bytes).substr(at, step), &text);
    }
    stream.Finish(&text);
    EXPECT_EQ(text, ToValidUtf8(bytes)) << step;
  }
  Utf8Stream stream;
  std::string text;
  stream.Take("\xF0\x9F", &text);
  EXPECT_EQ(text, "");  // It waits: it may become a character.
  stream.Take("\xA4\xA6", &text);
  EXPECT_EQ(text, "🤦");
}

}  // namespace
}  // namespace whetstone
