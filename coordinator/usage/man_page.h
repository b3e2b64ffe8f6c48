// The manual page of a command, made of what --help is made of.
//
//   whet man run | man -l -
#ifndef WHETSTONE_COORDINATOR_USAGE_MAN_PAGE_H_
#define WHETSTONE_COORDINATOR_USAGE_MAN_PAGE_H_

#include <CLI/CLI.hpp>
#include <string>

#include "absl/strings/string_view.h"

namespace whetstone {

// Returns the page of a command, of section 1, in roff (the macros of man(7)). The footer of its
// help stands under EXIT STATUS.
std::string ManPage(const CLI::App& app, absl::string_view version);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_USAGE_MAN_PAGE_H_
