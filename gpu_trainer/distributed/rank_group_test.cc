#include "gpu_trainer/distributed/rank_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/eventually_testing.h"
#include "gpu_trainer/distributed/channel.h"
#include "gpu_trainer/distributed/ranks_testing.h"

namespace whetstone {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;
using ::testing::SizeIs;

std::string Words(const absl::Status& status) { return std::string(status.message()); }

// As NCCL's in LibTorch 2.11.
struct NcclWork : c10d::Work {
  explicit NcclWork(std::exception_ptr failure = nullptr) { finish(failure); }
  bool isSuccess() const override { throw std::logic_error("isSuccess() is deprecated"); }
};

TEST(ChannelTest, AWorkOfNcclSucceedsWithoutBeingAskedWhetherItDid) {
  EXPECT_NO_THROW(ThrowIfFailed(NcclWork()));
  try {
    ThrowIfFailed(NcclWork(std::make_exception_ptr(std::runtime_error("the link is down"))));
    FAIL() << "it failed";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "the link is down");
  }
}

TEST(RankPlace, IsWhatTheEnvironmentSays) {
  unsetenv("RANK");
  unsetenv("WORLD_SIZE");
  EXPECT_TRUE(RankPlaceFromEnvironment()->alone());
  const auto set = [](const char* name, const char* value) { setenv(name, value, 1); };
  set("RANK", "0");
  EXPECT_THAT(Words(RankPlaceFromEnvironment().status()), HasSubstr("has no WORLD_SIZE"));
  unsetenv("RANK");
  set("WORLD_SIZE", "0");
  EXPECT_THAT(Words(RankPlaceFromEnvironment().status()), HasSubstr("WORLD_SIZE is '0'"));
  set("WORLD_SIZE", "4");
  EXPECT_THAT(Words(RankPlaceFromEnvironment().status()), HasSubstr("has no RANK"));
  set("RANK", "4");
  EXPECT_THAT(Words(RankPlaceFromEnvironment().status()),
              HasSubstr("RANK is '4', not a number from 0 to 3"));
  set("RANK", "3");
  EXPECT_THAT(Words(RankPlaceFromEnvironment().status()), HasSubstr("LOCAL_RANK"));
  set("LOCAL_RANK", "one");
  EXPECT_THAT(Words(RankPlaceFromEnvironment().status()), HasSubstr("LOCAL_RANK is 'one'"));
  set("LOCAL_WORLD_SIZE", "5");
  EXPECT_THAT(Words(RankPlaceFromEnvironment().status()), HasSubstr("LOCAL_WORLD_SIZE is '5'"));
  set("LOCAL_WORLD_SIZE", "2");
  set("LOCAL_RANK", "2");
  EXPECT_THAT(Words(RankPlaceFromEnvironment().status()),
              HasSubstr("LOCAL_RANK is '2', not a number from 0 to 1"));
  set("LOCAL_RANK", "1");
  set("RANK", "0");
  EXPECT_THAT(Words(RankPlaceFromEnvironment().status()),
              HasSubstr("LOCAL_RANK is 1 and its RANK only 0"));
  set("RANK", "3");
  EXPECT_THAT(Words(RankPlaceFromEnvironment().status()), HasSubstr("MASTER_ADDR"));
  set("MASTER_ADDR", "gpu01");
  set("MASTER_PORT", "port");
  EXPECT_THAT(Words(RankPlaceFromEnvironment().status()), HasSubstr("MASTER_PORT is 'port'"));
  set("MASTER_PORT", "65536");
  EXPECT_THAT(Words(RankPlaceFromEnvironment().status()), HasSubstr("MASTER_PORT is '65536'"));
  set("MASTER_PORT", "29500");
  const RankPlace place = RankPlaceFromEnvironment().value();
  EXPECT_EQ(place.rank, 3);
  EXPECT_EQ(place.world_size, 4);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.master_address, "gpu01");
  EXPECT_EQ(place.master_port, 29500);
  EXPECT_EQ(place.local_size, 2);
  for (const char* name :
       {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    unsetenv(name);
  }
}

