#include "gpu_trainer/rpc/model_inspection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/utf8.h"
#include "gpu_trainer/rpc/model_text.h"
#include "gpu_trainer/rpc/tiny_model_testing.h"
#include "gpu_trainer/tokenizer/byte_level.h"

namespace whetstone {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ModelInspectionTest : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<TempDir> dir = TempDir::Make("inspect");
    ASSERT_TRUE(dir.ok()) << dir.status();
    dir_ = std::make_unique<TempDir>(*std::move(dir));
    ASSERT_NO_FATAL_FAILURE(WriteTinyModel(Model()));
    request_.set_model(Model());
    Ask("sum", "Make `sum(a, n)` faster:\n```cpp\nint sum(const int* a, int n);\n```\n");
  }
  std::string Model() const { return dir_->path() + "/model"; }

  void Ask(const std::string& name, const std::string& text) {
    v1::NamedPrompt* const prompt = request_.add_prompts();
    prompt->set_name(name);
    prompt->set_response_prefix("```cpp\n");
    prompt->add_messages()->set_role("user");
    prompt->mutable_messages(0)->set_content(text);
  }
  void Write(const std::string& file, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(absl::StrCat(Model(), "/", file), text).ok());
  }
  void Change(const std::string& file, const std::function<void(json&)>& change) {
    json value = json::parse(*ReadFile(absl::StrCat(Model(), "/", file)));
    change(value);
    Write(file, value.dump());
  }
  // Returns the model's error.
  std::string Error() const { return InspectModel(request_).model().error(); }

  std::unique_ptr<TempDir> dir_;
  v1::InspectModelRequest request_;
};

// Returns a tokenizer with one token a byte, for the bytes that `has` wants, and the chat's two.
std::string ByteTokenizer(const std::function<bool(size_t byte)>& has) {
  json vocab = json::object();
  for (size_t byte = 0; byte < 256; ++byte) {
    std::string symbol;
    AppendUtf8(ByteAlphabet()[byte], &symbol);
    if (has(byte)) vocab[symbol] = byte + 10;
  }
  return json{{"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", json::array()}}},
              {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
              {"added_tokens",
               {{{"id", 1}, {"content", "<|im_start|>"}, {"special", true}},
                {{"id", 2}, {"content", "<|im_end|>"}, {"special", true}}}}}
      .dump();
}

TEST_F(ModelInspectionTest, DescribesAWholeModel) {
  request_.set_kl_reference(Model());
  Ask("longer", std::string(300, 'x'));
  const v1::InspectModelResponse response = InspectModel(request_);
  const v1::ModelFacts& facts = response.model();
  EXPECT_THAT(facts.error(), IsEmpty());
  const ModelConfig config = *LoadModelConfig(Model());
  EXPECT_EQ(facts.family(), "llama");
  EXPECT_EQ(facts.parameters(), config.parameters());
  EXPECT_EQ(facts.weight_bytes(), 2 * config.parameters());
  EXPECT_EQ(facts.context_length(), 2048);
  EXPECT_EQ(facts.vocab_size(), 49152);
  EXPECT_EQ(response.kl_reference().ShortDebugString(), facts.ShortDebugString());
  // They are the tokens that a generation would begin with.
  const auto text = LoadModelText(Model(), config, {}, /*deterministic=*/false);
  ASSERT_TRUE(text.ok()) << text.status();
  ASSERT_EQ(response.prompt_tokens_size(), 2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(static_cast<size_t>(response.prompt_tokens(i)),
              text->PromptIds(request_.prompts(i).messages(), "```cpp\n")->size());
  }
}

TEST_F(ModelInspectionTest, OtherFamiliesAreRefused) {
  Change("config.json", [](json& config) { config["model_type"] = "gpt2"; });
  EXPECT_THAT(Error(), HasSubstr("config.json: model_type \"gpt2\" is not supported; supported "
                                 "architectures: llama, qwen2, qwen3"));
}

