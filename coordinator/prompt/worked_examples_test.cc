#include "coordinator/prompt/worked_examples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/tree_testing.h"
#include "coordinator/prompt/render.h"

namespace whetstone {
namespace {

std::vector<WorkedExample> Numbered(int count) {
  std::vector<WorkedExample> examples;
  for (int i = 0; i < count; ++i) {
    examples.push_back({absl::StrCat("e/", i), "", absl::StrCat("int zz", i, "(int qq) {}"),
                        absl::StrCat("int zz", i, "(int qq) { return ", i, "; }")});
  }
  return examples;
}

TEST(WorkedExamplesTest, ReadsJsonLines) {
  const auto examples = ParseWorkedExamples(
      "{\"id\": \"a/0\", \"prompt_code\": \"x\", \"rewrite\": \"y\"}\n\n"
      "{\"id\": \"b/0\", \"prose\": \"p\", \"prompt_code\": \"x\", \"rewrite\": \"y\"}\r\n",
      "w.jsonl");
  ASSERT_TRUE(examples.ok()) << examples.status();
  ASSERT_EQ(examples->size(), 2u);
  EXPECT_EQ((*examples)[1].prose, "p");
  EXPECT_EQ((*examples)[1].difficulty, std::nullopt);
}

TEST(WorkedExamplesTest, ReadsWhatIsKnownOfAnExample) {
  const auto examples = ParseWorkedExamples(
      "{\"id\": \"a/0\", \"prompt_code\": \"x\", \"rewrite\": \"y\", \"family\": \"a\", "
      "\"techniques\": [\"tables\", \"hoisting\"], \"gain\": 2.5, \"difficulty\": 0.25}",
      "w.jsonl");
  ASSERT_TRUE(examples.ok()) << examples.status();
  EXPECT_EQ(examples->front().difficulty, 0.25);
}

TEST(WorkedExamplesTest, NamesTheBrokenLine) {
  const std::string good = "{\"id\": \"a/0\", \"prompt_code\": \"x\", \"rewrite\": \"y\"}\n";
  const struct {
    std::string line;
    const char* message;
  } kCases[] = {
      {"{\"id\": ", "w.jsonl:2: not valid JSON"},
      {"[1]", "w.jsonl:2: must be a JSON object"},
      {"{\"id\": 1}", "w.jsonl:2: 'id' must be a string"},
      {"{\"id\": \"a\", \"prompt_code\": \"x\"}", "w.jsonl:2: 'rewrite' is missing or empty"},
      {"{\"idd\": \"a\"}",
       "w.jsonl:2: unknown key 'idd': valid keys are id, prose, prompt_code, rewrite, family, "
       "techniques, gain, difficulty, canonical_hash"},
      {"{\"techniques\": \"tables\"}", "w.jsonl:2: 'techniques' must be a list of strings"},
      {"{\"techniques\": [1]}", "w.jsonl:2: 'techniques' must be a list of strings"},
      {"{\"gain\": 0}", "w.jsonl:2: 'gain' must be a positive number"},
      {"{\"gain\": \"2\"}", "w.jsonl:2: 'gain' must be a positive number"},
      {"{\"difficulty\": 1.5}", "w.jsonl:2: 'difficulty' must be a number from 0 to 1"},
      {"{\"difficulty\": null}", "w.jsonl:2: 'difficulty' must be a number from 0 to 1"},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(ParseWorkedExamples(good + c.line, "w.jsonl").status().message(), c.message);
  }
  EXPECT_EQ(ParseWorkedExamples("\n", "w.jsonl").status().message(),
            "w.jsonl:1: the file holds no worked example");
}

TEST(WorkedExamplesTest, TeachesTheWordsThatTheCampaignAsks) {
  const WorkedExample example = {"a/0", "Add.", "int f(int a);", "int f(int b);"};
  const v1::SftExample sft = ToSftExample(example, "```cpp");
  ASSERT_EQ(sft.messages_size(), 1);
  EXPECT_EQ(sft.messages(0).role(), "user");
  EXPECT_EQ(sft.messages(0).content(), RenderMessages("Add.", "int f(int a);")[0].content());
  EXPECT_EQ(sft.messages(0).content(),
            "Add.\n\nRewrite this function so that it runs faster. Keep its name and signature.\n"
            "```cpp\nint f(int a);\n```");
  EXPECT_EQ(sft.response_prefix(), "```cpp");
  EXPECT_EQ(sft.response(), "\nint f(int b);\n```");
  EXPECT_EQ(ToSftExample(example, "Sure").response(), "```cpp\nint f(int b);\n```");
}

// With the signature in the response prefix an answer begins as one of the campaign does: with the
// rewrite's own signature, which may differ from the reference's in __restrict.
TEST(WorkedExamplesTest, AnswersBeginWithTheirSignature) {
  const std::string prefix = "```cpp\n{signature}";
  const std::string slow = "int f(const int* a, int n) {\n    return a[n];\n}";
  const struct {
    std::string rewrite, prefix, response;
  } cases[] = {
      {slow, "```cpp\nint f(const int* a, int n)", " {\n    return a[n];\n}\n```"},
      {"int f(const int* __restrict a, int n) { return 1; }",
       "```cpp\nint f(const int* __restrict a, int n)", " { return 1; }\n```"},
      {"int g() { return 1; }\nint f(const int* a, int n) { return g(); }",
       "```cpp\nint f(const int* a, int n)",
       ";\nint g() { return 1; }\nint f(const int* a, int n) { return g(); }\n```"},
      {"#pragma GCC optimize(\"O2\")\n" + slow, "```cpp\nint f(const int* a, int n)",
       ";\n#pragma GCC optimize(\"O2\")\n" + slow + "\n```"},
      {"#include <cmath>\n" + slow, "```cpp\nint f(const int* a, int n)",
       " {\n    return a[n];\n}\n```"},
      {"int\nf(const int* a, int n) { return 1; }", "",
       "```cpp\nint\nf(const int* a, int n) { return 1; }\n```"},
      {"struct P {};\nint f(const int* a, int n) { return 1; }", "",
       "```cpp\nstruct P {};\nint f(const int* a, int n) { return 1; }\n```"},
      {"int other(int n) { return n; }", "", "```cpp\nint other(int n) { return n; }\n```"}};
  for (const auto& c : cases) {
    const v1::SftExample sft = ToSftExample({"f/0", "", slow, c.rewrite}, prefix);
    EXPECT_EQ(sft.response_prefix(), c.prefix);
    EXPECT_EQ(sft.response(), c.response);
  }
  for (uint64_t draw = 0; draw < 20; ++draw) {
    const WorkedExample renamed = RenameIdentifiers({"f/0", "", slow, slow}, 17, draw);
    EXPECT_EQ(ToSftExample(renamed, prefix).response_prefix(),
              "```cpp\n" + renamed.rewrite.substr(0, renamed.rewrite.find(" {")));
  }
}

TEST(WorkedExamplesTest, RenamesBothTextsAlike) {
  const WorkedExample example = {
      "dot/0", "", "float dot(const float* a, int n) { float s = 1.0f; return s + a[0] * n; }",
      "float dot(const float* a, int n) { float s0 = 1.0f; return s0 + a[0] * n; }"};
  std::set<std::string> seen;
  for (uint64_t draw = 0; draw < 50; ++draw) {
    const WorkedExample renamed = RenameIdentifiers(example, 17, draw);
    seen.insert(renamed.prompt_code);
    // The reference and the rewrite differ by "s" and "s0" alone, whatever s is called now.
    for (const char* name : {"s", "acc", "sum", "total"}) {
      const std::string declaration = absl::StrCat("{ float ", name, " = ");
      if (!absl::StrContains(renamed.prompt_code, declaration)) continue;
      const std::string numbered = absl::StrCat("{ float ", name, "0 = 1.0f; return ", name, "0 ");
      EXPECT_TRUE(absl::StrContains(renamed.rewrite, numbered)) << renamed.rewrite;
    }
    EXPECT_TRUE(absl::StrContains(renamed.prompt_code, "1.0f")) << "numbers stay";
    EXPECT_EQ(renamed.prompt_code, RenameIdentifiers(example, 17, draw).prompt_code);
  }
  EXPECT_GT(seen.size(), 20u);
}

TEST(WorkedExamplesTest, ARenamingNeverJoinsTwoNames) {
  // "x" may become "in", which is taken: then nothing changes.
  const WorkedExample example = {"f/0", "", "void f(int* x, int* in, int* vec) { }", "void f();"};
  for (uint64_t draw = 0; draw < 200; ++draw) {
    const std::string code = RenameIdentifiers(example, 1, draw).prompt_code;
    EXPECT_TRUE(absl::StrContains(code, "int* in, int* vec")) << code;
    EXPECT_FALSE(absl::StrContains(code, "int* in, int* in")) << code;
    EXPECT_FALSE(absl::StrContains(code, "int* vec, int* in, int* vec")) << code;
  }
}

TEST(WarmupPlanTest, EveryEpochShowsEveryExampleOnce) {
  const auto batches = PlanWarmup(Numbered(20), {.epochs = 2, .batch_size = 8, .seed = 1});
  ASSERT_EQ(batches.size(), 5u);
  std::vector<std::string> epoch_one;
  std::map<std::string, int> count;
  int drawn = 0;
  for (const auto& batch : batches) {
    EXPECT_EQ(batch.size(), 8u);
    for (const v1::SftExample& example : batch) {
      const size_t at = example.response().find("return ");
      const std::string number = example.response().substr(at);
      ++count[number];
      if (++drawn == 20) {
        EXPECT_EQ(count.size(), 20u) << "the first epoch is a whole one";
      }
    }
  }
  for (const auto& [number, times] : count) EXPECT_EQ(times, 2) << number;
}

TEST(WarmupPlanTest, ACurriculumGoesFromEasyToHardInEveryEpoch) {
  std::vector<WorkedExample> examples = Numbered(20);
  for (int i = 0; i < 20; ++i) examples[i].difficulty = 1 - i / 20.0;  // The last is the easiest.
  std::vector<int> numbers;
  for (const auto& batch :
       PlanWarmup(examples, {.epochs = 1.5, .batch_size = 8, .seed = 1, .curriculum = true})) {
    for (const v1::SftExample& example : batch) {
      const std::string& text = example.response();
      numbers.push_back(std::stoi(text.substr(text.find("return ") + 7)));
    }
  }
  ASSERT_EQ(numbers.size(), 30u);
  EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.begin() + 20, std::greater<>()));
  EXPECT_TRUE(std::is_sorted(numbers.begin() + 20, numbers.end(), std::greater<>()));
  const std::set<int> first(numbers.begin(), numbers.begin() + 20);
  EXPECT_EQ(first.size(), 20u);
  // Half an epoch is a sample of all, not the easy half.
  EXPECT_LT(numbers.back(), 10);
  EXPECT_GE(numbers[20], 10);
}

