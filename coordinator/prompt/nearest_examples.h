// NearestExamples finds the worked examples that are most like a campaign's own functions.
//
// A small policy learns from few examples what they have in common. Taught those that are near the
// function it is then asked for, it writes programs of that kind; taught as many of all kinds, it
// writes none (docs/learning.md). (Training on the neighbours of what is asked: Hardt and Sun,
// "Test-Time Training on Nearest Neighbors for Large Language Models", 2024.)
#ifndef WHETSTONE_COORDINATOR_PROMPT_NEAREST_EXAMPLES_H_
#define WHETSTONE_COORDINATOR_PROMPT_NEAREST_EXAMPLES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "coordinator/prompt/worked_examples.h"

namespace whetstone {

// Returns `count` examples (all, if there are no more, or no function), in their order: each
// function in turn takes the one nearest to it that is not taken yet, a later one yielding to an
// earlier one where both are as near.
//
// Nearness is the cosine between vectors of a function's terms, which are its types and the 2, 4,
// 6 and 8 tokens that follow each other in its body, without braces, types and comments. Names are
// numbered within such a term, so that renamed code has the same ones. A term that occurs f times
// here and in d of all N examples weighs (1 + ln f) ln((N + 1) / (d + 1)) (Salton and Buckley,
// "Term-weighting approaches in automatic text retrieval", 1988).
//
// Pure and thread-safe. `functions` are C++ functions, not empty.
std::vector<WorkedExample> NearestExamples(const std::vector<WorkedExample>& examples,
                                           const std::vector<std::string>& functions, size_t count);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_PROMPT_NEAREST_EXAMPLES_H_