TEST(RankPlace, EachRankOfAHostHasAGpuOfItsOwn) {
  const RankPlace place{.rank = 5, .world_size = 8, .local_rank = 1, .local_size = 4};
  EXPECT_EQ(*GpuOf(place, 4), 1);
  EXPECT_THAT(Words(GpuOf(place, 1).status()), HasSubstr("rank 5 (LOCAL_RANK 1) has no GPU"));
}

TEST(RankGroup, OneRankIsAloneAndCommunicatesNothing) {
  RankGroup ranks;
  torch::Tensor tensor = torch::ones({3});
  EXPECT_TRUE(ranks.AllReduce("tensors", {tensor}).ok());
  EXPECT_EQ(tensor.sum().item<float>(), 3);
  EXPECT_THAT(*ranks.AllGather("words", "mine"), ElementsAre("mine"));
  EXPECT_EQ(*ranks.Broadcast("command"), "command");
  EXPECT_EQ(Words(ranks.StatusBarrier("work", [] { return absl::InternalError("mine"); })), "mine");
  EXPECT_EQ(ranks.traffic().bytes, 0);
}

TEST(RankGroup, AllGathersRowsAndGathersUnequalPiecesAtRank0) {
  RunAsRanks(3, [](RankGroup& ranks) {
    const int me = ranks.rank();
    // Several gathers, of several types, are on their way at once.
    std::vector<torch::Tensor> all;
    std::vector<RankGroup::Finish> finish;
    for (const auto dtype : {torch::kByte, torch::kFloat, torch::kBFloat16, torch::kByte}) {
      all.push_back(torch::zeros({3, 1000}, dtype));
      all.back()[me].fill_(10 + me);
      finish.push_back(ranks.StartAllGather("rows", all.back()));
    }
    const double before = ranks.traffic().bytes;
    for (const RankGroup::Finish& f : finish) ASSERT_TRUE(f().ok());
    EXPECT_EQ(ranks.traffic().bytes - before, 2 * 1000 * (1 + 4 + 2 + 1));
    for (const torch::Tensor& rows : all) {
      for (int r = 0; r < 3; ++r) EXPECT_TRUE(rows[r].eq(10 + r).all().item<bool>());
    }

    const std::vector<int64_t> sizes = {5, 0, 7};
    const auto mine = torch::full({sizes[static_cast<size_t>(me)]}, me, torch::kByte);
    const auto pieces = ranks.Gather("pieces", mine, sizes);
    ASSERT_TRUE(pieces.ok()) << pieces.status();
    ASSERT_EQ(pieces->size(), me == 0 ? 3u : 0u);
    for (size_t r = 0; r < pieces->size(); ++r) {
      EXPECT_EQ((*pieces)[r].numel(), sizes[r]);
      EXPECT_TRUE((*pieces)[r].eq(static_cast<int>(r)).all().item<bool>());
    }
  });
}

TEST(RankGroup, AnAllGatherWithARankThatIsGoneNamesIt) {
  RunAsRanks(2, [](RankGroup& ranks) {
    ASSERT_TRUE(ranks.AllGather("start", "").ok());
    if (ranks.rank() == 1) throw Vanish();
    const torch::Tensor rows = torch::zeros({2, 100});
    const absl::Status status = ranks.StartAllGather("rows", rows)();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(Words(status), HasSubstr("waiting for rows: rank 1 is gone"));
    EXPECT_EQ(ranks.StartAllGather("rows", rows)(), status) << "the group stays broken";
  });
}

