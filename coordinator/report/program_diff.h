// The difference of two programs, for people.
#ifndef WHETSTONE_COORDINATOR_REPORT_PROGRAM_DIFF_H_
#define WHETSTONE_COORDINATOR_REPORT_PROGRAM_DIFF_H_

#include <string>

namespace whetstone {

// Returns a unified diff of two programs that are named as files; empty where they are alike, or
// where there is no diff(1) to be had.
std::string ProgramDiff(const std::string& before_name, const std::string& before,
                        const std::string& after_name, const std::string& after);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_PROGRAM_DIFF_H_