TEST(WarmupPlanTest, IsAFunctionOfTheSeed) {
  const auto text = [](uint64_t seed) {
    std::string all;
    for (const auto& batch : PlanWarmup(Numbered(20), {.epochs = 1, .batch_size = 3, .seed = seed}))
      for (const auto& example : batch) all += example.SerializeAsString();
    return all;
  };
  EXPECT_EQ(text(1), text(1));
  EXPECT_NE(text(1), text(2));
}

TEST(WarmupPlanTest, FractionsSkippingAndTheLastBatch) {
  EXPECT_EQ(PlanWarmup(Numbered(20), {.epochs = 0.5, .batch_size = 8}).size(), 2u);
  EXPECT_EQ(PlanWarmup(Numbered(20), {.epochs = 0.5, .batch_size = 8})[1].size(), 2u);
  EXPECT_TRUE(PlanWarmup(Numbered(20), {.epochs = 0}).empty());
  EXPECT_TRUE(ChooseExamples(Numbered(20), {.max_response_chars = 3}).empty());
  EXPECT_TRUE(PlanWarmup({}, {}).empty());
  std::vector<WorkedExample> examples = Numbered(3);
  examples[1].rewrite = std::string(2000, 'x');
  EXPECT_EQ(ChooseExamples(examples, {}).size(), 2u) << "the long one is skipped";
}

