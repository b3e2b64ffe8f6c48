// Sums of products of named whole numbers, as lengths of arrays are: n * m + 63.
#ifndef WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_POLYNOMIAL_H_
#define WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_POLYNOMIAL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace whetstone {

class Polynomial {
 public:
  using Names = std::vector<std::string>;  // sorted

  explicit Polynomial(int64_t constant = 0) { Add({}, constant); }
  explicit Polynomial(const std::string& name) { Add({name}, 1); }

  friend Polynomial operator+(Polynomial left, const Polynomial& right);
  friend Polynomial operator-(const Polynomial& left, const Polynomial& right);
  friend Polynomial operator*(const Polynomial& left, const Polynomial& right);
  friend bool operator==(const Polynomial& left, const Polynomial& right) {
    return left.exact_ && right.exact_ && left.terms_ == right.terms_;
  }

  // False: it became too large or too long to be known.
  bool exact() const { return exact_; }
  const std::map<Names, int64_t>& terms() const { return terms_; }
  // Whether no term is below 0, where no number is; and where all are at least 1.
  bool IsNeverNegative() const;
  bool IsNeverNegativeFrom1() const;
  // Its value where a name has the value that `of` gives.
  double At(const std::function<double(const std::string&)>& of) const;
  // "n*m+63": products first.
  std::string Text() const;

 private:
  void Add(const Names& names, int64_t factor);

  bool exact_ = true;
  std::map<Names, int64_t> terms_;  // factors of products
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_POLYNOMIAL_H_
