#include "coordinator/discover/length_formula.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "common/problem/expression.h"

namespace whetstone {
namespace {

constexpr size_t kSeenMin = 3;
// With fewer lengths than these, products of more than one size prove nothing.
constexpr size_t kSeenForProducts = 4;
// Of at most so many lengths some are left out in turn.
constexpr size_t kLeftOutOf = 9;
// With more names than these a chance fit is near.
constexpr size_t kNamesOfFew = 3;
// Sizes for one parameter; for two or three, of which two take the first, or in rows of rising
// sizes the last; and for up to six.
constexpr int kOneSize[] = {12, 29, 37, 64, 90, 45, 72, 120, 100};
constexpr int kSizes[][3] = {{12, 13, 14}, {29, 17, 9}, {37, 23, 10}, {64, 16, 8}, {40, 30, 7},
                             {50, 25, 6},  {8, 16, 64}, {10, 32, 48}, {9, 24, 56}};
constexpr int kManySizes[][6] = {{8, 9, 10, 11, 2, 3}, {17, 9, 7, 5, 3, 2},  {19, 11, 6, 4, 2, 3},
                                 {32, 16, 8, 3, 2, 2}, {24, 12, 7, 4, 2, 2}, {40, 20, 10, 5, 3, 2},
                                 {5, 7, 9, 17, 2, 3},  {4, 8, 16, 24, 3, 2}, {3, 8, 12, 20, 2, 2}};
constexpr size_t kRising = 6;  // from this row on sizes rise
constexpr int64_t kConstantFactors[] = {1, 2, 3, 4, 6, 8, 16, 32, 256};
constexpr int64_t kRoomLeast = 64;
constexpr int64_t kBlocks[] = {2, 3, 4, 8, 16, 32, 64};

using Values = std::vector<int64_t>;  // one for each length seen

// What a product is made of.
struct Factor {
  std::string text;
  Values values;
  bool is_name = false;  // otherwise it stands in parentheses where it is multiplied

  std::string Multiplied() const { return is_name ? text : absl::StrCat("(", text, ")"); }
};

class FormulaSearch {
 public:
  explicit FormulaSearch(const std::vector<SeenLength>& seen) : seen_(seen) {
    for (const auto& [name, size] : seen[0].sizes) names_.push_back(name);
    for (const SeenLength& each : seen) lengths_.push_back(each.length);
  }

  std::string Run() {
    MakeFactors();
    const Values none(seen_.size(), 1);
    TryProduct({}, none);
    for (size_t a = 0; a < factors_.size(); ++a) {
      TryProduct({&factors_[a]}, factors_[a].values);
      if (seen_.size() < kSeenForProducts) continue;
      for (size_t b = a; b < factors_.size(); ++b) {
        TryProduct({&factors_[a], &factors_[b]}, Product(factors_[a].values, factors_[b].values));
      }
    }
    // More factors are of few kinds; of four all are names.
    for (size_t a = 0; a < few_ && seen_.size() >= kSeenForProducts; ++a) {
      for (size_t b = a; b < few_; ++b) {
        const Values two = Product(factors_[a].values, factors_[b].values);
        for (size_t c = b; c < few_; ++c) {
          const Values three = Product(two, factors_[c].values);
          TryProduct({&factors_[a], &factors_[b], &factors_[c]}, three);
          for (size_t d = c; d < names_.size(); ++d) {
            TryProduct({&factors_[a], &factors_[b], &factors_[c], &factors_[d]},
                       Product(three, factors_[d].values));
          }
        }
      }
    }
    return best_;
  }

 private:
  static Values Product(Values a, const Values& b) {
    for (size_t i = 0; i < a.size(); ++i) a[i] *= b[i];
    return a;
  }

  void Add(const std::string& text, bool is_name = false) {
    const absl::StatusOr<Expression> expression = Expression::Parse(text);
    if (!expression.ok()) return;
    Factor factor{text, {}, is_name};
    for (const SeenLength& each : seen_) {
      const absl::StatusOr<int64_t> value = expression->Evaluate(each.sizes);
      if (!value.ok()) return;
      factor.values.push_back(*value);
    }
    factors_.push_back(std::move(factor));
  }

  void MakeFactors() {
    for (const std::string& v : names_) Add(v, /*is_name=*/true);
    for (const std::string& v : names_) {
      for (const int c : {1, 2, 3}) {
        Add(absl::StrCat(v, "+", c));
        Add(absl::StrCat(v, "-", c));
      }
      for (const int64_t block : kBlocks) Add(absl::StrCat("(", v, "+", block - 1, ")/", block));
    }
    few_ = factors_.size();
    for (const std::string& v : names_) {
      for (const int64_t block : kBlocks) Add(absl::StrCat(v, "/", block));
      Add(absl::Substitute("$0*($0+1)/2", v));
      Add(absl::Substitute("$0*($0-1)/2", v));
      for (const std::string& w : names_) {
        if (w != v) OfTwo(v, w);
      }
    }
  }

