#include "gpu_trainer/cli/cli.h"

namespace whetstone {

void AddCommands(CLI::App& app, const std::vector<std::string>& launched, int* exit_code) {
  AddServeCommand(app, exit_code);
  AddLaunchCommand(app, launched, exit_code);
  AddInspectCommand(app, exit_code);
  AddTokenizeCommand(app, exit_code);
  AddScoreCommand(app, exit_code);
  AddGenerateCommand(app, exit_code);
  AddBenchmarkCommand(app, exit_code);
  AddProfileCommand(app, exit_code);
}

}  // namespace whetstone
