// The tables of rooms in docs/architecture.md say who may include whom; they are whole, free of
// circles and no wider than the code. Some libraries have one home.
#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tidy/tree.h"

namespace whetstone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Rooms has the rooms that a room's sources may include besides itself. Names end with a slash;
// "whetstone/" are the generated protos.
using Rooms = std::map<std::string, std::vector<std::string>>;

// Returns the first folder of a path, with its slash.
std::string ServiceOf(const std::string& path) { return path.substr(0, path.find('/') + 1); }

// Reads the rows "| `service/room/` | what it holds | `other/` `common/` |" of a page. What a row
// may include is a room of the same service by its name there, or any by its whole name.
Rooms RoomsOf(const std::string& page) {
  Rooms rooms;
  for (const std::string& line : Lines(page)) {
    const std::vector<std::string> cells = absl::StrSplit(line, " | ");
    const std::vector<std::string> first = Quoted(cells[0]);
    if (!absl::StartsWith(line, "| `") || cells.size() != 3 || first.size() != 1 ||
        !absl::EndsWith(first[0], "/")) {
      continue;
    }
    rooms[first[0]] = Quoted(cells[2]);
  }
  for (auto& [room, may_include] : rooms) {
    for (std::string& other : may_include) {
      const std::string within = absl::StrCat(ServiceOf(room), other);
      if (rooms.count(within) > 0) other = within;
    }
  }
  return rooms;
}

const Rooms& ProjectRooms() {
  static const auto* const kRooms = new Rooms(RoomsOf(FileOf("docs/architecture.md").text));
  return *kRooms;
}

// Returns the room of a file, the longest that its path begins with, or "" if it has none.
std::string RoomOf(const std::string& path, const Rooms& rooms) {
  std::string room;
  for (const auto& [name, may_include] : rooms) {
    if (absl::StartsWith(path, name) && name.size() > room.size()) room = name;
  }
  return absl::StartsWith(path, "whetstone/") ? "whetstone/" : room;
}

bool IsOurs(const std::string& include) {
  return absl::StartsWith(include, "whetstone/") ||
         std::any_of(std::begin(kFolders), std::end(kFolders), [&](const char* folder) {
           return absl::StartsWith(include, absl::StrCat(folder, "/"));
         });
}

// benchmarks/ and tests/ may include everything. Tests in a room may look into every room of their
// service, and of what its rooms build on.
bool Allowed(const std::string& from, const std::string& to, bool test, const Rooms& rooms) {
  const auto row = rooms.find(from);
  if (from == to || row == rooms.end()) return true;
  if (std::count(row->second.begin(), row->second.end(), to) > 0) return true;
  if (!test) return false;
  if (ServiceOf(to) == ServiceOf(from)) return true;
  return std::any_of(rooms.begin(), rooms.end(), [&](const Rooms::value_type& other) {
    return ServiceOf(other.first) == ServiceOf(from) &&
           std::count(other.second.begin(), other.second.end(), to) > 0;
  });
}

std::vector<std::string> CheckIncludes(const SourceFile& file, const Rooms& rooms) {
  std::vector<std::string> problems;
  if (!IsCpp(file.path)) return problems;
  const std::string from = RoomOf(file.path, rooms);
  for (const Include& include : Includes(file)) {
    if (!IsOurs(include.path)) continue;
    if (!Allowed(from, RoomOf(include.path, rooms), IsTest(file.path), rooms)) {
      problems.push_back(At(file, include.line, absl::StrCat("may not include ", include.path)));
    }
  }
  return problems;
}

// Every folder with sources of a service is a room; benchmarks, tests and texts are none.
std::vector<std::string> CheckHasRoom(const SourceFile& file, const Rooms& rooms) {
  if (!IsCpp(file.path)) return {};
  for (const char* folder : {"benchmarks/", "prompts/", "tests/"}) {
    if (absl::StartsWith(file.path, folder)) return {};
  }
  const std::string folder = file.path.substr(0, file.path.rfind('/') + 1);
  if (rooms.count(folder) > 0) return {};
  return {At(file, 1, absl::StrCat(folder, " has no row in docs/architecture.md"))};
}