TEST(WarmupPlanTest, HalfOfTheDrawsAreRenamed) {
  std::vector<WorkedExample> examples(
      400, {"f/0", "", "void f(float* a, int n) {}", "void f(float* a, int n) { }"});
  int same = 0;
  for (const auto& batch : PlanWarmup(examples, {.epochs = 1}))
    for (const auto& example : batch)
      same += absl::StrContains(example.response(), "void f(float* a, int n)");
  EXPECT_GT(same, 180);
  EXPECT_LT(same, 260);
}

TEST(WarmupPlanTest, TakesTheNearestOfThoseThatAreShortEnough) {
  std::vector<WorkedExample> examples = Numbered(20);
  for (WorkedExample& example : examples) example.prompt_code += "{ other(); }";
  examples[7].prompt_code = "int zz7(int qq) { for (;;) qq = qq * 2; }";
  examples[6].prompt_code = "int zz6(int qq) { for (;;) qq = qq * 2; }";
  examples[6].rewrite = std::string(2000, 'x');
  const std::vector<WorkedExample> chosen = ChooseExamples(
      examples, {.nearest = 1, .functions = {"int own(int a) { for (;;) a = a * 2; }"}});
  ASSERT_EQ(chosen.size(), 1u);
  EXPECT_TRUE(absl::StrContains(chosen[0].rewrite, "return 7;")) << chosen[0].rewrite;
}

