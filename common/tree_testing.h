// Tests find the tree, and what was built of it, by these.
#ifndef WHETSTONE_COMMON_TREE_TESTING_H_
#define WHETSTONE_COMMON_TREE_TESTING_H_

#include <string>

namespace whetstone {

// The path is absolute, without a slash at the end. It is compiled in one place, so that no test's
// object depends on where the tree lies.
const std::string& SourceDir();
const std::string& BinDir();  // programs

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_TREE_TESTING_H_
