// whet-screener reads programs with clang, one forked child each. The worker starts it inside the
// sandbox (Profile::kCompile) with its socket as descriptor 3; it runs until that closes.
//
// This process itself never looks at a program: it holds clang loaded and warm, forks, waits, and
// passes the child's words on. A child that dies or hangs is the answer "COMPILE_ERROR".
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "common/sha256.h"
#include "common/unique_fd.h"
#include "cpu_bench_worker/screen/canonical.h"
#include "cpu_bench_worker/screen/parse.h"
#include "cpu_bench_worker/screen/screen_protocol.h"
#include "whetstone/v1/verdict.pb.h"

namespace whetstone {
namespace {

using nlohmann::json;

constexpr std::chrono::hours kIdle{24 * 365};
constexpr size_t kForbiddenMax = 4;

std::string HeaderPath(const json& config) {
  return config.at("header_dir").get<std::string>() + "/allowed.h";
}

json Prepare(const json& config) {
  const auto flags = config.at("flags").get<std::vector<std::string>>();
  const std::string header = HeaderPath(config);
  mkdir(config.at("header_dir").get<std::string>().c_str(), 0755);
  std::string error =
      PrecompileAllowed(flags, header, config.at("headers").get<std::vector<std::string>>(),
                        config.at("structs").get<std::string>());
  if (!error.empty()) return {{"error", error}};
  const std::string type =
      SignatureType(flags, header + ".pch", config.at("signature").get<std::string>(),
                    config.at("function").get<std::string>(), &error);
  if (!error.empty()) return {{"error", "signature: " + error}};
  return {{"type", type}};
}

std::string Joined(const std::vector<std::string>& lines, size_t count_max) {
  std::string text;
  for (size_t i = 0; i < lines.size() && i < count_max; ++i) {
    if (!text.empty()) text += "\n";
    text += lines[i].substr(0, 300);
  }
  return text;
}

json Screen(const json& config, const std::string& source) {
  ScreenRules rules;
  rules.headers = config.at("headers").get<std::vector<std::string>>();
  for (const auto& name : config.at("allow")) rules.allow.insert(name.get<std::string>());
  rules.function = config.at("function").get<std::string>();
  rules.type = config.at("type").get<std::string>();
  rules.signature = config.at("signature").get<std::string>();
  rules.threads = config.at("threads").get<int>();
  ScreenFindings findings = ParseProgram(config.at("flags").get<std::vector<std::string>>(),
                                         HeaderPath(config) + ".pch", rules, source);
  if (findings.forbidden.empty()) {
    if (const std::string probe = CompilerProbe(source, rules.allows("asm")); !probe.empty())
      findings.forbidden.push_back(probe + " is not allowed");
  }
  json answer = {{"outcome", 0}, {"techniques", findings.techniques}};
  if (findings.errors.empty()) {
    findings.declared.erase(rules.function);
    answer["canonical_hash"] = Sha256Hex(CanonicalText(source, findings.declared));
  }
  if (!findings.forbidden.empty()) {
    answer["outcome"] = static_cast<int>(v1::FORBIDDEN);
    answer["detail"] = Joined(findings.forbidden, kForbiddenMax);
  } else if (!findings.errors.empty()) {
    answer["outcome"] = static_cast<int>(v1::COMPILE_ERROR);
    answer["detail"] = Joined(findings.errors, findings.errors.size());
  } else if (!findings.function_defined) {
    answer["outcome"] = static_cast<int>(v1::NO_CODE);
    answer["detail"] = "the program must define exactly: " + rules.signature;
    if (!findings.near_miss.empty())
      answer["detail"] = answer["detail"].get<std::string>() + "; found '" + rules.function +
                         "' as " + findings.near_miss;
  }
  return answer;
}

// Screens in a child of its own: whatever happens there stays there.
json ScreenInChild(const json& config, const std::string& source) {
  const auto failed = [](const char* what) -> json {
    return {{"error", std::string("screener: ") + what + ": " + std::strerror(errno)}};
  };
  int ends[2];
  if (pipe(ends) != 0) return failed("pipe");
  UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const pid_t child = fork();
  if (child < 0) return failed("fork");
  if (child == 0) {
    read_end.reset();
    close(kScreenerFd);
    const rlimit cpu{kScreenSeconds, kScreenSeconds};
    const rlimit files{0, 0};
    setrlimit(RLIMIT_CPU, &cpu);
    setrlimit(RLIMIT_FSIZE, &files);
    alarm(2 * kScreenSeconds);
    const std::string text =
        Screen(config, source).dump(-1, ' ', false, json::error_handler_t::replace);
    size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t n = write(write_end.get(), text.data() + sent, text.size() - sent);
      if (n <= 0) break;
      sent += static_cast<size_t>(n);
    }
    _exit(0);
  }
  write_end.reset();
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t n = read(read_end.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || text.size() > kScreenMessageBytesMax / 2) break;
    text.append(buffer, static_cast<size_t>(n));
  }
  read_end.reset();
  kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  json answer = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (answer.is_object()) {
    answer.erase("error");  // That is for this process to say.
    return answer;
  }
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const bool late = signal == SIGXCPU || signal == SIGALRM;
  return {{"outcome", static_cast<int>(v1::COMPILE_ERROR)},
          {"detail", late ? "reading the program took too long" : "the program broke the parser"}};
}

int Serve() {
  for (std::string text; ReceiveFrame(kScreenerFd, kIdle, &text);) {
    const json request = json::parse(text, nullptr, /*allow_exceptions=*/false);
    json answer = {{"error", "screener: a request outside the protocol"}};
    if (request.is_object() && request.contains("prepare")) {
      answer = Prepare(request.at("prepare"));
    } else if (request.is_object() && request.contains("kit") && request.contains("source")) {
      answer = ScreenInChild(request.at("kit"), request.at("source").get<std::string>());
    }
    if (!SendFrame(kScreenerFd, answer.dump(-1, ' ', false, json::error_handler_t::replace))) break;
  }
  return 0;
}

}  // namespace
}  // namespace whetstone

int main() { return whetstone::Serve(); }
