#include "common/tree_testing.h"

namespace whetstone {

const std::string& SourceDir() {
  static const std::string* const directory = new std::string(WHETSTONE_SOURCE_DIR);
  return *directory;
}

const std::string& BinDir() {
  static const std::string* const directory = new std::string(WHETSTONE_BIN_DIR);
  return *directory;
}

}  // namespace whetstone
