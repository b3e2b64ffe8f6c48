// Files in and out of /work.
#ifndef WHETSTONE_SANDBOX_INIT_WORK_FILES_H_
#define WHETSTONE_SANDBOX_INIT_WORK_FILES_H_

#include <string>
#include <vector>

#include "sandbox/plan/plan.h"

namespace whetstone {

// Writes the plan's files before the program starts.
void WriteWorkFiles(const Plan& plan);

struct CollectedFile {
  int64_t collect_index = 0;
  std::string content;
};

// Collects when every process of the tree is dead, so nothing can be swapped meanwhile. Only
// regular files of at most file_bytes are taken: links are not followed, FIFOs, devices and
// directories ignored.
std::vector<CollectedFile> CollectWorkFiles(const Plan& plan);

}  // namespace whetstone

#endif  // WHETSTONE_SANDBOX_INIT_WORK_FILES_H_
