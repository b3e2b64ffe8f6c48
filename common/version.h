// The text of --version.
#ifndef WHETSTONE_COMMON_VERSION_H_
#define WHETSTONE_COMMON_VERSION_H_

namespace whetstone {

// kVersionText is "0.1.0 (commit 0123456789ab)", with ", changed" where the sources differed from
// that commit, or "0.1.0" where the build knew of none. (Services compare WHETSTONE_VERSION.)
extern const char kVersionText[];

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_VERSION_H_
