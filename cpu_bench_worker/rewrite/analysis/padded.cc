#include "cpu_bench_worker/rewrite/analysis/padded.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "absl/strings/str_join.h"
#include "clang/AST/ExprCXX.h"
#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/analysis/helper_functions.h"

namespace whetstone {

using clang::dyn_cast;
using clang::isa;

namespace {

constexpr size_t kPlacesMax = 4;
constexpr int64_t kFactorMax = 16;  // a table of larger ones would be read in few places
constexpr int64_t kNumberMax = int64_t{1} << 31;

}  // namespace

// The counter of a loop that counts up, by one or more.
std::optional<Padded::Counter> Padded::CounterOf(const FunctionCode& code,
                                                 const clang::ForStmt* loop) {
  const auto* declared = clang::dyn_cast_or_null<clang::DeclStmt>(loop->getInit());
  if (declared == nullptr || !declared->isSingleDecl()) return std::nullopt;
  const auto* var = dyn_cast<clang::VarDecl>(declared->getSingleDecl());
  if (var == nullptr || var->getInit() == nullptr || loop->getCond() == nullptr ||
      !var->getType()->isSignedIntegerType() || Changed(loop->getBody()).count(var) > 0)
    return std::nullopt;
  const std::optional<CounterComparison> end = ComparedCounter(loop->getCond(), var);
  const std::optional<Assignment> step = AsAssignment(loop->getInc());
  if (!end || !end->upper || !step || step->kind != clang::BO_AddAssign ||
      NamedVariable(step->target) != var)
    return std::nullopt;
  if (step->value != nullptr && code.Constant(step->value).value_or(0) <= 0) return std::nullopt;
  return Counter{.var = var, .first = var->getInit(), .last = end->limit, .inclusive = end->equal};
}

LoopChanges::LoopChanges(const FunctionCode& code, const clang::ForStmt* of)
    : loop(of), in_loop(ChangedOrDeclared(of)), anywhere(Changed(code.body())) {
  in_loop.merge(Written(of));
}

Padded::Padded(const FunctionCode& code, const LoopChanges& changes, const clang::Stmt* at)
    : code_(code), changes_(changes) {
  for (; at != changes.loop && known_; at = code.Parent(at))
    known_ = TakeAround(code.Parent(at), at);
}

// Takes a loop's counter, an if's conditions; false if the part may be left out otherwise.
bool Padded::TakeAround(const clang::Stmt* around, const clang::Stmt* part) {
  if (around == nullptr) return false;
  if (const auto* loop = dyn_cast<clang::ForStmt>(around)) {
    const std::optional<Counter> counter = CounterOf(code_, loop);
    if (!counter || part != loop->getBody() || HasOwn<clang::BreakStmt>(part)) return false;
    counters_.push_back(*counter);
    return true;
  }
  if (isa<clang::IfStmt>(around)) {
    const clang::IfStmt* guard = AsPlainIf(around);
    if (guard == nullptr || part == guard->getElse()) return false;
    const std::vector<const clang::Expr*> conditions = Conjuncts(guard->getCond());
    if (part == guard->getThen())
      guards_.insert(guards_.begin(), conditions.begin(), conditions.end());
    return true;
  }
  if (isa<clang::CompoundStmt>(around)) {
    const auto end = std::find(around->child_begin(), around->child_end(), part);
    return std::none_of(around->child_begin(), end, HasOwn<clang::ContinueStmt>);
  }
  if (const auto* choice = dyn_cast<clang::ConditionalOperator>(around))
    return part == choice->getCond();
  if (const auto* both = dyn_cast<clang::BinaryOperator>(around))
    return !both->isLogicalOp() || part == both->getLHS();
  return isa<clang::DeclStmt, clang::Expr>(around) &&
         !isa<clang::BinaryConditionalOperator, clang::StmtExpr>(around);
}

bool Padded::Take(const clang::Expr* read) {
  known_ &= !read->getType()->isEnumeralType();  // these cannot be 0
  if (!known_) return false;
  type_ = code_.Type(read);
  InPlaces(read, 0);
  std::stable_sort(places_.begin(), places_.end(),
                   [](const Place& a, const Place& b) { return a.factors > b.factors; });
  const std::string names = "uvwk";
  Variables counters;
  for (size_t i = 0; i < places_.size() && known_; ++i) {
    Place& place = places_[i];
    moves_ |= place.sum.Counters() > 1;
    // The table has all that the counters of one place reach with all that those of others do.
    for (const Multiples::Term& each : place.sum.terms)
      known_ &= each.counter == nullptr ||
                (std::abs(each.factor) <= kFactorMax && counters.insert(each.counter).second);
    const std::string name(1, names[i]);
    place.name = code_.Fresh({name, name + name});
    place.low = Extreme(place.sum, false);
    place.end = Extreme(place.sum, true);
    place.end.constant += 1;
    place.count = InParentheses(place.end.Without(place.low).Text());
  }
  named_ = true;
  value_ = InPlaces(read, 0);
  TakeTurns();
  return known_;
}

// Where a loop has no turns, nothing of what it would read need be there.
void Padded::TakeTurns() {
  std::set<std::string> outer;
  std::set<std::string> inner;
  for (auto each = counters_.rbegin(); each != counters_.rend(); ++each) {
    const std::optional<Multiples> first = SumOf(each->first, kDepthMax);
    const std::optional<Multiples> last = SumOf(each->last, kDepthMax);
    known_ &= first && last;
    if (!known_) return;
    Multiples turns = last->Without(*first);
    turns.constant += each->inclusive ? 1 : 0;
    known_ &= turns.Counters() == 0 && (!turns.terms.empty() || turns.constant > 0);
    if (turns.terms.empty()) continue;
    (each == counters_.rbegin() ? outer : inner).insert(turns.Text() + " > 0");
  }
  turns_ = absl::StrJoin(outer, " && ");
  inner_turns_ = absl::StrJoin(inner, " && ");
}

bool Padded::TakeGuards() {
  return std::all_of(guards_.begin(), guards_.end(),
                     [&](const clang::Expr* each) { return TakeCondition(each); });
}

std::optional<Variables> Padded::CountersOf(const clang::Expr* expression, int depth) const {
  if (!known_ || depth == 0 || !OnlyComputes(code_, expression)) return std::nullopt;
  Variables counters;
  for (const clang::VarDecl* variable : Used(expression)) {
    if (changes_.in_loop.count(variable) == 0) continue;
    const clang::Expr* value = ValueOf(variable);
    std::optional<Variables> inner;
    if (Counts(variable) != nullptr)
      inner = Variables{variable};
    else if (value != nullptr)
      inner = CountersOf(value, depth - 1);
    if (!inner) return std::nullopt;
    counters.merge(*inner);
  }
  return counters;
}

bool Padded::HoldsForAll(const Variables& counters) {
  if (limits_.size() < guards_.size()) return false;
  return std::all_of(limits_.begin(), limits_.end(), [&](const Limit& each) {
    const bool upper = each.kind == clang::BO_LT || each.kind == clang::BO_LE;
    const bool equal = each.kind == clang::BO_LE || each.kind == clang::BO_GE;
    const Multiples& sum = places_[each.place].sum;
    bool moves = false;
    bool few = true;
    for (const Multiples::Term& term : sum.terms) {
      const Counter* counter = Counts(term.counter);
      const bool own = counters.count(term.counter) > 0;
      moves |= counter != nullptr && !own;
      few &= !own || (code_.Constant(counter->first) && code_.Constant(counter->last));
    }
    // How far beyond the limit a place gets, at the worst.
    const Multiples least = Extreme(sum, !upper, counters).Without(each.limit);
    const int64_t within = upper ? -least.constant : least.constant;
    return moves && (least.terms.empty() ? within >= (equal ? 0 : 1) : few);
  });
}

bool Padded::TakeCondition(const clang::Expr* condition) {
  const auto* test = dyn_cast<clang::BinaryOperator>(condition->IgnoreParenImpCasts());
  std::string text;
  if (test != nullptr && test->isRelationalOp()) {
    const std::optional<Multiples> left = SumOf(test->getLHS(), kDepthMax);
    const std::optional<Multiples> right = SumOf(test->getRHS(), kDepthMax);
    if (!left || !right) return false;
    if (left->Counters() + right->Counters() == 0)
      text = left->Text() + " " + test->getOpcodeStr().str() + " " + right->Text();
    for (const Place& place : places_) {
      // place + rest < 0, or rest - place.
      for (const int factor : {1, -1}) {
        Multiples rest = left->Without(*right);
        rest.Add(place.sum, -factor);
        if (!text.empty() || rest.Counters() > 0) continue;
        clang::BinaryOperatorKind kind = test->getOpcode();
        if (factor < 0) kind = clang::BinaryOperator::reverseComparisonOp(kind);
        Multiples limit;
        limit.Add(rest, -factor);
        limits_.push_back({static_cast<size_t>(&place - places_.data()), kind, limit});
        text =
            place.name + " " + clang::BinaryOperator::getOpcodeStr(kind).str() + " " + limit.Text();
      }
    }
  } else if (IsAtom(condition)) {
    text = InPlaces(condition, 0);
  }
  conditions_ += (conditions_.empty() ? "" : " && ") + text;
  return known_ && !text.empty();
}

bool Padded::Join(const Padded& other) {
  if (type_ != other.type_ || value_ != other.value_ || conditions_ != other.conditions_ ||
      inner_turns_ != other.inner_turns_ || places_.size() != other.places_.size())
    return false;
  const auto same = [](const Place& a, const Place& b) {
    return a.low.Without(b.low).terms.empty() && a.end.Without(b.end).terms.empty();
  };
  if (!std::equal(places_.begin(), places_.end(), other.places_.begin(), same)) return false;
  bool apart = false;
  for (size_t i = 0; i < places_.size(); ++i) {
    Place& place = places_[i];
    const Place& beside = other.places_[i];
    const Multiples step = place.sum.Without(beside.sum);
    apart |= step.constant != 0 || !step.terms.empty();
    place.low.constant = std::min(place.low.constant, beside.low.constant);
    place.end.constant = std::max(place.end.constant, beside.end.constant);
    place.count = InParentheses(place.end.Without(place.low).Text());
  }
  moves_ |= other.moves_;
  joined_ += apart ? 1 : 0;
  return true;
}

Padded Padded::Mask(const std::string& type) const {
  Padded mask = *this;
  mask.type_ = type;
  mask.value_ = "1";
  return mask;
}

std::string Padded::Filled(const std::string& name) const {
  std::string size;
  std::string text;
  for (const Place& place : places_) {
    size += (size.empty() ? "" : " * ") + place.count;
    // Written so that no rule takes it for a loop that is worth its while.
    text += "for (int " + place.name + " = " + place.low.Text() + "; " + place.end.Text() + " > " +
            place.name + "; " + place.name + "++)\n";
  }
  if (!inner_turns_.empty()) {
    size = inner_turns_ + " ? " + size + " : 0";
    text = "if (" + inner_turns_ + ")\n" + text;
  }
  return type_ + "* " + name + " = new " + type_ + "[" + size + "];\n" + text + Entry(name, true) +
         " = " + (conditions_.empty() ? value_ : conditions_ + " ? " + value_ + " : 0") + ";\n";
}

std::string Padded::Entry(const std::string& name, bool filled) const {
  std::string index;
  for (const Place& place : places_) {
    Multiples at;
    if (filled)
      at.terms.push_back({nullptr, place.name, 1});
    else
      at = place.sum;
    at.Add(place.low, -1);
    index = (index.empty() ? "" : InParentheses(index) + " * " + place.count + " + ") + at.Text();
  }
  return name + "[" + index + "]";
}

const Padded::Counter* Padded::Counts(const clang::VarDecl* variable) const {
  for (const Counter& each : counters_)
    if (each.var == variable) return &each;
  return nullptr;
}

// What a variable of a turn is declared as, if it stays that.
const clang::Expr* Padded::ValueOf(const clang::VarDecl* variable) const {
  if (!variable->getType()->isArithmeticType() || variable->isStaticLocal() ||
      variable->getInit() == nullptr || !variable->isLocalVarDecl() ||
      changes_.anywhere.count(variable) > 0)
    return nullptr;
  return variable->getInit();
}

std::optional<Multiples> Padded::SumOf(const clang::Expr* expression, int depth) const {
  std::optional<Multiples> sum = AnySumOf(expression, depth);
  if (sum && sum->Largest() > kNumberMax) sum.reset();
  return sum;
}

std::optional<Multiples> Padded::AnySumOf(const clang::Expr* expression, int depth) const {
  const clang::Expr* bare = expression->IgnoreParenImpCasts();
  if (depth == 0 || !bare->getType()->isSignedIntegerType()) return std::nullopt;
  if (const std::optional<int64_t> constant = code_.Constant(bare))
    return Multiples{.terms = {}, .constant = *constant};
  const clang::VarDecl* variable = NamedVariable(bare);
  if (variable != nullptr && changes_.in_loop.count(variable) > 0) {
    if (Counts(variable) != nullptr)
      return Multiples{.terms = {{variable, variable->getNameAsString(), 1}}, .constant = 0};
    const clang::Expr* value = ValueOf(variable);
    return value == nullptr ? std::nullopt : SumOf(value, depth - 1);
  }
  Multiples sum;
  if (const auto* unary = dyn_cast<clang::UnaryOperator>(bare);
      unary != nullptr && unary->getOpcode() == clang::UO_Minus) {
    const std::optional<Multiples> part = SumOf(unary->getSubExpr(), depth);
    if (part) sum.Add(*part, -1);
    return part ? std::optional(sum) : std::nullopt;
  }
  const auto* binary = dyn_cast<clang::BinaryOperator>(bare);
  if (binary != nullptr && (binary->isAdditiveOp() || binary->getOpcode() == clang::BO_Mul)) {
    const std::optional<Multiples> left = SumOf(binary->getLHS(), depth);
    const std::optional<Multiples> right = SumOf(binary->getRHS(), depth);
    if (left && right && binary->isAdditiveOp()) {
      sum.Add(*left, 1);
      sum.Add(*right, binary->getOpcode() == clang::BO_Add ? 1 : -1);
      return sum;
    }
    if (left && right && (left->terms.empty() || right->terms.empty())) {
      const bool first = left->terms.empty();
      sum.Add(first ? *right : *left, first ? left->constant : right->constant);
      return sum;
    }
  }
  if (!OnlyComputes(code_, bare) || Share(Used(bare), changes_.in_loop)) return std::nullopt;
  return Multiples{.terms = {{nullptr, code_.Operand(bare), 1}}, .constant = 0};
}

// The least or largest value of a sum, with these counters as they make it the other way; not known
// without the counters' own bounds.
Multiples Padded::Extreme(Multiples sum, bool largest, const Variables& other_way) {
  // Inner loops' counters begin and end with outer ones.
  for (const Counter& counter : counters_) {
    const auto term =
        std::find_if(sum.terms.begin(), sum.terms.end(),
                     [&](const Multiples::Term& each) { return each.counter == counter.var; });
    if (term == sum.terms.end()) continue;
    const int64_t factor = term->factor;
    const bool last = (largest == (factor > 0)) == (other_way.count(counter.var) == 0);
    std::optional<Multiples> bound = SumOf(last ? counter.last : counter.first, kDepthMax);
    sum.terms.erase(term);
    known_ &= bound.has_value();
    if (!bound) continue;
    if (last && !counter.inclusive) bound->constant -= 1;
    sum.Add(*bound, factor);
  }
  known_ &= sum.Counters() == 0;
  return sum;
}

// A sum by its place in the table.
std::string Padded::InPlace(const Multiples& sum, int factors) {
  for (Place& place : places_) {
    Multiples rest = sum.Without(place.sum);
    if (rest.Counters() > 0) continue;
    place.factors = std::max(place.factors, factors);
    rest.terms.insert(rest.terms.begin(), {nullptr, place.name, 1});
    return InParentheses(rest.Text());
  }
  known_ &= !named_ && places_.size() < kPlacesMax;
  if (!known_) return "";
  places_.emplace_back();
  places_.back().sum = sum;
  places_.back().factors = factors;
  return "";
}

// The expression with places for sums of counters; they are gathered while they have no names.
std::string Padded::InPlaces(const clang::Expr* expression, int factors, int depth) {
  if (const std::optional<Multiples> sum = SumOf(expression, kDepthMax))
    return sum->Counters() > 0 ? InPlace(*sum, factors) : InParentheses(sum->Text());
  const clang::VarDecl* variable = NamedVariable(expression);
  if (variable != nullptr && changes_.in_loop.count(variable) > 0) {
    const clang::Expr* value = Counts(variable) != nullptr ? nullptr : ValueOf(variable);
    known_ &= value != nullptr && depth > 0;
    if (!known_) return "";
    const std::string text = InPlaces(value, factors, depth - 1);
    const bool same = code_.context().hasSameUnqualifiedType(variable->getType(), value->getType());
    return same ? "(" + text + ")" : "(" + code_.Type(variable) + ")(" + text + ")";
  }
  const auto* binary = dyn_cast<clang::BinaryOperator>(expression);
  const auto* call = dyn_cast<clang::CallExpr>(expression);
  known_ &= !AsAssignment(expression) && (call == nullptr || IsQuiet(code_, call)) &&
            NamedBinding(expression) == nullptr &&
            !isa<clang::LambdaExpr, clang::CXXNewExpr, clang::OpaqueValueExpr,
                 clang::BinaryConditionalOperator>(expression);
  bends_ |= isa<clang::ConditionalOperator>(expression) ||
            (call != nullptr && !isa<clang::CXXOperatorCallExpr>(call)) ||
            (binary != nullptr && binary->getOpcode() == clang::BO_Rem);
  factors += binary != nullptr && binary->getOpcode() == clang::BO_Mul ? 1 : 0;
  Edits edits;
  for (const clang::Stmt* child : expression->children()) {
    const auto* part = clang::dyn_cast_or_null<clang::Expr>(child);
    known_ &= part != nullptr;
    if (!known_) return "";
    const std::string text = InPlaces(part, factors, depth);
    if (text != code_.Text(part)) edits.push_back({code_.Begin(part), code_.End(part), text});
  }
  return code_.Text(expression, edits);
}

}  // namespace whetstone
