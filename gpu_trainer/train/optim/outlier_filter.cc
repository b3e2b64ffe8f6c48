#include "gpu_trainer/train/optim/outlier_filter.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace whetstone {
namespace {

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string JudgeOne(const char* name, double factor, double value, std::vector<double>* history) {
  std::string why;
  if (history->size() >= OutlierFilter::kJudgedMin) {
    const double median = Median(*history);
    if (value > factor * median) {
      why = absl::StrCat("the ", name, " is ", value, ", more than ", factor, " times the median ",
                         median, " of the last ", history->size(), " updates (spike_factor)");
    }
  }
  history->push_back(value);
  if (history->size() > OutlierFilter::kWindow) history->erase(history->begin());
  return why;
}

}  // namespace

std::string OutlierFilter::Judge(double factor, double norm, std::optional<double> loss) {
  std::string why = JudgeOne("gradient norm", factor, norm, &state_.norms);
  if (loss.has_value()) {
    const std::string other = JudgeOne("loss", factor, *loss, &state_.losses);
    if (why.empty()) why = other;
  }
  return why;
}

}  // namespace whetstone