TEST_F(ModelInspectionTest, TextSurvivesTheTokenizer) {
  Write("tokenizer.json", R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}})");
  EXPECT_THAT(Error(), HasSubstr("tokenizer.json: text does not survive encoding and decoding: "
                                 "\"#include <cstdint>"));
  EXPECT_EQ(InspectModel(request_).prompt_tokens_size(), 0);
  // One character of code is missing.
  Write("tokenizer.json", ByteTokenizer([](size_t byte) { return byte != '{'; }));
  EXPECT_THAT(Error(), HasSubstr("text does not survive"));
  Write("tokenizer.json", ByteTokenizer([](size_t) { return true; }));
  EXPECT_THAT(Error(), IsEmpty());
}

TEST_F(ModelInspectionTest, PromptsSurviveTemplateAndTokenizer) {
  Write("tokenizer.json", ByteTokenizer([](size_t byte) { return byte < 128; }));
  EXPECT_THAT(Error(), IsEmpty());
  Ask("accents", std::string(39, 'x') + "ö");  // the message cuts the text in its last character
  EXPECT_THAT(Error(), HasSubstr(", prompt of accents: the prompt does not survive"));
  EXPECT_EQ(Error(), ToValidUtf8(Error()));
  request_.mutable_prompts()->RemoveLast();
  request_.mutable_prompts(0)->set_response_prefix("// für\n");
  EXPECT_THAT(Error(), HasSubstr("prompt of sum: the response prefix does not survive"));
  request_.mutable_prompts(0)->set_response_prefix("");
  EXPECT_THAT(Error(), IsEmpty());
  Write("chat_template.jinja",
        "{% for m in messages %}<|im_start|>{{ m['role'] }}: you know what<|im_end|>{% endfor %}");
  EXPECT_THAT(Error(), HasSubstr("the chat template does not hand on what the user says"));
}

TEST_F(ModelInspectionTest, ATokenEndsWhereTheResponsePrefixDoes) {
  v1::NamedPrompt& prompt = *request_.mutable_prompts(0);
  const std::string code = "int sum(const int* a, int n) {\n  return a[0];\n}";
  // What the answer begins with, and whether a token ends there.
  const std::pair<std::string, bool> cases[] = {{"int sum(const int* a, int n)", true},
                                                {"int sum(const int* a, int", true},
                                                {"int sum(const int* a, in", false},
                                                {"int sum(cons", false}};
  for (const auto& [beginning, ends] : cases) {
    SCOPED_TRACE(beginning);
    prompt.set_response_prefix("```cpp\n" + beginning);
    prompt.set_continuation(code.substr(beginning.size()));
    if (ends) {
      EXPECT_THAT(Error(), IsEmpty());
    } else {
      EXPECT_THAT(Error(), HasSubstr("prompt of sum: the response prefix does not end on a token "
                                     "boundary: its last line, \"" +
                                     beginning));
    }
    prompt.clear_continuation();
    EXPECT_THAT(Error(), IsEmpty()) << "nobody knows what comes next";
  }
}

TEST_F(ModelInspectionTest, TokensAreTheModels) {
  Change("tokenizer.json", [](json& tokenizer) {
    tokenizer["added_tokens"].push_back({{"id", 49152}, {"content", "<one too many>"}});
  });
  EXPECT_THAT(Error(), HasSubstr("tokenizer.json has token ids up to 49152, but the model knows "
                                 "49152 (vocab_size in config.json)"));
}

