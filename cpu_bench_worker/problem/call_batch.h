// The data of k calls at one size point: where every array lies in the shared regions, what the
// inputs are and what the outputs hold before a call.
//
//   CallBatch batch(&arguments, shape, /*calls=*/4, Placement{.seed = 7});
//   batch.Fill(key, FillStyle::kPlain);
//   memcpy(inputs.data(), batch.inputs().data(), batch.inputs().size());
//
// Both regions are kept as private images of exactly the bytes that go into shared memory, so that
// writing them before a call is one copy each, and a child's output is compared with the image.
// Inputs above kInPlaceBytesMin have no image: PlaceInputs gives them a place in the shared region,
// which Fill writes. Not thread-safe.
//
// Every Fill of a kernel's batch shuffles its calls in the regions, with gaps between them that
// hold what was there before: what a child remembers of earlier requests is of no use, and of the
// next call's place it can only guess (docs/security.md says what is left).
#ifndef WHETSTONE_CPU_BENCH_WORKER_PROBLEM_CALL_BATCH_H_
#define WHETSTONE_CPU_BENCH_WORKER_PROBLEM_CALL_BATCH_H_

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cpu_bench_worker/problem/arguments.h"
#include "cpu_bench_worker/problem/fill.h"

namespace whetstone {

struct Placement {
  // Moves every array by a random multiple of 64 bytes within a page: equal for reference and
  // candidate, fresh for each process pair, so luck with cache sets averages out.
  uint64_t seed = 0;
  // Arrays are aligned to their element and to nothing more; otherwise to 64 bytes.
  bool unaligned = false;
  // Of one call: the input and the output array of this number (modulo how many of them there are)
  // end at a page's end, and the inputs and the outputs with them. Where no memory follows, who
  // goes on beyond them crashes. -1: none does.
  int last_array = -1;
};

// Who is called; it decides what a row of the call table holds.
enum class CallRole {
  kKernel,     // the signature's arguments, then the place of the returned value
  kGenerator,  // every array in the output region, then the seed
  kChecker,    // every array in the input region, in-out ones twice, then the returned value by
               // value, then the place of the bool
};

// Where a word of the call table leads: to an array in one of the regions, or nowhere, because it
// is a plain number itself. (A struct that goes by value lies in a region, like an array of one.)
enum class WordPlace { kScalar, kInput, kOutput };

// One word of a row, and what it leads to.
struct CallWord {
  WordPlace place = WordPlace::kScalar;
  int arg = -1;         // index into Arguments::specs; kReturnWord, kSeedWord or kVerdictWord
  bool before = false;  // kChecker: the in-out array as it was before the call
  size_t bytes = 0;
  size_t alignment = 1;  // of its elements
};
inline constexpr int kReturnWord = -1;
inline constexpr int kSeedWord = -2;
inline constexpr int kVerdictWord = -3;

// The words of one row, in their order.
std::vector<CallWord> WordsOf(const Arguments& arguments, const CallShape& shape, CallRole role);

// The bytes around every output array, which nobody may write.
inline constexpr size_t kGuardBytes = 64;
inline constexpr uint8_t kGuardByte = 0xC5;

// Inputs of a kernel's batch larger than this are written where the children read them and never
// copied: an image and two copies a sample would cost more than the sample.
inline constexpr size_t kInPlaceBytesMin = size_t{32} << 20;

class CallBatch {
 public:
  // `arguments` is borrowed and must outlive the batch.
  CallBatch(const Arguments* arguments, const CallShape& shape, int calls, Placement placement,
            CallRole role = CallRole::kKernel);

  // From now on the inputs are the input_bytes() at `at` (zeroed, 64-byte aligned), which lie at
  // `offset` in the region: large ones are written there, others are copied there by whoever calls.
  // Borrowed while the batch is used.
  void PlaceInputs(char* at, size_t offset);
  bool in_place() const { return in_place_; }
  // From now on the outputs lie at `offset` in their region.
  void PlaceOutputs(size_t offset) { output_offset_ = offset; }
  // Says whether inputs and outputs end at a page's end, as Placement::last_array asks.
  bool ends_at_page() const { return ends_at_page_; }
  size_t input_bytes() const { return input_bytes_; }
  size_t input_offset() const { return input_offset_; }
  size_t output_offset() const { return output_offset_; }

  // Shuffles the calls, fills every input that has a `fill`, draws the scalars and poisons the
  // outputs; kKernel only.
  void Fill(uint64_t key, FillStyle style);

  int calls() const { return calls_; }
  const CallShape& shape() const { return shape_; }
  const std::vector<CallWord>& words() const { return words_; }
  size_t offset(int call, size_t word) const { return offsets_[Index(call, word)]; }
  // The bits of a scalar word, readable and writable.
  uint64_t& scalar(int call, size_t word) { return scalars_[Index(call, word)]; }
  uint64_t scalar(int call, size_t word) const { return scalars_[Index(call, word)]; }

  // The images. `outputs` is what the region holds before the call. `inputs` of a batch that is in
  // place: the region itself, once placed.
  char* inputs() { return in_place_ ? placed_ : inputs_.data(); }
  const char* inputs() const { return in_place_ ? placed_ : inputs_.data(); }
  std::string& outputs() { return outputs_; }
  const std::string& outputs() const { return outputs_; }

  // Writes the call table for regions mapped at these addresses in the child.
  void WriteTable(uint64_t input_address, uint64_t output_address, uint64_t* table) const;
  // True when every byte of `got` (an output region after the calls) outside the arrays is intact.
  bool GuardsIntact(const char* got) const;

  static size_t TableWords(size_t words, int calls) { return words * static_cast<size_t>(calls); }

 private:
  size_t Index(int call, size_t word) const {
    return static_cast<size_t>(call) * words_.size() + word;
  }

  // Returns the word of the region's array of this number, modulo how many there are; or none.
  size_t ArrayIn(WordPlace region, int number) const;
  bool IsLast(size_t word) const { return word == last_[0] || word == last_[1]; }

  // Gives every array a place, the calls in `order_`, each behind a gap of `gap_lines()` lines.
  // Returns where they end: in the inputs and in the outputs.
  std::array<size_t, 2> LayOut(const std::function<size_t()>& gap_lines);

  const Arguments* arguments_;
  CallShape shape_;
  int calls_;
  bool unaligned_;
  std::vector<CallWord> words_;
  bool ends_at_page_ = false;
  // The words whose arrays end at a page's end, of inputs and of outputs; or none.
  std::array<size_t, 2> last_ = {SIZE_MAX, SIZE_MAX};
  std::vector<size_t> shifts_;  // of each word's arrays, as Placement says
  std::vector<int> order_;      // of the calls in the regions
  std::vector<size_t> offsets_;
  std::vector<uint64_t> scalars_;
  size_t input_bytes_ = 0;
  bool in_place_ = false;
  char* placed_ = nullptr;
  size_t input_offset_ = 0;
  size_t output_offset_ = 0;
  std::string inputs_;
  std::string outputs_;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_PROBLEM_CALL_BATCH_H_
