// This service, for tests of LocalService, is healthy unless told otherwise.
//
//   test_service [--refuse] [--die-file PATH] --listen unix:PATH --life-line-fd N
//
// With --die-file it removes that file and dies as soon as it appears.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include "common/life_line.h"
#include "common/server.h"
#include "whetstone/v1/worker.grpc.pb.h"

int main(int argc, char** argv) {
  whetstone::BlockStopSignals();
  CLI::App app{"test service"};
  whetstone::ListenOptions listen;
  int life_line = -1;
  std::string die_file;
  bool refuse = false;
  app.add_option("--listen", listen.address);
  app.add_option("--life-line-fd", life_line);
  app.add_option("--die-file", die_file);
  app.add_flag("--refuse", refuse);
  CLI11_PARSE(app, argc, argv);
  whetstone::HoldLifeLine(life_line);
  if (refuse) {
    std::fprintf(stderr, "no memory for the model\n");
    return 3;
  }
  whetstone::v1::Worker::Service service;  // every call is UNIMPLEMENTED; health is the server's
  auto server = whetstone::RpcServer::Start(listen, &service);
  if (!server.ok()) return 1;
  if (!die_file.empty()) {
    std::thread([die_file] {
      while (std::remove(die_file.c_str()) != 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      std::fprintf(stderr, "about to die\n");
      std::abort();
    }).detach();
  }
  (*server)->ServeUntilSignal(1);
  return 0;
}
