#include "gpu_trainer/engine/runner/generation_work.h"

#include <gtest/gtest.h>

namespace whetstone {
namespace {

ModelConfig Config() {
  ModelConfig c;
  c.hidden = 8;
  c.intermediate = 12;
  c.layers = 3;
  c.heads = 4;
  c.kv_heads = 2;
  c.head_dim = 2;
  c.vocab = 50;
  return c;
}
// kLayer counts a layer's numbers in qkv, o, gate, up and down; kHead counts the head's.
constexpr double kLayer = 16 * 8 + 8 * 8 + 3 * 12 * 8, kHead = 50 * 8;

TEST(GenerationWorkTest, ADecodingStepReadsEveryWeightOnce) {
  const GenerationWork work(Config(), 2);
  for (const int rows : {1, 5}) {
    EXPECT_EQ(work.DecodeMatmul(rows).flops, 2 * rows * (3 * kLayer + kHead));
    EXPECT_EQ(work.DecodeMatmul(rows).bytes, 2 * (3 * kLayer + kHead));
  }
}

TEST(GenerationWorkTest, AttentionReadsKeysAndValues) {
  const Work work = GenerationWork(Config(), 4).LayerAttention(/*pairs=*/10, /*tokens_read=*/7);
  EXPECT_EQ(work.flops, 10 * 2 * 2 * 8) << "two products over 4 heads of 2";
  EXPECT_EQ(work.bytes, 7 * 2 * 4 * 4) << "keys and values of 2 heads of 2";
}

TEST(GenerationWorkTest, APromptIsEncodedOnceAndGivesOneRowOfLogits) {
  const GenerationWork work(Config(), 2);
  const Work one = work.Prefill(1), six = work.Prefill(6);
  EXPECT_EQ(one.flops, work.DecodeMatmul(1).flops + 3 * work.LayerAttention(1, 1).flops);
  EXPECT_EQ(six.flops, 2 * (6 * 3 * kLayer + kHead) + 3 * work.LayerAttention(21, 6).flops);
  EXPECT_EQ(six.bytes, work.DecodeMatmul(1).bytes + 3 * work.LayerAttention(21, 6).bytes);
}

}  // namespace
}  // namespace whetstone