TEST_F(ModelInspectionTest, AnAnswerCanEnd) {
  Change("config.json", [](json& config) { config["eos_token_id"] = 49152; });
  EXPECT_THAT(Error(), HasSubstr("the eos_token_id 49152"));
  // The template's end of turn is enough, and so is an eos_token_id.
  Change("config.json", [](json& config) { config.erase("eos_token_id"); });
  fs::remove(Model() + "/generation_config.json");
  EXPECT_THAT(Error(), IsEmpty());
  Write("chat_template.jinja", "{% for m in messages %}{{ m['content'] }}\n{% endfor %}");
  Write("tokenizer_config.json", "{}");
  EXPECT_THAT(Error(), HasSubstr("no token ends an answer"));
  Change("config.json", [](json& config) { config["eos_token_id"] = 2; });
  EXPECT_THAT(Error(), IsEmpty());
}

TEST_F(ModelInspectionTest, NamesWhatIsMissingOrDamaged) {
  const std::string weights = Model() + "/model.safetensors";
  fs::resize_file(weights, fs::file_size(weights) - 1);
  EXPECT_THAT(Error(), HasSubstr(weights + " is not a valid safetensors file"));
  fs::remove(weights);
  EXPECT_THAT(Error(), HasSubstr("neither model.safetensors nor"));
  request_.set_model(Model() + "/nowhere");
  EXPECT_THAT(Error(), HasSubstr("there is no directory " + Model() + "/nowhere"));
}

TEST_F(ModelInspectionTest, WeightsAreTheConfigs) {
  Change("config.json", [](json& config) { config["num_hidden_layers"] = 2; });
  EXPECT_THAT(Error(), HasSubstr("is not part of the architecture that config.json describes"));
  // Sizes that no memory could hold are refused like any others.
  Change("config.json",
         [](json& config) { config["vocab_size"] = config["hidden_size"] = int64_t{1} << 31; });
  EXPECT_FALSE(Error().empty());
}

TEST_F(ModelInspectionTest, ACampaignBeginsWithAnInstructedModelThatHasNotLearned) {
  fs::create_directory(Model() + "/resume");
  EXPECT_THAT(Error(), HasSubstr("a checkpoint in the middle of another run"));
  request_.set_weights_only(true);
  EXPECT_EQ(Error(), "") << "what learns nothing needs no more than its weights";
  fs::remove(Model() + "/resume");
  fs::remove(Model() + "/chat_template.jinja");
  Write("tokenizer_config.json", "{}");
  EXPECT_THAT(Error(), HasSubstr("has no chat template"));
}

TEST_F(ModelInspectionTest, AReferenceHasThePolicysVocabulary) {
  const std::string reference = dir_->path() + "/reference";
  request_.set_kl_reference(reference);
  v1::InspectModelResponse response = InspectModel(request_);
  EXPECT_THAT(response.model().error(), IsEmpty());
  EXPECT_THAT(response.kl_reference().error(), HasSubstr("there is no directory " + reference));

  ModelConfig config = *LoadModelConfig(Model());
  json other = json::parse(config.json);
  other["vocab_size"] = 50000;
  config = *ParseModelConfig(other.dump(), "test");
  ASSERT_TRUE(
      SaveWeights(reference, config, RandomWeights(config, torch::kFloat, 3), torch::kBFloat16)
          .ok());
  response = InspectModel(request_);
  EXPECT_THAT(response.model().error(), IsEmpty());
  EXPECT_THAT(response.kl_reference().error(),
              HasSubstr("vocabulary has 50000 tokens, the policy's 49152"));
}

TEST_F(ModelInspectionTest, WhatIsToBeRepeatedMayNotDependOnTheDay) {
  request_.set_deterministic(true);
  EXPECT_THAT(Error(), IsEmpty());
  Write("chat_template.jinja",
        "{% if not date_string is defined %}{% set date_string = strftime_now('%d') %}{% endif %}"
        "{{ date_string }}{% for m in messages %}{{ m['content'] }}<|im_end|>{% endfor %}");
  EXPECT_THAT(Error(), HasSubstr("set chat.date"));
  request_.mutable_chat()->set_date("26 Jul 2024");
  EXPECT_THAT(Error(), IsEmpty());
}

}  // namespace
}  // namespace whetstone