  void OfTwo(const std::string& v, const std::string& w) {
    for (const char* form :
         {"$0+$1", "$0+$1-1", "$0+$1+1", "$0-$1", "$0-$1+1", "$0-$1-1", "$0+2*$1", "$0-2*$1",
          "$0-2*$1+1", "$0/$1", "($0+$1-1)/$1", "($0-1)/$1", "min($0,$1)", "max($0,$1)"}) {
      Add(absl::Substitute(form, v, w));
    }
    for (const std::string& step : names_) {
      if (step != v && step != w) Add(absl::Substitute("($0-$1)/$2+1", v, w, step));
    }
  }

  // Tries c * the product of `factors`, whose values are `values`, and something added.
  void TryProduct(const std::vector<const Factor*>& factors, const Values& values) {
    // A row of 59 counts has no usual number of them: the first length tells.
    if (const int64_t c = values[0] > 0 ? lengths_[0] / values[0] : 0;
        c > 1 && !factors.empty() && Rests(c, values, [](size_t) { return 0; })) {
      Offer(c, factors, 0, "");
    }
    for (const int64_t c : kConstantFactors) {
      // What is added follows from the first length: a small number, or one of the sizes.
      const int64_t rest = lengths_[0] - c * values[0];
      const bool constant = Rests(c, values, [&](size_t) { return rest; });
      if (constant && (factors.empty() || std::abs(rest) <= 8)) Offer(c, factors, rest, "");
      for (size_t v = 0; v < names_.size() && !factors.empty(); ++v) {
        // n+n is 2*n.
        if (factors.size() == 1 && factors[0] == &factors_[v]) continue;
        const Values& added = factors_[v].values;
        const int64_t more = rest - added[0];
        if (std::abs(more) > 1) continue;
        if (Rests(c, values, [&](size_t i) { return added[i] + more; })) {
          Offer(c, factors, more, names_[v]);
        }
      }
    }
  }

  template <typename Rest>
  bool Rests(int64_t c, const Values& values, const Rest& rest) const {
    for (size_t i = 0; i < values.size(); ++i) {
      if (lengths_[i] != c * values[i] + rest(i)) return false;
    }
    return true;
  }

  void Offer(int64_t c, const std::vector<const Factor*>& factors, int64_t rest,
             const std::string& added) {
    std::string text;
    if (factors.empty()) {
      text = absl::StrCat(c + rest);
    } else {
      const bool alone = factors.size() == 1 && c == 1;
      if (c != 1) absl::StrAppend(&text, c);
      for (const Factor* factor : factors) {
        absl::StrAppend(&text, text.empty() ? "" : "*",
                        alone ? factor->text : factor->Multiplied());
      }
      if (!added.empty()) absl::StrAppend(&text, "+", added);
      if (rest != 0) absl::StrAppend(&text, rest > 0 ? "+" : "", rest);
    }
    if (best_.empty() || text.size() < best_.size()) best_ = text;
  }

