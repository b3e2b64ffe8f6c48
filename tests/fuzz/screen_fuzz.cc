// The screener's answer, any bytes after a bug in clang, is an error or an outcome that a screen
// may give.
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/status_macros.h"
#include "cpu_bench_worker/screen/screen_report.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace whetstone;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<std::string> type = ParsePreparedType(text);
  CHECK(type.ok() || !type.status().message().empty());
  const absl::StatusOr<ScreenReport> report = ParseScreenReport(text);
  if (!report.ok()) return 0;
  CHECK(report->status.ok());
  CHECK(report->outcome == v1::OUTCOME_UNSPECIFIED || report->outcome == v1::NO_CODE ||
        report->outcome == v1::FORBIDDEN || report->outcome == v1::COMPILE_ERROR);
  CHECK(report->canonical_hash.size() <= 64 && report->techniques.size() <= 64);
  return 0;
}
