#include "tests/system/whet_fixture.h"

#include <dirent.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/eventually_testing.h"
#include "common/shell_word.h"
#include "common/status_macros.h"
#include "common/tree_testing.h"

namespace whetstone {
namespace {

using std::chrono::seconds;

std::string ReadOrEmpty(const std::string& path) {
  const auto text = ReadFile(path);
  return text.ok() ? *text : "";
}

// What is carried to a GPU host (tests/gpu/run.sh --bundle) has the problem beside its tiny model.
std::string Problem() {
  const std::string carried = ProgramDirectory() + "/../test-data/multiply.md";
  return access(carried.c_str(), F_OK) == 0 ? carried : SourceDir() + "/tests/system/multiply.md";
}

std::string LinkTarget(const std::string& path) {
  std::string target(4096, '\0');
  const ssize_t n = readlink(path.c_str(), target.data(), target.size());
  target.resize(n > 0 ? static_cast<size_t>(n) : 0);
  return target;
}

// Calls `visit` with every number that names an entry of `directory`.
void ForEachNumber(const std::string& directory, const std::function<void(int)>& visit) {
  DIR* dir = opendir(directory.c_str());
  if (dir == nullptr) return;
  while (const dirent* entry = readdir(dir)) {
    int number = 0;
    if (absl::SimpleAtoi(entry->d_name, &number)) visit(number);
  }
  closedir(dir);
}

// The answer is the matrix product with its loops interchanged: correct, and several times the
// reference. What the model adds comes after the closed block.
constexpr char kAnswer[] = R"(```cpp
void multiply(const float* a, const float* b, float* c, int n) {
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) c[i * n + j] = 0;
    for (int k = 0; k < n; ++k)
      for (int j = 0; j < n; ++j) c[i * n + j] += a[i * n + k] * b[k * n + j];
  }
}
```
That is all.)";

}  // namespace

nlohmann::json WhetResult::json() const {
  const std::vector<std::string> lines = absl::StrSplit(out, '\n', absl::SkipWhitespace());
  if (lines.empty()) return nullptr;
  nlohmann::json value = nlohmann::json::parse(lines.back(), nullptr, false);
  return value.is_discarded() ? nlohmann::json(nullptr) : value;
}

BackgroundProgram::BackgroundProgram(const std::vector<std::string>& words,
                                     const std::string& directory) {
  static std::atomic<int> count{0};
  const std::string base = absl::StrCat(directory, "/program", ++count);
  out_path_ = base + ".out";
  err_path_ = base + ".err";
  std::string command = "exec";
  for (const std::string& word : words) absl::StrAppend(&command, " ", ShellWord(word));
  ChildOptions options;
  options.argv = {"sh", "-c",
                  absl::StrCat(command, " > ", ShellWord(out_path_), " 2> ", ShellWord(err_path_))};
  child_ = *ChildProcess::Start(options);
}

void BackgroundProgram::Signal(int signal) const { kill(child_->pid(), signal); }

WhetResult BackgroundProgram::Wait(seconds limit) {
  (void)Eventually([this] { return Ended(); }, limit);  // the exit code says whether
  WhetResult result;
  const std::optional<std::string> how = child_->Ended();
  absl::string_view text = how.has_value() ? absl::string_view(*how) : "";
  int number = 0;
  if (absl::ConsumePrefix(&text, "exit code ") && absl::SimpleAtoi(text, &number)) {
    result.exit_code = number;
  } else if (absl::ConsumePrefix(&text, "killed by signal ") &&
             absl::SimpleAtoi(text.substr(0, text.find(' ')), &number)) {
    result.exit_code = 128 + number;
  }
  result.out = out();
  result.err = err();
  return result;
}

std::string BackgroundProgram::out() const { return ReadOrEmpty(out_path_); }
std::string BackgroundProgram::err() const { return ReadOrEmpty(err_path_); }

void WhetTest::SetUpTestSuite() {
  if (access(TinyModel().c_str(), F_OK) == 0) return;  // It is complete, or it would not be there.
  const std::string command =
      absl::StrCat(ShellWord(WHETSTONE_VENV "/bin/python"), " ",
                   ShellWord(SourceDir() + "/tests/system/make_tiny_model.py"), " ",
                   ShellWord(SmallModel()), " ", ShellWord(TinyModel()), " > /dev/null 2>&1");
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
}

void WhetTest::SetUp() {
  auto dir = TempDir::Make("sys");
  ASSERT_TRUE(dir.ok()) << dir.status();
  dir_ = std::make_unique<TempDir>(*std::move(dir));
}

std::string WhetTest::TinyModel() { return ProgramDirectory() + "/../test-data/tiny-llama"; }

std::string WhetTest::SmallModel() {
  return absl::StrCat(std::getenv("HOME"), "/.cache/whetstone/models/SmolLM2-135M-Instruct");
}

std::string WhetTest::Binary(const std::string& name) {
  return absl::StrCat(ProgramDirectory(), "/", name);
}

std::string WhetTest::WriteCampaign(int steps, const std::string& more) {
  const std::string prefix = absl::StrReplaceAll(kAnswer, {{"\n", "\\n"}, {"\"", "\\\""}});
  const std::string text = absl::StrCat(
      "name: system-test\n"
      "model: ",
      TinyModel(), "\nproblems: [", Problem(), "]\n", "train: {steps: ", steps,
      ", group_size: 4, lr: 1.0e-4}\n", "generate: {max_new_tokens: 24, response_prefix: \"",
      prefix, "\"}\n", "checkpoint: {every: 2, keep: 2",
      absl::StrContains(more, "cluster:") ? absl::StrCat(", dir: ", Path("checkpoints")) : "",
      "}\n",
      absl::StrContains(more, "local:") ? "" : "local: {threads: 1, dtype: fp32, device: cpu}\n",
      more);
  const std::string path = Path("campaign.yaml");
  CHECK(WriteFileAtomically(path, text).ok());
  return path;
}

WhetResult WhetTest::Whet(const std::vector<std::string>& words, seconds limit) const {
  return StartWhet(words)->Wait(limit);
}

std::unique_ptr<BackgroundProgram> WhetTest::StartWhet(
    const std::vector<std::string>& words) const {
  std::vector<std::string> all = {Binary("whet")};
  all.insert(all.end(), words.begin(), words.end());
  return std::make_unique<BackgroundProgram>(all, dir_->path());
}

std::vector<nlohmann::json> WhetTest::Metrics() const {
  std::vector<nlohmann::json> rows;
  const std::string text = ReadOrEmpty(RunDirectory() + "/metrics.jsonl");
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    nlohmann::json row = nlohmann::json::parse(line.begin(), line.end(), nullptr, false);
    if (!row.is_discarded()) rows.push_back(std::move(row));  // A line may be half-written.
  }
  return rows;
}

Rows WhetTest::Journal(const std::string& sql) const {
  Rows rows;
  sqlite3* db = nullptr;
  const std::string path = RunDirectory() + "/journal.db";
  if (sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK) {
    sqlite3_busy_timeout(db, 5000);
    const auto add = [](void* out, int n, char** values, char**) {
      std::string rest;
      for (int i = 1; i < n; ++i) absl::StrAppend(&rest, values[i] ? values[i] : "NULL", "|");
      // A key that comes twice must show.
      if (!static_cast<Rows*>(out)->emplace(values[0], rest).second) {
        ADD_FAILURE() << "twice in the journal: " << values[0];
      }
      return 0;
    };
    char* error = nullptr;
    if (sqlite3_exec(db, sql.c_str(), add, &rows, &error) != SQLITE_OK) {
      ADD_FAILURE() << sql << ": " << error;
    }
  }
  sqlite3_close(db);
  return rows;
}

Rows WhetTest::Rollouts() const {
  return Journal(
      "SELECT step || '/' || grp || '/' || sample, tokens, text, hex(proto) FROM rollouts");
}

Rows WhetTest::Verdicts() const {
  return Journal("SELECT step || '/' || grp || '/' || sample, outcome, reward FROM verdicts");
}

void WhetTest::ExpectComplete(int steps, int group_size) const {
  const Rows rollouts = Rollouts();
  const Rows verdicts = Verdicts();
  EXPECT_EQ(rollouts.size(), static_cast<size_t>(steps * group_size));
  EXPECT_EQ(verdicts.size(), static_cast<size_t>(steps * group_size));
  for (const auto& [key, ignored] : rollouts) EXPECT_EQ(verdicts.count(key), 1u) << key;
  const Rows updates = Journal("SELECT step, applied FROM updates WHERE phase = 2");
  EXPECT_EQ(updates.size(), static_cast<size_t>(steps));
  for (int step = 1; step <= steps; ++step) {
    EXPECT_EQ(updates.count(absl::StrCat(step)), 1u) << "no update of step " << step;
  }
  const std::vector<nlohmann::json> metrics = Metrics();
  ASSERT_EQ(metrics.size(), static_cast<size_t>(steps));
  for (int i = 0; i < steps; ++i) EXPECT_EQ(metrics[static_cast<size_t>(i)]["step"], i + 1);
}

void WhetTest::KillRank(int rank) const {
  const std::vector<pid_t> processes = ServicesOf("whet-trainer");
  ASSERT_EQ(processes.size(), 3u) << "the launcher and two ranks";
  const std::string variable = absl::StrCat("RANK=", rank);
  for (const pid_t pid : processes) {
    const auto environment = ReadFile(absl::StrCat("/proc/", pid, "/environ"));
    ASSERT_TRUE(environment.ok()) << environment.status();
    const std::vector<std::string> variables = absl::StrSplit(*environment, '\0');
    if (std::count(variables.begin(), variables.end(), variable) > 0) kill(pid, SIGKILL);
  }
}

std::vector<pid_t> WhetTest::ServicesOf(const std::string& name) const {
  std::vector<pid_t> pids;
  ForEachNumber("/proc", [&](int pid) {
    const std::string proc = absl::StrCat("/proc/", pid);
    if (!absl::EndsWith(LinkTarget(proc + "/exe"), "/" + name)) return;
    bool ours = absl::StrContains(ReadOrEmpty(proc + "/cmdline"), dir_->path());
    ForEachNumber(proc + "/fd", [&](int fd) {
      if (absl::StrContains(LinkTarget(absl::StrCat(proc, "/fd/", fd)), dir_->path())) ours = true;
    });
    if (ours) pids.push_back(pid);
  });
  return pids;
}

}  // namespace whetstone