// Returns a circle of rooms as "a/ → b/ → a/", or "" if there is none.
std::string Circle(const Rooms& rooms) {
  std::set<std::string> done;
  std::vector<std::string> path;
  const std::function<std::string(const std::string&)> visit =
      [&](const std::string& room) -> std::string {
    const auto begin = std::find(path.begin(), path.end(), room);
    if (begin != path.end()) {
      return absl::StrCat(absl::StrJoin(begin, path.end(), " → "), " → ", room);
    }
    const auto row = rooms.find(room);
    if (row == rooms.end() || done.count(room) > 0) return "";
    path.push_back(room);
    for (const std::string& next : row->second) {
      std::string circle = visit(next);
      if (!circle.empty()) return circle;
    }
    path.pop_back();
    done.insert(room);
    return "";
  };
  for (const auto& [room, may_include] : rooms) {
    std::string circle = visit(room);
    if (!circle.empty()) return circle;
  }
  return "";
}

// Returns the permissions that no file uses.
std::vector<std::string> Unused(const Rooms& rooms, const std::vector<SourceFile>& files) {
  std::set<std::pair<std::string, std::string>> used;
  for (const SourceFile& file : files) {
    if (!IsCpp(file.path) || IsTest(file.path)) continue;
    for (const Include& include : Includes(file)) {
      if (IsOurs(include.path))
        used.insert({RoomOf(file.path, rooms), RoomOf(include.path, rooms)});
    }
  }
  std::vector<std::string> unused;
  for (const auto& [room, may_include] : rooms) {
    for (const std::string& other : may_include) {
      if (used.count({room, other}) == 0) {
        unused.push_back(absl::StrCat(room, " never includes ", other));
      }
    }
  }
  return unused;
}

// Returns a path without its extension: x.h and x.cc are one unit.
std::string UnitOf(const std::string& path) { return path.substr(0, path.rfind('.')); }

// Returns pairs of units that include each other. What a unit is made of may include its header,
// and be included by its source: of two sources that use each other's headers neither is the lower
// one, and of two headers neither can be read first.
std::vector<std::string> Mutual(const std::vector<SourceFile>& files) {
  using Pairs = std::set<std::pair<std::string, std::string>>;
  Pairs by_headers;
  Pairs by_sources;
  for (const SourceFile& file : files) {
    if (!IsCpp(file.path) || IsTest(file.path)) continue;
    Pairs& pairs = HasExtension(file.path, {".h", ".cuh"}) ? by_headers : by_sources;
    for (const Include& include : Includes(file)) {
      if (IsOurs(include.path)) pairs.insert({UnitOf(file.path), UnitOf(include.path)});
    }
  }
  std::vector<std::string> mutual;
  for (const Pairs* pairs : {&by_headers, &by_sources}) {
    for (const auto& [from, to] : *pairs) {
      if (from < to && pairs->count({to, from}) > 0) {
        mutual.push_back(absl::StrCat(from, " and ", to, " include each other"));
      }
    }
  }
  return mutual;
}

// A library has one home: an include that begins so is allowed in these folders only.
struct Home {
  const char* include;
  std::vector<std::string> folders;
};
const std::vector<Home>& Homes() {
  static const auto* const kHomes = new std::vector<Home>{
      {"torch/", {"gpu_trainer/", "benchmarks/", "tests/conformance/"}},
      {"ATen/", {"gpu_trainer/", "benchmarks/"}},
      {"c10/", {"gpu_trainer/", "benchmarks/"}},
      {"cuda", {"gpu_trainer/"}},
      {"libssh/", {"coordinator/tunnel/"}},
      {"curl/", {"coordinator/endpoint/"}},
      {"clang/", {"cpu_bench_worker/rewrite/", "cpu_bench_worker/screen/"}},
      {"llvm/", {"cpu_bench_worker/screen/"}},
      {"hwloc.h", {"cpu_bench_worker/host/"}},
      {"sqlite3.h", {"coordinator/journal/", "tests/"}},
      {"seccomp.h", {"sandbox/"}},
      {"grpcpp/",
       {"benchmarks/", "common/", "coordinator/endpoint/", "coordinator/loop/", "coordinator/rpc/",
        "coordinator/services/", "cpu_bench_worker/service/", "gpu_trainer/rpc/", "tests/"}},
  };
  return *kHomes;
}