TEST(RankGroup, SumsGathersAndBroadcasts) {
  for (const int size : {2, 3}) {
    RunAsRanks(size, [&](RankGroup& ranks) {
      const float me = static_cast<float>(ranks.rank() + 1);
      const float all = size == 2 ? 3 : 6;
      std::vector<torch::Tensor> tensors = {torch::full({3 << 20}, me), torch::full({7, 5}, me)};
      for (int i = 0; i < 5; ++i) tensors.push_back(torch::full({1 << 20}, me * i));
      ASSERT_TRUE(ranks.AllReduce("tensors", tensors).ok());
      EXPECT_TRUE(tensors[0].eq(all).all().item<bool>());
      EXPECT_TRUE(tensors[1].eq(all).all().item<bool>());
      for (int i = 0; i < 5; ++i) EXPECT_TRUE(tensors[2 + i].eq(all * i).all().item<bool>());
      EXPECT_NEAR(ranks.traffic().bytes, 4.0 * (8 * (1 << 20) + 35) * 2 * (size - 1) / size, 1);
      EXPECT_GT(ranks.traffic().communication_s, 0);

      const auto words = *ranks.AllGather("words", std::string(ranks.rank() * 100, 'x'));
      for (int r = 0; r < size; ++r) EXPECT_EQ(words[r], std::string(r * 100, 'x'));
      const auto numbers = *ranks.AllGatherNumbers("numbers", {1.5 * ranks.rank(), 2});
      for (int r = 0; r < size; ++r) EXPECT_THAT(numbers[r], ElementsAre(1.5 * r, 2));
      EXPECT_EQ(*ranks.Broadcast(ranks.rank() == 0 ? "do it" : ""), "do it");
    });
  }
}

TEST(RankGroup, WhatOneRankPushedAnotherPops) {
  RunAsRanks(2, [](RankGroup& ranks) {
    const std::string mine = absl::StrCat("queue", ranks.rank());
    const std::string other = absl::StrCat("queue", 1 - ranks.rank());
    // Often: what was pushed was not always there yet.
    for (int i = 0; i < 200; ++i) {
      ASSERT_TRUE(ranks.Push(mine, absl::StrCat("first ", i)).ok());
      ASSERT_TRUE(ranks.Push(mine, std::string(10000, 'x')).ok());
      ASSERT_TRUE(ranks.AllGather("pushed", "").ok());
      EXPECT_THAT(ranks.Pop(other).value(), Optional(absl::StrCat("first ", i)));
      EXPECT_THAT(ranks.Pop(other).value(), Optional(SizeIs(10000)));
      EXPECT_EQ(ranks.Pop(other).value(), std::nullopt);
      ASSERT_TRUE(ranks.AllGather("popped", "").ok());
    }
  });
}

TEST(RankGroup, SumsGoOnWhileRanksComputeAndTalk) {
  RunAsRanks(2, [](RankGroup& ranks) {
    const double me = ranks.rank() + 1;
    const torch::Tensor first = torch::full({1 << 20}, me), last = torch::full({1 << 20}, me);
    const torch::Tensor wide = torch::full({3}, 0.1 * me, torch::kDouble);
    std::vector<RankGroup::Finish> sums;
    const auto start = [&] {
      for (const torch::Tensor& t : {first, wide, last})
        sums.push_back(ranks.StartAllReduce("a sum", t));
    };
    // Words pass by sums that wait for the other rank.
    if (ranks.rank() == 0) start();
    ASSERT_TRUE(ranks.AllGather("words", "").ok());
    if (ranks.rank() == 1) start();
    EXPECT_EQ(ranks.traffic().communication_s, 0) << "not before they are finished";
    // They come in although nobody waits for them yet.
    const auto summed = [](const torch::Tensor& t) {
      float* const numbers = t.data_ptr<float>();
      return std::all_of(numbers, numbers + t.numel(), [](float& number) {
        return std::atomic_ref(number).load(std::memory_order_relaxed) == 3;
      });
    };
    EXPECT_TRUE(Eventually([&] { return summed(first) && summed(last); }));
    const auto waiting_since = std::chrono::steady_clock::now();
    for (const RankGroup::Finish& finish : sums) ASSERT_TRUE(finish().ok());
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - waiting_since;
    EXPECT_TRUE(first.eq(3).all().item<bool>());
    EXPECT_TRUE(last.eq(3).all().item<bool>());
    EXPECT_TRUE(wide.eq(0.1 + 0.2).all().item<bool>()) << "in fp64";
    const RankTraffic& traffic = ranks.traffic();
    EXPECT_EQ(traffic.bytes, 8 * (1 << 20) + 24);
    EXPECT_GT(traffic.communication_s, 0);
    EXPECT_GT(traffic.hidden_s, 0);
    EXPECT_LE(traffic.hidden_s, traffic.communication_s);
    EXPECT_LE(traffic.communication_s - traffic.hidden_s, waited.count())
        << "all is hidden but what finishing them took";
  });
}

