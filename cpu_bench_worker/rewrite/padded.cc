#include "cpu_bench_worker/rewrite/padded.h"

#include <algorithm>
#include <cstdlib>

#include "clang/AST/ExprCXX.h"
#include "cpu_bench_worker/rewrite/conditions.h"
#include "cpu_bench_worker/rewrite/helper_functions.h"

namespace whetstone {

using clang::dyn_cast;
using clang::isa;

namespace {

constexpr size_t kPlacesMax = 4;

std::string InParentheses(const std::string& text) {
  return text.find(' ') == std::string::npos && text[0] != '-' ? text : "(" + text + ")";
}

}  // namespace

void Multiples::Add(const Multiples& other, int64_t factor) {
  constant += factor * other.constant;
  for (const Term& term : other.terms) {
    const auto own = std::find_if(terms.begin(), terms.end(), [&](const Term& each) {
      return each.counter == term.counter && each.text == term.text;
    });
    if (own == terms.end())
      terms.push_back({term.counter, term.text, factor * term.factor});
    else
      own->factor += factor * term.factor;
  }
  std::erase_if(terms, [](const Term& each) { return each.factor == 0; });
}

Multiples Multiples::Without(const Multiples& other) const {
  Multiples rest = *this;
  rest.Add(other, -1);
  return rest;
}

ptrdiff_t Multiples::Counters() const {
  return std::count_if(terms.begin(), terms.end(),
                       [](const Term& each) { return each.counter != nullptr; });
}

std::string Multiples::Text() const {
  std::string text;
  for (const bool taken_away : {false, true}) {
    const auto sign = [&] {
      return text.empty() ? (taken_away ? "-" : "") : (taken_away ? " - " : " + ");
    };
    for (const Term& term : terms) {
      if ((term.factor < 0) != taken_away) continue;
      const int64_t times = std::abs(term.factor);
      text += sign() + (times == 1 ? "" : std::to_string(times) + " * ") + term.text;
    }
    if (constant != 0 && (constant < 0) == taken_away)
      text += sign() + std::to_string(std::abs(constant));
  }
  return text.empty() ? "0" : text;
}

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

Padded::Padded(const FunctionCode& code, const clang::ForStmt* loop, const clang::Stmt* at)
    : code_(code), changed_(ChangedOrDeclared(loop)) {
  changed_.merge(Written(loop));
  for (; at != nullptr; at = code.Parent(at)) {
    const auto* around = dyn_cast<clang::ForStmt>(at);
    if (around == nullptr) continue;
    if (const std::optional<Counter> counter = CounterOf(code, around))
      counters_.push_back(*counter);
    if (around == loop) break;
  }
}

bool Padded::Take(const clang::Expr* read) {
  type_ = code_.Type(read);
  InPlaces(read, 0);
  std::stable_sort(places_.begin(), places_.end(),
                   [](const Place& a, const Place& b) { return a.factors > b.factors; });
  const std::string names = "uvwk";
  for (size_t i = 0; i < places_.size() && known_; ++i) {
    Place& place = places_[i];
    moves_ |= place.sum.Counters() > 1;
    const std::string name(1, names[i]);
    place.name = code_.Fresh({name, name + name});
    place.low = Extreme(place.sum, false);
    place.end = Extreme(place.sum, true);
    place.end.constant += 1;
    place.count = InParentheses(place.end.Without(place.low).Text());
  }
  named_ = true;
  value_ = InPlaces(read, 0);
  return known_;
}

bool Padded::TakeCondition(const clang::Expr* condition) {
  const auto* test = dyn_cast<clang::BinaryOperator>(condition->IgnoreParenImpCasts());
  std::string text;
  if (test != nullptr && test->isRelationalOp()) {
    const std::optional<Multiples> left = SumOf(test->getLHS(), kDepthMax);
    const std::optional<Multiples> right = SumOf(test->getRHS(), kDepthMax);
    if (!left || !right) return false;
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
      places_.size() != other.places_.size())
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
      Changed(code_.body()).count(variable) > 0)
    return nullptr;
  return variable->getInit();
}

std::optional<Multiples> Padded::SumOf(const clang::Expr* expression, int depth) const {
  const clang::Expr* bare = expression->IgnoreParenImpCasts();
  if (depth == 0 || !bare->getType()->isSignedIntegerType()) return std::nullopt;
  if (const std::optional<int64_t> constant = code_.Constant(bare))
    return Multiples{.terms = {}, .constant = *constant};
  const clang::VarDecl* variable = NamedVariable(bare);
  if (variable != nullptr && changed_.count(variable) > 0) {
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
  if (!OnlyComputes(code_, bare) || Share(Used(bare), changed_)) return std::nullopt;
  return Multiples{.terms = {{nullptr, code_.Operand(bare), 1}}, .constant = 0};
}

// The least or largest value of a sum; not known without the counters' own bounds.
Multiples Padded::Extreme(Multiples sum, bool largest) {
  // Inner loops' counters begin and end with outer ones.
  for (const Counter& counter : counters_) {
    const auto term =
        std::find_if(sum.terms.begin(), sum.terms.end(),
                     [&](const Multiples::Term& each) { return each.counter == counter.var; });
    if (term == sum.terms.end()) continue;
    const int64_t factor = term->factor;
    const bool last = largest == (factor > 0);
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
  if (variable != nullptr && changed_.count(variable) > 0) {
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
            !isa<clang::LambdaExpr, clang::CXXNewExpr>(expression);
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
