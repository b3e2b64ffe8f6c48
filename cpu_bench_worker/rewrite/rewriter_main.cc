// whet-rewriter REQUEST ANSWER: `whet rewrite` asks for all rewrites of some programs.
//
// REQUEST is a file with {"flags", "headers", "structs", "function", "sources": [...]}, ANSWER
// becomes
// {"rewrites": [[{"rule", "source"}, ...], ...], "refused": [...]}, a list for each source. With
// "extents": true it becomes {"extents": [{"arrays": {"a": "n*m"}, "sizes": ["m", "n"]}, ...],
// "refused": [...]}. Headers are precompiled in the folder of ANSWER. The programs are the
// operator's and what rules made of them, so nothing is sandboxed.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cpu_bench_worker/rewrite/rewrite.h"
#include "cpu_bench_worker/screen/parse.h"

namespace whetstone {
namespace {

using nlohmann::json;

json RewritesJson(const std::vector<std::string>& flags, const std::string& pch,
                  const std::string& function, const std::string& source,
                  const std::map<std::string, std::string>& lengths, std::string* refused) {
  json list = json::array();
  for (const Rewrite& rewrite : RewriteProgram(flags, pch, function, source, refused, lengths))
    list.push_back({{"rule", rewrite.rule}, {"source", rewrite.source}});
  return list;
}

json ExtentsJson(const std::vector<std::string>& flags, const std::string& pch,
                 const std::string& function, const std::string& source, std::string* refused) {
  const Extents extents = ExtentsOfProgram(flags, pch, function, source, refused);
  return {{"arrays", extents.arrays}, {"sizes", extents.sizes}};
}

// Returns what is wrong with the request or the file of the answer, or "".
std::string Answer(const json& request, const std::string& answer_path) {
  const auto flags = request.at("flags").get<std::vector<std::string>>();
  const auto function = request.at("function").get<std::string>();
  const std::string header =
      std::filesystem::path(answer_path).parent_path().string() + "/allowed.h";
  const std::string error =
      PrecompileAllowed(flags, header, request.at("headers").get<std::vector<std::string>>(),
                        request.at("structs").get<std::string>());
  if (!error.empty()) return error;
  const bool extents = request.value("extents", false);
  const auto lengths = request.value("lengths", std::map<std::string, std::string>());
  json list = json::array(), refusals = json::array();
  for (const auto& source : request.at("sources").get<std::vector<std::string>>()) {
    std::string refused;
    list.push_back(extents
                       ? ExtentsJson(flags, header + ".pch", function, source, &refused)
                       : RewritesJson(flags, header + ".pch", function, source, lengths, &refused));
    refusals.push_back(refused);
  }
  const json answer = {{extents ? "extents" : "rewrites", std::move(list)},
                       {"refused", std::move(refusals)}};
  std::ofstream file(answer_path);
  file << answer.dump(-1, ' ', false, json::error_handler_t::replace);
  file.close();
  return file.good() ? "" : answer_path + " cannot be written";
}

int Main(const std::string& request_path, const std::string& answer_path) {
  std::string error;
  try {
    std::ifstream file(request_path);
    error = Answer(json::parse(file), answer_path);
  } catch (const json::exception& exception) {
    error = request_path + ": " + exception.what();
  }
  if (error.empty()) return 0;
  std::cerr << error << "\n";
  return 2;
}

}  // namespace
}  // namespace whetstone

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: whet-rewriter REQUEST ANSWER; it is a part of whet rewrite\n";
    return 2;
  }
  return whetstone::Main(argv[1], argv[2]);
}
