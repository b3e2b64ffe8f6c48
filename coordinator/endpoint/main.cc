// whet-endpoint serves the Trainer service (proto/whetstone/v1/trainer.proto) on a model behind a
// server with OpenAI's chat completions API. `whet run` starts it in the trainer's place.
//
//   whet-endpoint serve --listen unix:/tmp/trainer.sock --url http://127.0.0.1:8000/v1 --model NAME
//   whet-endpoint check --url http://127.0.0.1:8000/v1 --model NAME
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>

#include "common/life_line.h"
#include "common/server.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "coordinator/endpoint/api_key.h"
#include "coordinator/endpoint/chat_client.h"
#include "coordinator/endpoint/endpoint_check.h"
#include "coordinator/endpoint/endpoint_service.h"
#include "coordinator/endpoint/generation.h"
#include "coordinator/endpoint/usage_ledger.h"

namespace whetstone {
namespace {

// Requests under way are cancelled: their completions will be asked for again.
constexpr double kStopGraceSeconds = 0.2;
constexpr int kConcurrencyMax = 1024;
constexpr double kTimeoutSecondsMax = 1e6;

struct Arguments {
  std::string url;
  std::string model;
  KeySource key;
  double timeout_s = 0;
  ListenOptions listen;
  int life_line_fd = -1;
  int concurrency = 8;
  UsageLimits limits;
  std::string usage_path;
};

std::chrono::milliseconds Timeout(const Arguments& arguments) {
  return std::chrono::milliseconds(static_cast<int64_t>(arguments.timeout_s * 1000));
}

absl::Status Serve(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const std::string key, ReadApiKey(arguments.key));
  RETURN_IF_ERROR(ApiUrl(arguments.url, "", !key.empty()).status());
  ASSIGN_OR_RETURN(const std::unique_ptr<UsageLedger> ledger,
                   UsageLedger::Open(arguments.usage_path, arguments.limits));
  ChatClient client({.url = arguments.url,
                     .model = arguments.model,
                     .key = key,
                     .concurrency = arguments.concurrency,
                     .timeout = Timeout(arguments)},
                    ledger.get());
  EndpointService service(&client, arguments.url, arguments.model, WHETSTONE_VERSION,
                          {.threads = arguments.concurrency, .finish_grace = Timeout(arguments)});
  ASSIGN_OR_RETURN(const std::unique_ptr<RpcServer> server,
                   RpcServer::Start(arguments.listen, &service));
  const Usage used = ledger->used();
  spdlog::info(
      "whet-endpoint {}: {} at {}, {} requests at once; used so far: {} requests, {} tokens",
      WHETSTONE_VERSION, arguments.model, arguments.url, arguments.concurrency, used.requests,
      used.prompt_tokens + used.completion_tokens);
  server->ServeUntilSignal(kStopGraceSeconds);
  spdlog::info("whet-endpoint stopped");
  return absl::OkStatus();
}

absl::Status Check(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const std::string key, ReadApiKey(arguments.key));
  return CheckEndpoint(arguments.url, arguments.model, key, Timeout(arguments));
}

void AddServerOptions(CLI::App* command, double timeout_s, Arguments* to) {
  command->add_option("--url", to->url, "The API's base, as http://127.0.0.1:8000/v1")->required();
  command->add_option("--model", to->model, "The model's name there")->required();
  auto* variable = command->add_option("--key-env", to->key.environment_variable,
                                       "Environment variable that holds the key");
  command->add_option("--key-file", to->key.file, "File that holds the key")->excludes(variable);
  command->add_option("--timeout-s", to->timeout_s, "Seconds a request may take")
      ->default_val(timeout_s)
      ->check(CLI::Range(0.001, kTimeoutSecondsMax));
}

// Returns the exit code: 2 for what the caller must change, 3 for what may pass.
int ExitCode(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 0;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kDataLoss:
      return 2;
    default:
      return 3;
  }
}

}  // namespace
}  // namespace whetstone

int main(int argc, char** argv) {
  whetstone::BlockStopSignals();
  spdlog::set_default_logger(spdlog::stderr_logger_mt("endpoint"));
  CLI::App app("Whetstone's way to a model that another server holds.");
  app.set_version_flag("--version", whetstone::kVersionText);
  app.require_subcommand(1);
  whetstone::Arguments to_serve;
  CLI::App* serve = app.add_subcommand("serve", "Serve until SIGINT or SIGTERM");
  whetstone::AddServerOptions(serve, 600, &to_serve);
  serve->add_option("--listen", to_serve.listen.address, "unix:/PATH to serve on (mode 0600)")
      ->required();
  serve->add_option("--life-line-fd", to_serve.life_line_fd,
                    "Inherited pipe; the service ends when its other end closes");
  serve->add_option("--concurrency", to_serve.concurrency, "Requests under way at once")
      ->capture_default_str()
      ->check(CLI::Range(1, whetstone::kConcurrencyMax));
  serve
      ->add_option("--requests-max", to_serve.limits.requests_max,
                   "Most requests of all times that --usage knows; 0: no limit")
      ->check(CLI::NonNegativeNumber);
  serve
      ->add_option("--tokens-max", to_serve.limits.tokens_max,
                   "Most tokens of them, prompts included; 0: no limit")
      ->check(CLI::NonNegativeNumber);
  serve->add_option("--usage", to_serve.usage_path,
                    "File that counts requests and tokens; default: counted until the end only");
  whetstone::Arguments to_check;
  CLI::App* check =
      app.add_subcommand("check", "Ask whether the server is there and has the model");
  whetstone::AddServerOptions(check, 20, &to_check);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (serve->parsed()) whetstone::HoldLifeLine(to_serve.life_line_fd);
  const absl::Status status =
      serve->parsed() ? whetstone::Serve(to_serve) : whetstone::Check(to_check);
  if (!status.ok()) std::cerr << "whet-endpoint: " << status.message() << "\n";
  return whetstone::ExitCode(status);
}
