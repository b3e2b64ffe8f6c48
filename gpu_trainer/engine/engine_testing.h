// The tests of generation use a tokenizer small enough to write down.
#ifndef WHETSTONE_GPU_TRAINER_ENGINE_ENGINE_TESTING_H_
#define WHETSTONE_GPU_TRAINER_ENGINE_ENGINE_TESTING_H_

#include <chrono>
#include <string>

#include "common/clock.h"
#include "common/utf8.h"
#include "gpu_trainer/tokenizer/byte_level.h"

namespace whetstone {

// Returns a tokenizer.json of 256 bytes, <eos> = 256 and padding to 260.
inline std::string ByteTokenizerJson() {
  std::string vocab;
  for (size_t byte = 0; byte < 256; ++byte) {
    std::string symbol;
    AppendUtf8(ByteAlphabet()[byte], &symbol);
    const bool escaped = symbol == "\"" || symbol == "\\";
    vocab += (escaped ? "\"\\" : "\"") + symbol + "\":" + std::to_string(byte) + ",";
  }
  return R"({"model":{"type":"BPE","merges":[],"vocab":{)" + vocab +
         R"("<eos>":256}},"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},)"
         R"("added_tokens":[{"id":256,"content":"<eos>","special":true,"normalized":false}]})";
}

// Every look at it takes a second.
class TickingClock final : public Clock {
 public:
  std::chrono::nanoseconds Now() const override { return std::chrono::seconds(++seconds_); }

 private:
  mutable int seconds_ = 0;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_ENGINE_ENGINE_TESTING_H_