TEST(WarmupPlanTest, OwnExamplesAreShownAsTheyAre) {
  v1::SftExample own;
  own.set_response("own");
  v1::SftExample other;
  other.set_response("other");
  for (const bool curriculum : {false, true}) {
    const auto batches = PlanWarmup(Numbered(5), {.epochs = 2,
                                                  .batch_size = 64,
                                                  .curriculum = curriculum,
                                                  .own = {own, own, own, other, other, other}});
    ASSERT_EQ(batches.size(), 1u);
    ASSERT_EQ(batches[0].size(), 22u) << "two epochs of five examples and three copies of each";
    std::map<std::string, int> shown;
    for (const auto& example : batches[0]) ++shown[example.response()];
    EXPECT_EQ(shown["own"], 6);
    EXPECT_EQ(shown["other"], 6);
  }
}

// What is taught is what the campaign asks and what it puts in front of the answer.
TEST(OwnExampleTest, IsTheAnswerToTheCampaignsOwnPrompt) {
  v1::Problem problem;
  problem.set_signature("int twice(int a)");
  problem.set_prose("Doubles.");
  problem.set_reference("#include <math.h>\n\nint twice(int a) {\n    return 2 * a;\n}\n");
  const std::string prefix = RenderResponsePrefix("```cpp\n{signature}", problem);
  v1::SftExample example = OwnExample(problem, problem.reference(), prefix);
  ASSERT_EQ(example.messages_size(), 1);
  EXPECT_EQ(example.messages(0).content(), RenderMessages(problem)[0].content());
  EXPECT_EQ(example.response_prefix(), "```cpp\nint twice(int a)");
  EXPECT_EQ(example.response(), " {\n    return 2 * a;\n}\n```");
  example = OwnExample(problem, problem.reference(), "```cpp\n");
  EXPECT_EQ(example.response_prefix(), "```cpp\n");
  EXPECT_TRUE(absl::StartsWith(example.response(), "#include <math.h>")) << example.response();
  example = OwnExample(problem, problem.reference(), "Sure: ");
  EXPECT_EQ(example.response_prefix(), "");
  EXPECT_TRUE(absl::StartsWith(example.response(), "```cpp\n#include")) << example.response();
  // A helper that the function needs cannot be left out: it stands behind a declaration.
  problem.set_reference(
      "static int sum(int a, int b) { return a + b; }\n\nint twice(int a) {\n    return sum(a, "
      "a);\n}");
  example = OwnExample(problem, problem.reference(), prefix);
  EXPECT_EQ(example.response_prefix(), prefix);
  EXPECT_EQ(example.response_prefix() + example.response(),
            RenderAnswer("int twice(int a);\n" + problem.reference()));
  const std::string apart = "int first(const int* __restrict a) {\n    return *a;\n}";
  problem.set_signature("int first(const int* a)");
  example = OwnExample(problem, apart, RenderResponsePrefix("```cpp\n{signature}", problem));
  EXPECT_EQ(example.response_prefix(), "```cpp\nint first(const int* a)");
  EXPECT_EQ(example.response(), ";\n" + apart + "\n```");
  problem.set_signature("int twice(int a)");
  const std::string aliased = "using number = int;\nint twice(int a) {\n    return 2 * a;\n}";
  example = OwnExample(problem, aliased, prefix);
  EXPECT_EQ(example.response(), RenderAnswer(aliased)) << "its type may not be known yet";
  example = OwnExample(problem, "int other;", prefix);
  EXPECT_EQ(example.response_prefix(), "") << "it does not define the function";
}