TEST(RankGroup, AnErrorOfOneRankIsToldToAll) {
  RunAsRanks(2, [](RankGroup& ranks) {
    const absl::Status failed = ranks.StatusBarrier("loading", [&] {
      return ranks.rank() == 1 ? absl::NotFoundError("no such model") : absl::OkStatus();
    });
    if (ranks.rank() == 1) {
      EXPECT_EQ(failed, absl::NotFoundError("no such model"));
    } else {
      EXPECT_EQ(failed.code(), absl::StatusCode::kNotFound);
      EXPECT_EQ(Words(failed), "loading: rank 1 failed: no such model");
    }
    const auto throws = [&] {
      return ranks.StatusBarrier("thinking", [&]() -> absl::Status {
        if (ranks.rank() == 0) throw std::runtime_error("out of memory\nat …");
        return absl::OkStatus();
      });
    };
    if (ranks.rank() == 0) {
      EXPECT_THROW(throws().IgnoreError(), std::runtime_error);
    } else {
      EXPECT_EQ(Words(throws()), "thinking: rank 0 failed: out of memory");
    }
    // Whoever only tells of another's error is not the one to quote.
    const absl::Status outer = ranks.StatusBarrier("the call", [&] {
      const absl::Status inner = ranks.StatusBarrier("a piece", [&] {
        return ranks.rank() == 1 ? absl::InternalError("no") : absl::OkStatus();
      });
      return ranks.rank() == 1 ? absl::ResourceExhaustedError("out of memory") : inner;
    });
    EXPECT_EQ(outer.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(Words(outer),
              ranks.rank() == 1 ? "out of memory" : "the call: rank 1 failed: out of memory");
    EXPECT_TRUE(ranks.StatusBarrier("going on", [] { return absl::OkStatus(); }).ok());
    EXPECT_TRUE(ranks.CheckEqual({{"model", "a"}, {"threads", "1"}}).ok());
    EXPECT_EQ(Words(ranks.CheckEqual({{"model", "a"}, {"build", ranks.rank() == 0 ? "x" : "y"}})),
              "rank 1 has another build than rank 0: y, not x; all ranks must be alike");
  });
}

TEST(RankGroup, AWriteToARankThatHasJustGoneEndsNobody) {
  const auto before = std::signal(SIGPIPE, SIG_DFL);
  RunAsRanks(2, [](RankGroup& ranks) { EXPECT_TRUE(ranks.AllGather("words", "").ok()); });
  EXPECT_EQ(std::signal(SIGPIPE, before), SIG_IGN) << "Gloo's writev would raise it";
}

TEST(RankGroup, ARankThatIsGoneIsNamed) {
  std::atomic<int> told = 0;
  RunAsRanks(3, [&](RankGroup& ranks) {
    torch::Tensor tensor = torch::ones({1 << 20});
    ASSERT_TRUE(ranks.AllReduce("gradients", {tensor}).ok());
    if (ranks.rank() == 2) throw Vanish();
    const absl::Status status = ranks.AllReduce("gradients", {tensor});
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(Words(status), HasSubstr("waiting for gradients: rank 2 is gone"));
    EXPECT_EQ(ranks.broken(), status);
    EXPECT_EQ(ranks.AllGather("words", "").status(), status) << "broken for good";
    ++told;
  });
  EXPECT_EQ(told, 2);
}

TEST(RankGroup, ARankThatIsGoneWhileSumsAreOnTheirWayIsNamed) {
  std::atomic<int> told = 0;
  RunAsRanks(3, [&](RankGroup& ranks) {
    const torch::Tensor first = torch::ones({1 << 20}), last = torch::ones({1 << 20});
    const RankGroup::Finish finish_first = ranks.StartAllReduce("the first", first);
    if (ranks.rank() == 2) throw Vanish();
    const RankGroup::Finish finish_last = ranks.StartAllReduce("the last", last);
    finish_first().IgnoreError();  // It may have been over.
    const absl::Status status = finish_last();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(Words(status), HasSubstr("rank 2 is gone"));
    // Nothing starts any more, and nothing waits.
    EXPECT_EQ(ranks.StartAllReduce("one more", last)(), status);
    ++told;
  });
  EXPECT_EQ(told, 2);
}

TEST(RankGroup, ARankThatDoesNoWorkIsNamedWithinTheDeadline) {
  RankOptions options = QuickRanks();
  options.work_deadline = milliseconds(1000);
  std::atomic<bool> told = false;
  RunAsRanks(
      2,
      [&](RankGroup& ranks) {
        const auto start = std::chrono::steady_clock::now();
        const auto seconds = [&] {
          return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        };
        if (ranks.rank() == 1) {
          // As long as it works the other waits; then it hangs.
          EXPECT_TRUE(Eventually([&] {
            ranks.Working();
            return seconds() > 2;
          }));
          EXPECT_TRUE(Eventually([&] { return told.load(); }));
          throw Vanish();
        }
        const absl::Status status = ranks.AllGather("words", "").status();
        EXPECT_THAT(Words(status), HasSubstr("waiting for words: rank 1 has not come"));
        EXPECT_GT(seconds(), 2);
        told = true;
      },
      options);
}

TEST(RankGroup, RanksOfDifferentJobsAreRefusedOnEveryRank) {
  const auto join = [](std::vector<RankPlace> places) {
    const uint16_t port = FreeLoopbackPort().value();
    std::vector<std::string> words(places.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < places.size(); ++i) {
      places[i].master_address = "127.0.0.1";
      places[i].master_port = port;
      threads.emplace_back([&words, &places, i] {
        words[i] = Words(RankGroup::Join(places[i], QuickRanks()).status());
      });
    }
    for (std::thread& thread : threads) thread.join();
    return words;
  };
  const std::string other = "rank 1 was started with WORLD_SIZE 3, rank 0 with 2; ";
  EXPECT_THAT(join({{.rank = 0, .world_size = 2}, {.rank = 1, .world_size = 3}}),
              ElementsAre(HasSubstr("rank 0 of 2: " + other), HasSubstr("rank 1 of 3: " + other)));
  const std::string twice = "two processes were started with RANK 1";
  EXPECT_THAT(join({{.rank = 0, .world_size = 3},
                    {.rank = 1, .world_size = 3},
                    {.rank = 1, .world_size = 3}}),
              ElementsAre(HasSubstr("rank 0 of 3: " + twice), HasSubstr("rank 1 of 3: " + twice),
                          HasSubstr("rank 1 of 3: " + twice)));
}

TEST(RankGroup, WhoDoesNotJoinIsNamed) {
  RankOptions options = QuickRanks();
  options.join_deadline = std::chrono::seconds(1);
  RankPlace place{.rank = 0, .world_size = 3, .master_address = "127.0.0.1"};
  place.master_port = FreeLoopbackPort().value();
  EXPECT_THAT(Words(RankGroup::Join(place, options).status()),
              HasSubstr("rank 0 of 3: rank 1, rank 2 did not join within 1 s"));
  place.rank = 1;
  EXPECT_THAT(Words(RankGroup::Join(place, options).status()),
              HasSubstr("rank 1 of 3: rank 0 does not answer at MASTER_ADDR 127.0.0.1"));
}

}  // namespace
}  // namespace whetstone