std::vector<std::string> CheckHomes(const SourceFile& file) {
  std::vector<std::string> problems;
  if (!IsCpp(file.path)) return problems;
  for (const Include& include : Includes(file)) {
    const auto starts_with = [&](const char* prefix) {
      return absl::StartsWith(include.path, prefix);
    };
    for (const Home& home : Homes()) {
      if (starts_with(home.include) &&
          std::none_of(home.folders.begin(), home.folders.end(),
                       [&](const std::string& f) { return absl::StartsWith(file.path, f); })) {
        problems.push_back(
            At(file, include.line, absl::StrCat(include.path, " has its home elsewhere")));
      }
    }
    if (HasExtension(file.path, {".cu", ".cuh"}) &&
        (starts_with("torch/") || starts_with("ATen/") || starts_with("c10/"))) {
      problems.push_back(At(file, include.line, "a kernel file includes a LibTorch header"));
    }
  }
  return problems;
}

// The rooms of the pure core have no I/O, no clock and no threads. Whatever could bring them is not
// on this list of all that they include from elsewhere.
std::vector<std::string> CheckPure(const SourceFile& file) {
  static const auto* const kPure = new std::set<std::string>{
      "common/philox.h",        "common/retry_policy.h", "common/reward_noise.h",
      "common/second_turn.h",   "common/sha256.h",       "common/status_macros.h",
      "common/trainer_lease.h", "common/utf8.h",         "nlohmann/json.hpp",
      "nlohmann/json_fwd.hpp"};
  static const auto* const kLibrary = new std::set<std::string>{
      "algorithm", "array",  "cmath",  "cstddef", "cstdint", "deque",    "functional",
      "limits",    "map",    "memory", "numbers", "numeric", "optional", "set",
      "span",      "string", "tuple",  "utility", "variant", "vector"};
  const bool core = absl::StartsWith(file.path, "coordinator/campaign/") ||
                    absl::StartsWith(file.path, "coordinator/durable/");
  if (!core || !IsCpp(file.path) || IsTest(file.path)) return {};
  std::vector<std::string> problems;
  for (const Include& include : Includes(file)) {
    if (absl::StartsWith(include.path, "absl/") || absl::StartsWith(include.path, "whetstone/") ||
        absl::StartsWith(include.path, "coordinator/") || kPure->count(include.path) > 0 ||
        kLibrary->count(include.path) > 0) {
      continue;
    }
    problems.push_back(At(file, include.line, absl::StrCat("is not pure: ", include.path)));
  }
  return problems;
}

TEST(RoomsTest, TheCampaignsCoreIsPure) {
  EXPECT_THAT(CheckTree(CheckPure), IsEmpty());
  const auto check = [](const char* path, const char* include) {
    return CheckPure({path, absl::StrCat("#include ", include, "\n")});
  };
  EXPECT_THAT(check("coordinator/campaign/a.cc", "<thread>"), SizeIs(1));
  EXPECT_THAT(check("coordinator/durable/a.cc", "<chrono>"), SizeIs(1));
  EXPECT_THAT(check("coordinator/durable/a.cc", "\"common/file.h\""), SizeIs(1));
  EXPECT_THAT(check("coordinator/loop/a.cc", "<thread>"), IsEmpty());
}

TEST(RoomsTest, EverySourceIsInOne) {
  EXPECT_THAT(CheckTree([](const SourceFile& file) { return CheckHasRoom(file, ProjectRooms()); }),
              IsEmpty());
  EXPECT_THAT(CheckHasRoom({"a/b/c.cc", ""}, {{"a/", {}}}), SizeIs(1));
  EXPECT_THAT(CheckHasRoom({"a/b/c.cc", ""}, {{"a/b/", {}}}), IsEmpty());
}