TEST(OwnExamplesTest, RewritesStandForTheReferenceOfTheirProblemOnly) {
  std::vector<v1::Problem> problems(2);
  problems[0].set_signature("int twice(int a)");
  problems[0].set_reference("int twice(int a) {\n    return 2 * a;\n}\n");
  problems[1].set_signature("int thrice(int a)");
  problems[1].set_reference("int thrice(int a) {\n    return 3 * a;\n}\n");
  const std::vector<WorkedExample> rewrites = {
      {.id = "twice/1",
       .prose = "",
       .prompt_code = problems[0].reference(),
       .rewrite = "int twice(int a) {\n    return a + a;\n}"},
      {.id = "twice/2",
       .prose = "",
       .prompt_code = problems[0].reference(),
       .rewrite = "int twice(int a) {\n    return a << 1;\n}"}};
  const auto examples = OwnExamples(problems, rewrites, 2, "```cpp\n{signature}");
  ASSERT_TRUE(examples.ok()) << examples.status();
  std::map<std::string, int> answers;
  for (const v1::SftExample& example : *examples) {
    ++answers[example.response_prefix() + example.response()];
  }
  const std::string sum = "```cpp\nint twice(int a) {\n    return a + a;\n}\n```";
  const std::string shift = "```cpp\nint twice(int a) {\n    return a << 1;\n}\n```";
  const std::string reference = "```cpp\nint thrice(int a) {\n    return 3 * a;\n}\n```";
  EXPECT_EQ(answers, (std::map<std::string, int>{{sum, 8}, {shift, 8}, {reference, 2}}));
  EXPECT_EQ((*examples)[2].messages(0).content(), RenderMessages(problems[0])[0].content());

  problems[0].set_reference("int twice(int a) {\n    return a * 2;\n}\n");
  const auto stale = OwnExamples(problems, rewrites, 2, "```cpp\n{signature}");
  EXPECT_EQ(stale.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(stale.status().message(), "'twice/1' rewrites no reference"))
      << stale.status();
}

TEST(OwnExamplesTest, AFileOfRewritesMayBeEmpty) {
  const auto dir = TempDir::Make("rewrites");
  ASSERT_TRUE(dir.ok());
  const std::string path = dir->path() + "/rewrites.jsonl";
  ASSERT_TRUE(WriteFileAtomically(path, "\n").ok());
  const auto none = ReadRewrites(path);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_TRUE(none->empty());
  ASSERT_TRUE(WriteFileAtomically(path, "{}\n").ok());
  EXPECT_TRUE(absl::StrContains(ReadRewrites(path).status().message(), "rewrites.jsonl:1: "));
}

TEST(WarmupCorpusTest, TheRepositorysCorpusIsReadable) {
  const auto examples = ReadWorkedExamples(SourceDir() + "/prompts/warmup.jsonl");
  ASSERT_TRUE(examples.ok()) << examples.status();
  EXPECT_GE(examples->size(), 2000u);
  std::set<std::string> ids;
  for (const WorkedExample& example : *examples) EXPECT_TRUE(ids.insert(example.id).second);
}

}  // namespace
}  // namespace whetstone
