#include "coordinator/config/campaign_parser.h"

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/source_place.h"
#include "common/status_macros.h"
#include "coordinator/config/campaign_rules.h"
#include "coordinator/config/default_sockets.h"
#include "coordinator/config/host_range.h"
#include "coordinator/config/policy_rules.h"
#include "coordinator/config/prompt_files.h"
#include "coordinator/yaml/yaml_limits.h"
#include "coordinator/yaml/yaml_message.h"
#include "coordinator/yaml/yaml_schema.h"

namespace whetstone {
namespace {

// Makes one path of a campaign absolute; which folder counts depends on who gave it.
class PathResolver {
 public:
  PathResolver(std::string folder, const YamlMessage& source)
      : folder_(std::move(folder)), source_(source) {}

  std::string Resolve(const std::string& key, const std::string& path) const {
    if (path.empty()) return path;
    if (path == "~" || absl::StartsWith(path, "~/")) {
      const char* home = std::getenv("HOME");
      return absl::StrCat(home == nullptr ? "/root" : home, path.substr(1));
    }
    if (path[0] == '/') return path;
    const bool from_set = absl::StartsWith(source_.Where(key), "--set ");
    const std::filesystem::path base =
        from_set ? std::filesystem::current_path() : std::filesystem::path(folder_);
    return (base / path).lexically_normal().string();
  }

