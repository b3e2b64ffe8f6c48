#include <memory>

#include "coordinator/cli/commands.h"
#include "coordinator/doctor/doctor.h"
#include "coordinator/terminal/console.h"

namespace whetstone {
namespace {

struct DoctorCommandOptions {
  DoctorOptions doctor;
  bool json = false;
};

int RunDoctorCommand(const DoctorCommandOptions& options) {
  Console console(options.json);
  return RunDoctor(options.doctor, &console);
}

}  // namespace

void AddDoctor(CLI::App* app, SelectedCommand* selected) {
  const auto options = std::make_shared<DoctorCommandOptions>();
  CLI::App* command = app->add_subcommand(
      "doctor",
      "Say what is wrong before an hour is lost\n\nKeys, host keys, sockets, sandbox level, noise, "
      "model files, disk. Exit code 2 if something must be mended.");
  command->add_option("CAMPAIGN", options->doctor.campaign_path,
                      "Campaign file; none: this machine alone");
  command->add_option("--set", options->doctor.sets, "Changes a key; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_flag("--json", options->json, "One JSON object per finding, then the totals");
  command->callback([=] { selected->run = [options] { return RunDoctorCommand(*options); }; });
}

}  // namespace whetstone
