#include "coordinator/eval/eval_campaign.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "coordinator/config/campaign_parser.h"
#include "coordinator/yaml/yaml_writer.h"

namespace whetstone {
namespace {

constexpr const char* kSections[] = {"generate", "chat",   "local",   "cluster",
                                     "measure",  "policy", "patience"};

// A campaign that learns nothing, of which only the keys that matter are replaced.
constexpr char kNothingLearned[] =
    "name: eval\nmodel: /model\ntrain: {steps: 0}\neval: {problems: [/problem.md]}\n";

absl::Status CheckSets(const std::vector<std::string>& sets) {
  for (const std::string& set : sets) {
    const std::string section = set.substr(0, set.find_first_of(".="));
    const std::string key = set.substr(0, set.find('='));
    if (key == "policy.endpoint" || key == "policy.model" || key == "policy") {
      return absl::InvalidArgumentError(absl::StrCat(
          "--set ", set, ": a model behind an endpoint is one of the models: URL#MODEL"));
    }
    if (std::find(std::begin(kSections), std::end(kSections), section) != std::end(kSections)) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "--set ", set, ": an evaluation has only the sections ", absl::StrJoin(kSections, ", "),
        " of a campaign; its problems, samples and seed are options of their own"));
  }
  return absl::OkStatus();
}

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string ValueOf(const Message& message, const FieldDescriptor* field) {
  std::vector<std::string> values;
  const int count = field->is_repeated() ? message.GetReflection()->FieldSize(message, field) : 1;
  for (int i = 0; i < count; ++i) {
    std::string text;
    google::protobuf::TextFormat::PrintFieldValueToString(message, field,
                                                          field->is_repeated() ? i : -1, &text);
    values.push_back(text);
  }
  return field->is_repeated() ? absl::StrCat("[", absl::StrJoin(values, ", "), "]") : values[0];
}

void AddDifferences(const Message& there, const Message& here, const std::string& prefix,
                    std::vector<std::string>* differences) {
  const google::protobuf::Descriptor& type = *there.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    const std::string key = absl::StrCat(prefix, field->name());
    if (!field->is_repeated() && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      AddDifferences(there.GetReflection()->GetMessage(there, field),
                     here.GetReflection()->GetMessage(here, field), key + ".", differences);
      continue;
    }
    const std::string was = ValueOf(there, field), is = ValueOf(here, field);
    if (was == is) continue;
    differences->push_back(absl::StrCat(key, " is ", was, " there, and ", is, " is asked for"));
  }
}

void AddProblemDifferences(const CampaignPlan& there, const CampaignPlan& here,
                           std::vector<std::string>* differences) {
  std::map<std::string, std::string> hashes;
  std::vector<std::string> was, is;
  for (const PlannedProblem& problem : there.evaluated()) {
    hashes[problem.problem.id()] = problem.hash;
    was.push_back(problem.problem.id());
  }
  for (const PlannedProblem& problem : here.evaluated()) {
    is.push_back(problem.problem.id());
    const auto found = hashes.find(problem.problem.id());
    if (found != hashes.end() && found->second != problem.hash) {
      differences->push_back(
          absl::StrCat("problem ", problem.problem.id(), " has been changed since"));
    }
  }
  if (was == is) return;
  differences->push_back(absl::StrCat("its problems are ", absl::StrJoin(was, ", "), ", and ",
                                      absl::StrJoin(is, ", "), " are asked for"));
}

}  // namespace

absl::StatusOr<v1::Campaign> EvalCampaign(const NamedModel& model, const v1::Campaign* base,
                                          const EvalSettings& settings) {
  RETURN_IF_ERROR(CheckSets(settings.sets));
  ASSIGN_OR_RETURN(v1::Campaign campaign, ParseCampaign(kNothingLearned, "evaluation", "/", {}));
  campaign.set_name(model.name);
  campaign.set_model(model.path);
  campaign.set_seed(settings.seed);
  campaign.mutable_eval()->set_samples(settings.samples);
  campaign.mutable_eval()->mutable_problems()->Assign(settings.problems.begin(),
                                                      settings.problems.end());
  if (base != nullptr) {
    *campaign.mutable_generate() = base->generate();
    *campaign.mutable_chat() = base->chat();
    *campaign.mutable_local() = base->local();
    *campaign.mutable_measure() = base->measure();
    *campaign.mutable_policy() = base->policy();
    *campaign.mutable_patience() = base->patience();
    if (base->has_cluster()) {
      *campaign.mutable_cluster() = base->cluster();
      campaign.mutable_checkpoint()->set_dir(base->checkpoint().dir());
    }
  }
  campaign.mutable_policy()->set_endpoint(model.endpoint);
  campaign.mutable_policy()->set_model(model.endpoint.empty() ? "" : model.path);
  if (!model.endpoint.empty()) {
    campaign.mutable_generate()->clear_response_prefix();
    campaign.mutable_generate()->clear_stop_ids();
    campaign.mutable_chat()->set_thinking("auto");
  }
  std::vector<std::string> sets = settings.sets;
  if (!model.endpoint.empty()) {
    std::erase_if(sets, [](const std::string& set) {
      const std::string key = set.substr(0, set.find('='));
      return key == "generate.response_prefix" || key == "generate.stop_ids" ||
             key == "chat.thinking";
    });
  }
  return ParseCampaign(MessageToYaml(campaign), "evaluation", "/", sets);
}

std::vector<std::string> EvalDifferences(const CampaignPlan& there, const CampaignPlan& here) {
  v1::Campaign was = there.campaign, is = here.campaign;
  for (v1::Campaign* campaign : {&was, &is}) {
    campaign->mutable_eval()->clear_problems();  // their files are copies
    campaign->clear_checkpoint();
    campaign->clear_patience();
    // How it is asked decides nothing of what comes out.
    v1::PolicyConfig which;
    which.set_endpoint(campaign->policy().endpoint());
    which.set_model(campaign->policy().model());
    *campaign->mutable_policy() = which;
  }
  std::vector<std::string> differences;
  AddDifferences(was, is, "", &differences);
  AddProblemDifferences(there, here, &differences);
  return differences;
}

}  // namespace whetstone
