#include "cpu_bench_worker/rewrite/analysis/polynomial.h"

#include <algorithm>
#include <utility>

namespace whetstone {
namespace {

constexpr size_t kNamesMax = 4;
constexpr size_t kProductsMax = 32;
constexpr int64_t kCoefficientMax = int64_t{1} << 40;

}  // namespace

Polynomial operator+(Polynomial left, const Polynomial& right) {
  left.exact_ = left.exact_ && right.exact_;
  for (const auto& [names, factor] : right.terms_) left.Add(names, factor);
  return left;
}

Polynomial operator-(const Polynomial& left, const Polynomial& right) {
  return left + Polynomial(-1) * right;
}

Polynomial operator*(const Polynomial& left, const Polynomial& right) {
  Polynomial product;
  product.exact_ = left.exact_ && right.exact_;
  for (const auto& [a, x] : left.terms_) {
    for (const auto& [b, y] : right.terms_) {
      Polynomial::Names names = a;
      names.insert(names.end(), b.begin(), b.end());
      std::sort(names.begin(), names.end());
      int64_t factor = 0;
      if (__builtin_mul_overflow(x, y, &factor)) product.exact_ = false;
      product.Add(names, factor);
    }
  }
  return product;
}

bool Polynomial::IsNeverNegative() const {
  return exact_ && std::all_of(terms_.begin(), terms_.end(),
                               [](const auto& term) { return term.second >= 0; });
}

bool Polynomial::IsNeverNegativeFrom1() const {
  Polynomial shifted;
  shifted.exact_ = exact_;
  for (const auto& [names, factor] : terms_) {
    Polynomial product(factor);
    for (const std::string& name : names) product = product * (Polynomial(1) + Polynomial(name));
    shifted = shifted + product;
  }
  return shifted.IsNeverNegative();
}

double Polynomial::At(const std::function<double(const std::string&)>& of) const {
  double sum = 0;
  for (const auto& [names, factor] : terms_) {
    auto product = static_cast<double>(factor);
    for (const std::string& name : names) product *= of(name);
    sum += product;
  }
  return sum;
}

std::string Polynomial::Text() const {
  std::vector<std::pair<Names, int64_t>> terms(terms_.begin(), terms_.end());
  std::stable_sort(terms.begin(), terms.end(), [](const auto& left, const auto& right) {
    return std::pair(left.second < 0, -static_cast<int>(left.first.size())) <
           std::pair(right.second < 0, -static_cast<int>(right.first.size()));
  });
  std::string text;
  for (const auto& [names, factor] : terms) {
    std::string product;
    if (names.empty() || (factor != 1 && factor != -1))
      product = std::to_string(factor < 0 ? -factor : factor);
    for (const std::string& name : names) product += (product.empty() ? "" : "*") + name;
    text += (factor < 0 ? "-" : text.empty() ? "" : "+") + product;
  }
  return text.empty() ? "0" : text;
}

void Polynomial::Add(const Names& names, int64_t factor) {
  // No length has so many parts, or is so large.
  exact_ = exact_ && names.size() <= kNamesMax && terms_.size() <= kProductsMax &&
           factor >= -kCoefficientMax && factor <= kCoefficientMax;
  if (!exact_) return;
  int64_t& sum = terms_[names];
  sum += factor;
  exact_ = sum >= -kCoefficientMax && sum <= kCoefficientMax;
  if (sum == 0) terms_.erase(names);
}

}  // namespace whetstone