  const std::vector<SeenLength>& seen_;
  std::vector<std::string> names_;
  Values lengths_;
  std::vector<Factor> factors_;  // the names first
  size_t few_ = 0;               // of `factors_`, which products of more than two are made of
  std::string best_;
};

// Says whether what `formula` gives is everywhere more than the length seen by what `fits` it.
template <typename Fits>
bool IsMoreBy(const std::string& formula, const std::vector<SeenLength>& seen, const Fits& fits) {
  const absl::StatusOr<Expression> expression = Expression::Parse(formula);
  return expression.ok() && std::all_of(seen.begin(), seen.end(), [&](const SeenLength& each) {
           return fits(expression->Evaluate(each.sizes).value_or(-1) - each.length, each.length);
         });
}

// Says whether `formula` gives what was seen, or a little more.
bool NowhereLess(const std::string& formula, const std::vector<SeenLength>& seen) {
  return IsMoreBy(formula, seen, [](int64_t more, int64_t length) {
    return more >= 0 && more <= std::max<int64_t>(4, length / 10);
  });
}

}  // namespace

SizesToSee SizesOf(const std::vector<std::string>& names) {
  SizesToSee sizes;
  sizes.together = {{}, {}, {}};
  if (names.empty() || names.size() > std::size(kManySizes[0])) return sizes;
  for (size_t row = 0; row < std::size(kSizes); ++row) {
    const bool rising = names.size() > 1 && row >= kRising;
    std::vector<int> values(std::begin(kManySizes[row]), std::end(kManySizes[row]));
    if (names.size() == 1) values = {kOneSize[row]};
    if (names.size() == 2 || names.size() == std::size(kSizes[row])) {
      values.assign(std::begin(kSizes[row]), std::end(kSizes[row]));
      if (rising && names.size() == 2) values.erase(values.begin());
    }
    Sizes& one = sizes.all.emplace_back();
    for (size_t i = 0; i < names.size(); ++i) one[names[i]] = values[i];
    sizes.together[0].push_back(row);
    if (!rising) sizes.together[1].push_back(row);
    if (rising || row == 0) sizes.together[2].push_back(row);
  }
  return sizes;
}

std::string LengthBound(const std::vector<SeenLength>& seen) {
  if (seen.size() < kSeenMin) return "";
  std::vector<std::string> texts;
  for (const auto& [a, size] : seen[0].sizes) {
    for (const int factor : {1, 2, 3, 4}) {
      texts.push_back(factor == 1 ? a : absl::StrCat(factor, "*", a));
    }
    for (const auto& [b, other] : seen[0].sizes) {
      texts.push_back(absl::StrCat(a, "*", b));
      for (const int64_t block : kBlocks) {
        texts.push_back(absl::Substitute("(($0+$2)/$3)*(($1+$2)/$3)", a, b, block - 1, block));
      }
      for (const auto& [c, last] : seen[0].sizes) {
        texts.push_back(absl::StrCat(a, "*", b, "*", c));
        if (c == b) continue;
        // Rows of whole blocks, and the last one's.
        for (const int64_t block : kBlocks) {
          texts.push_back(
              absl::Substitute("($0+$3)/$4*$4*$1+($2+$3)/$4*$4", a, b, c, block - 1, block));
        }
      }
    }
  }
  int64_t least = 0;
  for (const SeenLength& each : seen) least += each.length;
  std::string best;
  int64_t best_sum = least + least / 2;
  for (const std::string& text : texts) {
    const Expression expression = *Expression::Parse(text);
    int64_t sum = 0;
    bool enough = true;
    for (const SeenLength& each : seen) {
      const int64_t value = expression.Evaluate(each.sizes).value_or(0);
      enough = enough && value >= each.length;
      sum += value;
    }
    if (enough && sum < best_sum) {
      best = text;
      best_sum = sum;
    }
  }
  return best;
}

bool IsEnough(const std::string& formula, const std::vector<SeenLength>& seen) {
  return IsMoreBy(formula, seen, [](int64_t more, int64_t) { return more >= 0; });
}

std::string LengthRoom(const std::vector<SeenLength>& seen, int64_t factor) {
  if (seen.size() < kSeenMin) return "";
  int64_t longest = 0, room = kRoomLeast;
  for (const SeenLength& each : seen) longest = std::max(longest, each.length);
  while (room < factor * longest) room *= 2;
  std::string most;
  for (const auto& [name, size] : seen[0].sizes) {
    most = most.empty() ? name : absl::StrCat("max(", most, ",", name, ")");
  }
  return absl::StrCat(most, "+", room);
}

std::string LengthFormulaOfRead(const std::vector<SeenLength>& seen) {
  const std::string all = LengthFormula(seen);
  if (!all.empty() || seen.empty() || seen.size() > kLeftOutOf) return all;
  std::string best;
  const size_t most = seen[0].sizes.size() > kNamesOfFew ? 1 : 2;
  for (size_t count = 1; best.empty() && count <= most && seen.size() > kSeenForProducts + count;
       ++count) {
    for (unsigned set = 1; set < 1u << seen.size(); ++set) {
      if (static_cast<size_t>(std::popcount(set)) != count) continue;
      std::vector<SeenLength> some;
      for (size_t i = 0; i < seen.size(); ++i) {
        if ((set >> i & 1) == 0) some.push_back(seen[i]);
      }
      const std::string formula = LengthFormula(some);
      if (formula.empty() || !NowhereLess(formula, seen)) continue;
      if (best.empty() || formula.size() < best.size()) best = formula;
    }
  }
  return best;
}

std::string LengthFormula(const std::vector<SeenLength>& seen) {
  std::map<Sizes, int64_t> different;
  for (const SeenLength& each : seen) different[each.sizes] = each.length;
  std::vector<SeenLength> apart;
  for (const auto& [sizes, length] : different) apart.push_back({sizes, length});
  return apart.size() < kSeenMin ? "" : FormulaSearch(apart).Run();
}

}  // namespace whetstone
