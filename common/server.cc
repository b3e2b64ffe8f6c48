#include "common/server.h"

#include <fcntl.h>
#include <grp.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/support/server_interceptor.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/file.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

// Compares in time that depends on the lengths only.
bool SameSecret(grpc::string_ref a, const std::string& b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    difference |= static_cast<unsigned char>(a.data()[i] ^ b[i]);
  }
  return difference == 0;
}

// Loopback TCP carries no identity, so every call must show the token.
class TokenProcessor final : public grpc::AuthMetadataProcessor {
 public:
  explicit TokenProcessor(const std::string& token) : expected_("Bearer " + token) {}
  bool IsBlocking() const override { return false; }
  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext*, OutputMetadata*,
                       OutputMetadata*) override {
    const auto it = metadata.find("authorization");
    if (it == metadata.end() || !SameSecret(it->second, expected_)) {
      return grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "missing or wrong bearer token");
    }
    return grpc::Status::OK;
  }

 private:
  const std::string expected_;
};

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> TcpCredentials(
    const ListenOptions& options) {
  const std::string& a = options.address;
  if (!absl::StartsWith(a, "127.0.0.1:") && !absl::StartsWith(a, "[::1]:") &&
      !absl::StartsWith(a, "localhost:")) {
    return absl::InvalidArgumentError(
        absl::StrCat("will not listen on '", a,
                     "': only unix:/PATH, 127.0.0.1:PORT or [::1]:PORT are allowed; "
                     "from outside, come in through SSH port forwarding"));
  }
  if (options.token_file.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "listening on TCP (", a, ") needs --token-file: a file of mode 0600 with a secret"));
  }
  struct stat info;
  if (stat(options.token_file.c_str(), &info) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", options.token_file));
  }
  if ((info.st_mode & 077) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.token_file, " can be read by others; run: chmod 600 ", options.token_file));
  }
  ASSIGN_OR_RETURN(std::string token, ReadFile(options.token_file));
  absl::StripAsciiWhitespace(&token);
  if (token.size() < 16) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.token_file, " holds ", token.size(), " characters; use at least 16"));
  }
  // Local credentials take loopback only, and they let the metadata processor run.
  auto credentials = grpc::experimental::LocalServerCredentials(LOCAL_TCP);
  credentials->SetAuthMetadataProcessor(std::make_shared<TokenProcessor>(token));
  return credentials;
}

// gRPC answers a request that it can't parse with INTERNAL and an empty text. It is the caller's
// mistake, and he gets to know which.
class MalformedRequestNamer final : public grpc::experimental::Interceptor {
 public:
  explicit MalformedRequestNamer(const char* method) : method_(method) {}
  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(
            grpc::experimental::InterceptionHookPoints::PRE_SEND_STATUS)) {
      const grpc::Status status = methods->GetSendStatus();
      if (status.error_code() == grpc::StatusCode::INTERNAL && status.error_message().empty()) {
        methods->ModifySendStatus(grpc::Status(
            grpc::StatusCode::INVALID_ARGUMENT,
            absl::StrCat(method_,
                         ": the request is not the message that this method takes; are "
                         "client and server of one version?")));
      }
    }
    methods->Proceed();
  }

 private:
  const std::string method_;
};

class MalformedRequestNamerFactory final
    : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override {
    return new MalformedRequestNamer(info->method());  // gRPC's to delete
  }
};

// Takes the lock beside the socket, so that two servers never share a path and a dead server's
// socket can be told from a live one's.
absl::StatusOr<UniqueFd> ClaimSocket(const std::string& path) {
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("socket path has ", path.size(), " bytes, at most ",
                     sizeof(sockaddr_un::sun_path) - 1, " are possible: ", path));
  }
  const std::string lock = path + ".lock";
  UniqueFd fd(open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (fd.get() < 0) {
    const absl::Status status = absl::ErrnoToStatus(errno, absl::StrCat("cannot create ", lock));
    if (!absl::IsPermissionDenied(status) || access(lock.c_str(), F_OK) != 0) return status;
    return absl::PermissionDeniedError(
        absl::StrCat(status.message(),
                     ": it is of another account; if no server of that account runs, remove it"));
  }
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return absl::AlreadyExistsError(
        absl::StrCat("another server listens on ", path, "; stop it or choose another socket"));
  }
  struct stat info;
  if (lstat(path.c_str(), &info) == 0) {
    if (!S_ISSOCK(info.st_mode)) {
      return absl::AlreadyExistsError(absl::StrCat(path, " exists and is not a socket"));
    }
    unlink(path.c_str());
  }
  return fd;
}

absl::Status RestrictSocket(const std::string& path, const std::string& group) {
  mode_t mode = 0600;
  if (!group.empty()) {
    const struct group* entry = getgrnam(group.c_str());
    if (entry == nullptr) return absl::NotFoundError(absl::StrCat("no group '", group, "'"));
    if (chown(path.c_str(), static_cast<uid_t>(-1), entry->gr_gid) != 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot give ", path, " to group ", group));
    }
    mode = 0660;
  }
  if (chmod(path.c_str(), mode) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot chmod ", path));
  }
  return absl::OkStatus();
}

}  // namespace

void BlockStopSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(const ListenOptions& options,
                                                            grpc::Service* service) {
  std::unique_ptr<RpcServer> server(new RpcServer);
  std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials();
  absl::string_view path = options.address;
  const bool is_unix = absl::ConsumePrefix(&path, "unix:");
  if (is_unix) {
    ASSIGN_OR_RETURN(server->socket_lock_, ClaimSocket(std::string(path)));
    server->socket_path_ = std::string(path);
  } else {
    ASSIGN_OR_RETURN(credentials, TcpCredentials(options));
  }

  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(options.address, credentials, &port);
  builder.RegisterService(service);
  builder.SetMaxReceiveMessageSize(kMessageBytesMax);
  builder.SetMaxSendMessageSize(kMessageBytesMax);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> interceptors;
  interceptors.push_back(std::make_unique<MalformedRequestNamerFactory>());
  builder.experimental().SetInterceptorCreators(std::move(interceptors));
  // gRPC makes the socket while starting: nobody else may reach it before its mode is set.
  const mode_t old_mask = umask(0177);
  server->server_ = builder.BuildAndStart();
  umask(old_mask);
  if (server->server_ == nullptr || (!is_unix && port == 0)) {
    return absl::AlreadyExistsError(
        absl::StrCat("cannot listen on ", options.address,
                     ": in use, or its folder is missing or not writable"));
  }
  if (is_unix) RETURN_IF_ERROR(RestrictSocket(server->socket_path_, options.group));
  if (!is_unix) server->port_ = port;
  return server;
}

RpcServer::~RpcServer() {
  if (server_) server_->Shutdown(std::chrono::system_clock::now());
  // The lock's file stays: whoever opened it before it was removed would own a lock that nobody
  // else sees.
  if (!socket_path_.empty()) unlink(socket_path_.c_str());
}

void RpcServer::ServeUntilSignal(double grace_s) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  int signal = 0;
  sigwait(&set, &signal);
  server_->GetHealthCheckService()->SetServingStatus(false);
  server_->Shutdown(std::chrono::system_clock::now() +
                    std::chrono::milliseconds(static_cast<int64_t>(grace_s * 1000)));
}

}  // namespace whetstone
