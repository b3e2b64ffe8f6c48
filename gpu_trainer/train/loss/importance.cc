#include "gpu_trainer/train/loss/importance.h"

#include <cmath>
#include <limits>

namespace whetstone {

double BoundedImportance(const ImportanceSettings& s, double log_weight) {
  const double weight = std::exp(log_weight);
  const double most = s.clip_max > 0 ? s.clip_max : std::numeric_limits<double>::infinity();
  if (s.mask) return weight < s.clip_min || weight > most ? 0 : weight;
  // The comparisons are in this order, so that a weight that is no number stays one, and is seen.
  return weight < s.clip_min ? s.clip_min : (weight > most ? most : weight);
}

double SequenceImportance(const ImportanceSettings& s, absl::Span<const float> old,
                          absl::Span<const float> sampling) {
  if (s.level == ImportanceLevel::kOff) return 1;
  const double n = static_cast<double>(old.size());
  double sum = 0;
  for (size_t i = 0; i < old.size(); ++i) {
    const double difference = static_cast<double>(old[i]) - sampling[i];
    sum += s.level == ImportanceLevel::kToken ? BoundedImportance(s, difference) : difference;
  }
  switch (s.level) {
    case ImportanceLevel::kToken:
      return sum / n;
    case ImportanceLevel::kGeometric:
      return BoundedImportance(s, sum / n);
    default:
      return BoundedImportance(s, sum);
  }
}

}  // namespace whetstone
