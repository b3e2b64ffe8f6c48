#include <algorithm>
#include <memory>

#include "gpu_trainer/cli/cli.h"
#include "gpu_trainer/process/launcher.h"

namespace whetstone {
namespace {

struct LaunchFlags {
  int ranks = 1;
  int restarts = 0;
};

}  // namespace

std::vector<std::string> TakeLaunchedCommand(int* argc, char** argv) {
  if (*argc < 2 || std::string(argv[1]) != "launch") return {};
  char** const end = argv + *argc;
  char** const mark = std::find(argv, end, std::string("--"));
  if (mark == end) return {};
  *argc = static_cast<int>(mark - argv);
  return {mark + 1, end};
}

void AddLaunchCommand(CLI::App& app, const std::vector<std::string>& command, int* exit_code) {
  auto flags = std::make_shared<LaunchFlags>();
  CLI::App* launch = app.add_subcommand(
      "launch", "Run the command after -- as several ranks on this host, serve for example");
  launch->add_option("--nproc", flags->ranks, "How many ranks")
      ->required()
      ->check(CLI::Range(1, 1024));
  launch
      ->add_option("--max-restarts", flags->restarts,
                   "How often all ranks are started anew when one has failed, until they have "
                   "worked for ten minutes")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  launch->callback([flags, &command, exit_code] {
    *exit_code = Launch(flags->ranks, flags->restarts, command);
  });
}

}  // namespace whetstone
