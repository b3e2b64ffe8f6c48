// This is whet, the command line of Whetstone. The main loop of a campaign is CampaignLoop::Run in
// coordinator/loop/campaign_loop.cc.
#include "coordinator/cli/commands.h"

int main(int argc, char** argv) { return whetstone::RunCommandLine(argc, argv); }