TEST(RoomsTest, IncludeOnlyWhatTheirRowsSay) {
  EXPECT_THAT(CheckTree([](const SourceFile& file) { return CheckIncludes(file, ProjectRooms()); }),
              IsEmpty());
  const Rooms rooms = RoomsOf(
      "| `common/` | files | |\n| `common/x/` | data | `common/` |\n"
      "| `proto/` | contracts | |\n| `coordinator/a/` | it | `b/` `common/` |\n"
      "| `coordinator/b/` | that | `whetstone/` |\n");
  const auto check = [&](const char* path, const char* include) {
    return CheckIncludes({path, absl::StrCat("#include \"", include, "\"\n")}, rooms);
  };
  EXPECT_THAT(check("coordinator/b/c.cc", "coordinator/a/d.h"),
              ElementsAre("coordinator/b/c.cc:1: may not include coordinator/a/d.h"));
  EXPECT_THAT(check("coordinator/a/c.cc", "coordinator/b/d.h"), IsEmpty());
  EXPECT_THAT(check("coordinator/a/c.cc", "whetstone/v1/d.pb.h"), SizeIs(1));
  EXPECT_THAT(check("coordinator/b/c.cc", "whetstone/v1/d.pb.h"), IsEmpty());
  EXPECT_THAT(check("coordinator/a/c.cc", "common/x/d.h"), SizeIs(1));
  EXPECT_THAT(check("coordinator/a/c.cc", "gpu_trainer/d.h"), SizeIs(1));
  EXPECT_THAT(check("coordinator/b/c_test.cc", "coordinator/a/d.h"), IsEmpty());
  EXPECT_THAT(check("coordinator/b/c_test.cc", "common/d.h"), IsEmpty());
  EXPECT_THAT(check("coordinator/b/c_test.cc", "common/x/d.h"), SizeIs(1));
}

TEST(RoomsTest, NoArrowPointsUpward) {
  EXPECT_EQ(Circle(ProjectRooms()), "");
  EXPECT_EQ(Circle({{"a/", {"b/"}}, {"b/", {"c/"}}, {"c/", {"b/"}}}), "b/ → c/ → b/");
}

TEST(RoomsTest, NoRowIsWiderThanTheCode) {
  EXPECT_THAT(Unused(ProjectRooms(), Tree()), IsEmpty());
  EXPECT_THAT(Unused({{"proto/", {"common/"}}}, {{"proto/a.cc", "#include \"proto/b.h\"\n"}}),
              ElementsAre(HasSubstr("never includes common/")));
}

TEST(RoomsTest, NoTwoFilesIncludeEachOther) {
  EXPECT_THAT(Mutual(Tree()), IsEmpty());
  const SourceFile header = {"common/a.h", "#include \"common/b.h\"\n"};
  const SourceFile source = {"common/a.cc", "#include \"common/b.h\"\n"};
  EXPECT_THAT(Mutual({header, {"common/b.h", "#include \"common/a.h\"\n"}}), SizeIs(1));
  EXPECT_THAT(Mutual({source, {"common/b.cc", "#include \"common/a.h\"\n"}}), SizeIs(1));
  EXPECT_THAT(Mutual({source, {"common/b.h", "#include \"common/a.h\"\n"}}), IsEmpty());
}

TEST(HomesTest, ALibraryHasOne) {
  EXPECT_THAT(CheckTree(CheckHomes), IsEmpty());
  const auto check = [](const char* path, const char* include) {
    return CheckHomes({path, absl::StrCat("#include ", include, "\n")});
  };
  EXPECT_THAT(check("coordinator/a.cc", "<torch/torch.h>"), SizeIs(1));
  EXPECT_THAT(check("coordinator/services/a.cc", "<libssh/libssh.h>"), SizeIs(1));
  EXPECT_THAT(check("cpu_bench_worker/a.cc", "\"clang/AST/AST.h\""), SizeIs(1));
  EXPECT_THAT(check("gpu_trainer/kernels/cuda/a.cu", "<ATen/ATen.h>"), SizeIs(1));
  EXPECT_THAT(check("coordinator/tunnel/a.cc", "<libssh/libssh.h>"), IsEmpty());
}

}  // namespace
}  // namespace whetstone
