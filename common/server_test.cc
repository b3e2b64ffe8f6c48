#include "common/server.h"

#include <fcntl.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/file.h"
#include "whetstone/v1/worker.grpc.pb.h"

namespace whetstone {
namespace {

class InfoService final : public v1::Worker::Service {
  grpc::Status GetInfo(grpc::ServerContext*, const v1::WorkerInfoRequest*,
                       v1::WorkerInfo* info) override {
    info->set_hostname("here");
    return grpc::Status::OK;
  }
};

class ServerTest : public testing::Test {
 protected:
  grpc::Status Call(const std::shared_ptr<grpc::Channel>& channel, const std::string& token = "") {
    auto stub = v1::Worker::NewStub(channel);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
    if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
    v1::WorkerInfo info;
    return stub->GetInfo(&context, {}, &info);
  }
  TempDir dir_ = *TempDir::Make("server-test");
  InfoService service_;
};

TEST_F(ServerTest, UnixSocketIsPrivateAndExclusive) {
  const std::string path = dir_.path() + "/s";
  auto server = RpcServer::Start({"unix:" + path, "", ""}, &service_);
  ASSERT_TRUE(server.ok()) << server.status();
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_TRUE(Call(grpc::CreateChannel("unix:" + path, grpc::InsecureChannelCredentials())).ok());

  auto second = RpcServer::Start({"unix:" + path, "", ""}, &service_);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_NE(second.status().message().find(path), std::string::npos);
  server->reset();
  EXPECT_NE(stat(path.c_str(), &info), 0);
}

// It has opened the lock's file while the first server was there, and gets it when that one ends.
TEST_F(ServerTest, ASecondOneThatWaitedForTheLockIsSeenByAThird) {
  const std::string path = dir_.path() + "/s";
  auto first = RpcServer::Start({"unix:" + path, "", ""}, &service_);
  ASSERT_TRUE(first.ok()) << first.status();
  const UniqueFd second(open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_TRUE(second);
  first->reset();
  ASSERT_EQ(flock(second.get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(RpcServer::Start({"unix:" + path, "", ""}, &service_).status().code(),
            absl::StatusCode::kAlreadyExists);
}

TEST_F(ServerTest, ReplacesTheSocketOfADeadServer) {
  const std::string path = dir_.path() + "/s";
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  close(fd);
  auto server = RpcServer::Start({"unix:" + path, "", ""}, &service_);
  ASSERT_TRUE(server.ok()) << server.status();
}

TEST_F(ServerTest, RefusesEverythingButLoopback) {
  for (const char* address : {"0.0.0.0:0", "[::]:0", "10.0.0.1:80", "nonsense"}) {
    auto server = RpcServer::Start({address, "", ""}, &service_);
    EXPECT_EQ(server.status().code(), absl::StatusCode::kInvalidArgument) << address;
  }
  EXPECT_EQ(RpcServer::Start({"127.0.0.1:0", "", ""}, &service_).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(RpcServer::Start({"unix:/" + std::string(120, 'x'), "", ""}, &service_).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(ServerTest, TcpAsksForTheToken) {
  const std::string token_file = dir_.path() + "/token";
  ASSERT_TRUE(WriteFileAtomically(token_file, "0123456789abcdef\n").ok());
  EXPECT_FALSE(RpcServer::Start({"127.0.0.1:0", "", token_file}, &service_).ok());  // mode 0644
  chmod(token_file.c_str(), 0600);
  auto server = RpcServer::Start({"127.0.0.1:0", "", token_file}, &service_);
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string target = "127.0.0.1:" + std::to_string((*server)->port());
  auto channel = grpc::CreateChannel(target, grpc::experimental::LocalCredentials(LOCAL_TCP));
  EXPECT_EQ(Call(channel).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(Call(channel, "0123456789abcdeX").error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_TRUE(Call(channel, "0123456789abcdef").ok());
}

// What is no message of the method's type is answered with words, not with INTERNAL and nothing.
TEST_F(ServerTest, AMalformedRequestIsNamed) {
  const std::string path = dir_.path() + "/s";
  auto server = RpcServer::Start({"unix:" + path, "", ""}, &service_);
  ASSERT_TRUE(server.ok()) << server.status();
  const auto channel = grpc::CreateChannel("unix:" + path, grpc::InsecureChannelCredentials());
  const auto send = [&channel](const std::string& bytes) {
    grpc::GenericStub stub(channel);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
    const grpc::Slice slice(bytes);
    const grpc::ByteBuffer request(&slice, 1);
    grpc::CompletionQueue queue;
    const auto call =
        stub.PrepareUnaryCall(&context, "/whetstone.v1.Worker/GetInfo", request, &queue);
    call->StartCall();
    grpc::ByteBuffer reply;
    grpc::Status status;
    call->Finish(&reply, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
    return status;
  };
  EXPECT_TRUE(send("").ok()) << "an empty message";
  const grpc::Status malformed = send("\xff\xff\xff");
  EXPECT_EQ(malformed.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(malformed.error_message(),
            "/whetstone.v1.Worker/GetInfo: the request is not the message that this method takes; "
            "are client and server of one version?");
  EXPECT_TRUE(Call(channel).ok()) << "the server goes on";
}

}  // namespace
}  // namespace whetstone
