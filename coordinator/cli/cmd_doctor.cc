// whet doctor
#include <iostream>
#include <memory>

#include "coordinator/cli/commands.h"
#include "coordinator/doctor/doctor.h"

namespace whetstone {

void AddDoctor(CLI::App* app, Chosen* chosen) {
  const auto options = std::make_shared<DoctorOptions>();
  CLI::App* command = app->add_subcommand(
      "doctor",
      "Say what is wrong before an hour is lost\n\nKeys, host keys, sockets, sandbox level, noise, "
      "model files, disk. Exit code 2 if something must be mended.");
  command->add_option("CAMPAIGN", options->campaign_path,
                      "Campaign file; none: this machine alone");
  command->add_option("--set", options->sets, "KEY=VALUE changes a key; may be repeated")
      ->allow_extra_args(false);
  command->add_flag("--json", options->json, "One JSON object per finding, then the totals");
  command->callback([=] { chosen->run = [options] { return RunDoctor(*options, std::cout); }; });
}

}  // namespace whetstone
