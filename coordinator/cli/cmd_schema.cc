#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "coordinator/cli/commands.h"
#include "coordinator/config/campaign_parser.h"
#include "coordinator/prompt/front_matter.h"
#include "coordinator/terminal/console.h"
#include "coordinator/usage/command_table.h"

namespace whetstone {

void AddSchema(CLI::App* app, SelectedCommand* selected) {
  const auto kind = std::make_shared<std::string>();
  CLI::App* command = app->add_subcommand(
      "schema",
      "Print the JSON Schema of campaign files, or of a problem's front matter\n\nFor editors that "
      "complete and check YAML by one: whet schema campaign > campaign.schema.json, and in the\n"
      "campaign, for those with yaml-language-server, as its first line:\n\n"
      "  # yaml-language-server: $schema=campaign.schema.json\n\n"
      "It has every key with its type, words, bounds and default. What keys say together whet run "
      "--dry-run checks.");
  command->add_option("KIND", *kind, "Of what")->required()->check(OneOf({"campaign", "problem"}));
  command->callback([=] {
    selected->run = [=] {
      const nlohmann::ordered_json schema =
          *kind == "campaign" ? CampaignSchema() : FrontMatter::Schema();
      std::fputs((schema.dump(2) + "\n").c_str(), stdout);
      return kExitOk;
    };
  });
}

}  // namespace whetstone
