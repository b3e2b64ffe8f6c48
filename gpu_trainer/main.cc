// whet-trainer is the learning service, and the same model code for people and tests.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "common/version.h"
#include "gpu_trainer/cli/cli.h"
#include "gpu_trainer/process/passive_threads.h"
#include "gpu_trainer/profile/reuse_memory.h"

int main(int argc, char** argv) {
  // `inspect` computes nothing, and somebody waits for its answer: it is not started twice.
  if (argc < 2 || std::string(argv[1]) != "inspect") whetstone::WaitPassively(argv);
  whetstone::ReuseTensorMemory();
  const std::vector<std::string> launched = whetstone::TakeLaunchedCommand(&argc, argv);
  CLI::App app{"Whetstone's trainer: generates candidates and learns from their verdicts"};
  app.set_version_flag("--version", whetstone::kVersionText);
  app.require_subcommand(1);
  int exit_code = 0;
  whetstone::AddCommands(app, launched, &exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    // --help and --version come here too, with exit code 0.
    return app.exit(e) == 0 ? 0 : 2;
  }
  return exit_code;
}