 private:
  const std::string folder_;
  const YamlMessage& source_;
};

absl::Status ExpandWorkers(const YamlMessage& source, v1::ClusterConfig* cluster) {
  google::protobuf::RepeatedPtrField<v1::WorkerHost> expanded;
  for (int i = 0; i < cluster->workers_size(); ++i) {
    const absl::StatusOr<std::vector<std::string>> hosts =
        ExpandHostRange(cluster->workers(i).ssh());
    if (!hosts.ok()) {
      const std::string key = absl::StrCat("cluster.workers[", i, "].ssh");
      return ErrorAt(source.Place(key), absl::StrCat("'", key, "': ", hosts.status().message()));
    }
    for (const std::string& host : *hosts) {
      v1::WorkerHost* worker = expanded.Add();
      *worker = cluster->workers(i);
      worker->set_ssh(host);
      if (worker->socket().empty()) worker->set_socket(kDefaultWorkerSocket);
    }
  }
  cluster->mutable_workers()->Swap(&expanded);
  return absl::OkStatus();
}

absl::Status MergeGiven(absl::string_view yaml, const std::string& name,
                        const std::vector<std::string>& sets, YamlMessage* source) {
  RETURN_IF_ERROR(source->Merge(yaml, name));
  for (const std::string& set : sets) RETURN_IF_ERROR(source->Set(set));
  return absl::OkStatus();
}

// Puts the prompt files in place of the folders that hold them.
absl::Status ExpandFolders(const YamlMessage& source, v1::EvalConfig* eval) {
  google::protobuf::RepeatedPtrField<std::string> expanded;
  for (int i = 0; i < eval->problems_size(); ++i) {
    const absl::StatusOr<std::vector<std::string>> files = PromptFiles({eval->problems(i)});
    if (!files.ok()) {
      const std::string key = absl::StrCat("eval.problems[", i, "]");
      return ErrorAt(source.Place(key), absl::StrCat("'", key, "': ", files.status().message()),
                     files.status().code());
    }
    expanded.Add(files->begin(), files->end());
  }
  eval->mutable_problems()->Swap(&expanded);
  return absl::OkStatus();
}

// Checks that the files which the campaign names are there; the error names the line that does.
absl::Status CheckFiles(const v1::Campaign& campaign, const YamlMessage& source) {
  const auto check = [&source](const std::string& key, const std::string& path) -> absl::Status {
    std::error_code error;
    if (std::filesystem::is_regular_file(path, error)) return absl::OkStatus();
    const SourcePlace place = source.Place(key);
    return ErrorAt(
        place,
        absl::StrCat("'", key, "': there is no file ", path, "; relative paths begin at ",
                     absl::StartsWith(place.name, "--set ") ? "the current directory"
                                                            : "the campaign file's folder"),
        absl::StatusCode::kNotFound);
  };
  for (int i = 0; i < campaign.problems_size(); ++i) {
    RETURN_IF_ERROR(check(absl::StrCat("problems[", i, "]"), campaign.problems(i)));
  }
  for (int i = 0; i < campaign.eval().problems_size(); ++i) {
    // A folder has become its files.
    const std::string key = absl::StrCat("eval.problems[", i, "]");
    RETURN_IF_ERROR(check(key, campaign.eval().problems(i)));
  }
  if (!campaign.search().rewrites().empty()) {
    RETURN_IF_ERROR(check("search.rewrites", campaign.search().rewrites()));
  }
  if (!campaign.has_warmup()) return absl::OkStatus();
  RETURN_IF_ERROR(check("warmup.examples", campaign.warmup().examples()));
  return campaign.warmup().rewrites().empty()
             ? absl::OkStatus()
             : check("warmup.rewrites", campaign.warmup().rewrites());
}

absl::Status ParseInto(absl::string_view yaml, const std::string& name, const std::string& folder,
                       const std::vector<std::string>& sets, v1::Campaign* parsed,
                       YamlMessage* merged) {
  v1::Campaign& campaign = *parsed;
  YamlMessage& source = *merged;
  RETURN_IF_ERROR(source.MergeDefaults(DefaultCampaignYaml(), "defaults.yaml"));
  // The defaults of an optional section must not bring the section into being. So the text is read
  // once to learn which sections the operator gave, then again over the right defaults.
  {
    v1::Campaign given;
    YamlMessage alone(&given);
    RETURN_IF_ERROR(MergeGiven(yaml, name, sets, &alone));
    if (!given.has_warmup()) campaign.clear_warmup();
    if (!given.has_cluster()) campaign.clear_cluster();
    if (!given.has_eval()) campaign.clear_eval();
  }
  RETURN_IF_ERROR(MergeGiven(yaml, name, sets, &source));

  const PathResolver paths(folder, source);
  for (int i = 0; i < campaign.problems_size(); ++i) {
    campaign.set_problems(i, paths.Resolve("problems", campaign.problems(i)));
  }
  for (int i = 0; i < campaign.eval().problems_size(); ++i) {
    campaign.mutable_eval()->set_problems(
        i, paths.Resolve("eval.problems", campaign.eval().problems(i)));
  }
  if (campaign.has_warmup()) {
    campaign.mutable_warmup()->set_examples(
        paths.Resolve("warmup.examples", campaign.warmup().examples()));
    campaign.mutable_warmup()->set_rewrites(
        paths.Resolve("warmup.rewrites", campaign.warmup().rewrites()));
  }
  campaign.mutable_search()->set_rewrites(
      paths.Resolve("search.rewrites", campaign.search().rewrites()));
  campaign.mutable_policy()->set_key_file(
      paths.Resolve("policy.key_file", campaign.policy().key_file()));
  SettlePolicy(&campaign);
  if (campaign.has_cluster()) {
    v1::ClusterConfig* cluster = campaign.mutable_cluster();
    cluster->set_ssh_config(paths.Resolve("cluster.ssh_config", cluster->ssh_config()));
    if (cluster->has_trainer() && cluster->trainer().socket().empty()) {
      cluster->mutable_trainer()->set_socket(kDefaultTrainerSocket);
    }
    RETURN_IF_ERROR(ExpandWorkers(source, cluster));
  } else {
    if (campaign.policy().endpoint().empty()) {
      campaign.set_model(paths.Resolve("model", campaign.model()));
    }
    campaign.mutable_train()->set_kl_reference(
        paths.Resolve("train.kl_reference", campaign.train().kl_reference()));
    campaign.mutable_checkpoint()->set_dir(
        paths.Resolve("checkpoint.dir", campaign.checkpoint().dir()));
  }
  RETURN_IF_ERROR(CheckLimits(source));
  return CheckCampaignRules(campaign, [&](const std::string& key) { return source.Place(key); });
}

}  // namespace

nlohmann::ordered_json CampaignSchema() {
  v1::Campaign campaign;
  YamlMessage defaults(&campaign);
  CHECK(defaults.Merge(DefaultCampaignYaml(), "defaults.yaml").ok());
  return YamlSchema(defaults, "A Whetstone campaign (docs/campaign.md)");
}

absl::StatusOr<v1::Campaign> ParseCampaign(absl::string_view yaml, const std::string& name,
                                           const std::string& folder,
                                           const std::vector<std::string>& sets) {
  v1::Campaign campaign;
  YamlMessage source(&campaign);
  RETURN_IF_ERROR(ParseInto(yaml, name, folder, sets, &campaign, &source));
  return campaign;
}

absl::StatusOr<v1::Campaign> LoadCampaign(const std::string& path,
                                          const std::vector<std::string>& sets) {
  ASSIGN_OR_RETURN(const std::string yaml, ReadFile(path));
  const std::string folder = std::filesystem::absolute(path).parent_path().string();
  v1::Campaign campaign;
  YamlMessage source(&campaign);
  RETURN_IF_ERROR(ParseInto(yaml, path, folder, sets, &campaign, &source));
  if (campaign.has_eval()) RETURN_IF_ERROR(ExpandFolders(source, campaign.mutable_eval()));
  RETURN_IF_ERROR(CheckFiles(campaign, source));
  return campaign;
}

SourcePlace PlaceInCampaign(const std::string& path, const std::vector<std::string>& sets,
                            const std::string& key) {
  v1::Campaign campaign;
  YamlMessage source(&campaign);
  const absl::StatusOr<std::string> yaml = ReadFile(path);
  if (yaml.ok() && MergeGiven(*yaml, path, sets, &source).ok()) return source.Place(key);
  return {path, "", 0, 0};
}

}  // namespace whetstone
