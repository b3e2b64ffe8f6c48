#include "coordinator/report/program_diff.h"

#include <chrono>
#include <fstream>
#include <memory>

#include "absl/strings/ascii.h"
#include "common/file.h"
#include "coordinator/process/child_process.h"

namespace whetstone {
namespace {

constexpr std::chrono::seconds kDiffDeadline{20};

}  // namespace

std::string ProgramDiff(const std::string& before_name, const std::string& before,
                        const std::string& after_name, const std::string& after) {
  const absl::StatusOr<TempDir> work = TempDir::Make("whet-diff");
  if (!work.ok()) return "";
  // Nobody misses them after a crash: a page has dozens, and does not wait for the disk.
  const auto write = [](const std::string& file, const std::string& source) {
    std::ofstream out(file);
    out << absl::StripAsciiWhitespace(source) << "\n" << std::flush;
    return out.good();
  };
  const std::string old_file = work->path() + "/before", new_file = work->path() + "/after";
  if (!write(old_file, before) || !write(new_file, after)) return "";
  ChildOptions options;
  options.argv = {"diff", "-au", "--label", before_name, "--label", after_name, old_file, new_file};
  options.log_path = work->path() + "/diff";
  const absl::StatusOr<std::unique_ptr<ChildProcess>> child = ChildProcess::Start(options);
  if (!child.ok() || !(*child)->Wait(kDiffDeadline)) return "";
  return ReadFile(options.log_path).value_or("");
}

}  // namespace whetstone
