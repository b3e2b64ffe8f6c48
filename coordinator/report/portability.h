// What `whet portable` found: a run's best programs measured again on other CPU models. It is kept
// as RUN/portable.json, and `whet report` shows it.
#ifndef WHETSTONE_COORDINATOR_REPORT_PORTABILITY_H_
#define WHETSTONE_COORDINATOR_REPORT_PORTABILITY_H_

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/durable/journal_entry.h"
#include "whetstone/v1/verdict.pb.h"

namespace whetstone {

// What the worker that was asked for its CPU model found of one program.
struct PortableResult {
  std::string cpu_model;
  std::string worker = {};  // its host's name
  v1::Verdict verdict = {};
  std::string error = {};  // why there is no verdict; else empty

  // Says whether the program is right there, and the lower end of its interval above 1.
  bool wins() const;
};

struct PortableProgram {
  std::string problem;
  int64_t step = 0;
  std::string source;
  std::vector<PortableResult> results;  // one of each CPU model that was asked

  // Says whether it wins on all of them, and there is one.
  bool portable() const;
  // Says whether it was measured on one of them and does not win there. A program may be neither.
  bool refuted() const;
};

struct UnreachedWorker {
  std::string worker;
  std::string why;
};

struct Portability {
  std::vector<std::string> cpu_models;  // that were asked
  std::vector<PortableProgram> programs;
  std::vector<UnreachedWorker> unreached;

  bool portable() const;  // every program is
};

// Returns what is kept and printed; results are as VerdictJson has them.
nlohmann::ordered_json PortabilityJson(const Portability& portability);
// Reads it again, as far as it is shown. INVALID_ARGUMENT: it is something else.
absl::StatusOr<Portability> ParsePortability(absl::string_view text);

// The header of the table that console and page show, and its rows: one a program and CPU model.
std::vector<std::string> PortabilityHeader();
std::vector<std::vector<std::string>> PortabilityRows(const Portability& portability);

// Says of one program "ID is portable: …", or on which CPU models it is not, or was not measured,
// and why.
std::string PortableText(const PortableProgram& program);

// Returns the part of the page. Programs that are not the incumbents any more are marked.
std::string PortabilityPart(const Portability& portability,
                            const std::map<std::string, IncumbentEntry>& incumbents);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_PORTABILITY_H_
