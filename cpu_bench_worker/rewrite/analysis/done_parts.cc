#include "cpu_bench_worker/rewrite/analysis/done_parts.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "cpu_bench_worker/rewrite/analysis/before_loop.h"
#include "cpu_bench_worker/rewrite/analysis/counter_sums.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;
using clang::isa;

constexpr size_t kAxesMax = 3;     // of a table
constexpr size_t kPiecesMax = 64;  // of a turn that is looked at

class PartFinder {
 public:
  PartFinder(const FunctionCode& code, const Loop& loop)
      : code_(code), loop_(loop), pieces_(PiecesOf(code, loop.body)) {
    for (const clang::Stmt* at = code.Parent(loop.stmt); at != nullptr; at = code.Parent(at))
      if (IsLoop(at)) around_.insert(around_.begin(), at);
  }

  // What can be done for all turns, each before the outermost loop where that is possible.
  std::vector<DonePart> Find() const {
    std::vector<DonePart> found;
    std::set<PartPlaces> seen;
    if (pieces_.size() > kPiecesMax || Has<clang::LambdaExpr>(loop_.stmt)) return found;
    for (size_t i = 0; i < pieces_.size(); ++i) {
      if (!pieces_[i].takes_long || !pieces_[i].movable) continue;
      const PartPlaces part = PartWith(pieces_, i);
      if (!seen.insert(part).second || !IsApart(part)) continue;
      const std::optional<PartUse> use = UseOf(pieces_, part);
      if (!use || !CanBeTaken(*use)) continue;
      for (size_t depth = 0; depth < around_.size(); ++depth) {
        std::optional<DonePart> done = Before(depth, part, *use);
        if (!done) continue;
        found.push_back(*std::move(done));
        break;
      }
    }
    return found;
  }
  // All parts of these that depend on the same as the first one, as one.
  DonePart Joined(const std::vector<DonePart>& parts) const {
    PartPlaces all;
    for (const DonePart& each : parts)
      if (each.place == parts[0].place && each.loops == parts[0].loops &&
          each.sums.empty() == parts[0].sums.empty())
        all.insert(each.part.begin(), each.part.end());
    const std::optional<PartUse> use = UseOf(pieces_, all);
    const std::optional<DonePart> done = use ? Before(parts[0].depth, all, *use) : std::nullopt;
    return done ? *done : parts[0];
  }

 private:
  // Whether the pieces may stand elsewhere, and write to nothing but what is declared by them.
  bool IsApart(const PartPlaces& part) const {
    Variables own;
    for (const size_t each : part)
      if (pieces_[each].variable != nullptr) own.insert(pieces_[each].variable);
    return std::all_of(part.begin(), part.end(), [&](size_t each) {
      const Variables& written = pieces_[each].written;
      return pieces_[each].movable &&
             std::includes(own.begin(), own.end(), written.begin(), written.end());
    });
  }

  // Whether tables can have the results, and the rest of the turn can take them from there.
  bool CanBeTaken(const PartUse& use) const {
    for (const clang::VarDecl* result : use.results) {
      const clang::QualType type = result->getType();
      const auto* array = code_.context().getAsConstantArrayType(type);
      const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
      const bool plain = record != nullptr && record->hasDefaultConstructor() &&
                         type.isTriviallyCopyableType(code_.context());
      if (array != nullptr ? !array->getElementType()->isArithmeticType()
                           : !type->isArithmeticType() && !plain)
        return false;
      if (array != nullptr && !IsOnlyPointedInto(result, use)) return false;
    }
    // What declares several variables is written anew.
    return std::all_of(use.gone.begin(), use.gone.end(), [&](size_t gone) {
      const auto* declaration = dyn_cast<clang::DeclStmt>(pieces_[gone].stmt);
      return declaration == nullptr || declaration->isSingleDecl() ||
             std::all_of(pieces_.begin(), pieces_.end(), [&](const Piece& each) {
               if (each.stmt != pieces_[gone].stmt) return true;
               clang::QualType type = each.variable->getType();
               if (const auto* array = code_.context().getAsConstantArrayType(type))
                 type = array->getElementType();
               return type->isArithmeticType();
             });
    });
  }
  // Whether the rest uses an array as a pointer would do.
  bool IsOnlyPointedInto(const clang::VarDecl* array, const PartUse& use) const {
    for (size_t i = 0; i < pieces_.size(); ++i) {
      if (use.gone.count(i) > 0) continue;
      for (const clang::Stmt* each : Below(pieces_[i].stmt)) {
        const auto* name = dyn_cast<clang::DeclRefExpr>(each);
        if (name == nullptr || name->getDecl() != array) continue;
        const auto* cast = dyn_cast_or_null<clang::ImplicitCastExpr>(code_.Parent(each));
        if (cast == nullptr || cast->getCastKind() != clang::CK_ArrayToPointerDecay) return false;
      }
    }
    return true;
  }

  // The part as it is done before one of the loops around; nothing, if it cannot be done there, or
  // need not be done again and again.
  std::optional<DonePart> Before(size_t depth, const PartPlaces& part, const PartUse& use) const {
    const clang::Stmt* place = around_[depth];
    DonePart done{&loop_, place, depth, part, use, {}, {}, {}};
    const std::optional<Variables> counters = Needed(place, part, &done.between);
    if (!counters || counters->empty()) return std::nullopt;
    std::vector<const Loop*> all;
    for (const clang::Stmt* each : around_)
      if (code_.IsWithin(each, place) && code_.LoopOf(each) != nullptr)
        all.push_back(code_.LoopOf(each));
    all.push_back(&loop_);
    for (const Loop* each : all)
      if (counters->count(each->var) > 0) done.loops.push_back(each);
    if (done.loops.size() != counters->size() || !AddAxes(&done) || done.axes.size() > kAxesMax)
      return std::nullopt;
    const bool on_stack = EntriesOf(done.axes).known;
    if ((!on_stack && LeavesFunction(place)) || MayHarm(done, all)) return std::nullopt;
    return done;
  }

  // The counters within a loop that a part needs, and declarations of the loops in between; nothing
  // if it needs anything else that changes there.
  std::optional<Variables> Needed(const clang::Stmt* place, const PartPlaces& part,
                                  std::vector<Piece>* between) const {
    const Variables varying = Varying(place);
    Variables own;
    Variables named;
    for (const size_t each : part) {
      if (pieces_[each].variable != nullptr) own.insert(pieces_[each].variable);
      named.insert(pieces_[each].named.begin(), pieces_[each].named.end());
    }
    Variables counters;
    while (!named.empty()) {
      const clang::VarDecl* each = *named.begin();
      named.erase(named.begin());
      if (own.count(each) > 0 || varying.count(each) == 0) continue;
      if (IsCounter(each)) {
        counters.insert(each);
        continue;
      }
      std::optional<Piece> declared = DeclaredBetween(place, each);
      if (!declared) return std::nullopt;
      for (const clang::VarDecl* other : own)
        if (other->getName() == each->getName()) return std::nullopt;
      own.insert(each);
      named.insert(declared->named.begin(), declared->named.end());
      between->push_back(*std::move(declared));
    }
    std::sort(between->begin(), between->end(), [&](const Piece& left, const Piece& right) {
      return code_.At(left.variable->getLocation()) < code_.At(right.variable->getLocation());
    });
    return counters;
  }
  bool IsCounter(const clang::VarDecl* variable) const {
    const std::vector<Loop>& loops = code_.loops();
    return std::any_of(loops.begin(), loops.end(),
                       [&](const Loop& each) { return each.var == variable; });
  }
  // What declares a variable in a loop between, if it is never written to.
  std::optional<Piece> DeclaredBetween(const clang::Stmt* place,
                                       const clang::VarDecl* variable) const {
    Variables written = Changed(place);
    written.merge(Written(place));
    if (written.count(variable) > 0) return std::nullopt;
    for (const clang::Stmt* at = loop_.stmt; at != place; at = code_.Parent(at)) {
      const auto* block = dyn_cast<clang::CompoundStmt>(code_.Parent(at));
      if (block == nullptr) continue;
      for (const Piece& each : PiecesOf(code_, StatementsOf(block)))
        if (each.variable == variable)
          return each.movable && each.written.size() == 1 && variable->getInit() != nullptr &&
                         (variable->getType()->isArithmeticType() ||
                          clang::cast<clang::DeclStmt>(each.stmt)->isSingleDecl())
                     ? std::optional(each)
                     : std::nullopt;
    }
    return std::nullopt;
  }

  bool AddAxes(DonePart* done) const {
    const BeforeLoop before(code_, done->place);
    const bool own_counter = done->loops[0]->stmt == done->place;
    const std::string name = code_.Fresh({"at", "place_of", "sum_of"});
    for (size_t left = 0; left < (own_counter ? 1 : done->loops.size()); ++left)
      for (size_t right = left + 1; right < done->loops.size(); ++right) {
        const Loop& first = *done->loops[left];
        const Loop& second = *done->loops[right];
        const std::optional<Edits> sums = Sums(*done, first, second, name);
        const std::optional<Axis> axis =
            sums ? AxisOfSums(code_, before, first, second, name) : std::nullopt;
        if (!axis) continue;
        std::vector<const Loop*> others = done->loops;
        std::erase_if(others, [&](const Loop* each) { return each == &first || each == &second; });
        std::optional<std::vector<Axis>> axes = AxesOf(code_, before, others);
        if (!axes) continue;
        done->sums = *sums;
        done->axes = *std::move(axes);
        done->axes.push_back(*axis);
        done->filled = done->axes;
        done->filled.back().place = name;
        return true;
      }
    const std::optional<std::vector<Axis>> axes =
        own_counter ? std::nullopt : AxesOf(code_, before, done->loops);
    if (axes) done->axes = done->filled = *axes;
    return axes.has_value();
  }
  // What puts a variable in the place of all sums of two counters; nothing, if the part needs them
  // otherwise.
  std::optional<Edits> Sums(const DonePart& done, const Loop& left, const Loop& right,
                            const std::string& name) const {
    Edits edits;
    for (const Piece& each : All(done)) {
      const clang::Stmt* stmt = each.variable == nullptr
                                    ? each.stmt
                                    : dyn_cast_or_null<clang::Stmt>(each.variable->getInit());
      if (stmt == nullptr || Mentions(stmt, left.var) + Mentions(stmt, right.var) == 0) continue;
      const std::optional<Edits> found = SumsReplaced(code_, stmt, left.var, right.var, name);
      if (!found) return std::nullopt;
      edits.insert(edits.end(), found->begin(), found->end());
    }
    return edits;
  }
  std::vector<Piece> All(const DonePart& done) const {
    std::vector<Piece> all = done.between;
    for (const size_t each : done.part) all.push_back(pieces_[each]);
    return all;
  }

  // Whether doing the part for all entries may do harm, since turns of these loops go by without
  // it.
  bool MayHarm(const DonePart& done, const std::vector<const Loop*>& all) const {
    const std::vector<const Loop*> loops(std::find(all.begin(), all.end(), done.loops[0]),
                                         all.end());
    Variables own;
    for (const Piece& each : All(done))
      if (each.variable != nullptr) own.insert(each.variable);
    for (const Piece& piece : All(done)) {
      const clang::Stmt* stmt = piece.variable == nullptr ? piece.stmt : piece.variable->getInit();
      if (stmt == nullptr || !MaySkip(code_, loops, stmt)) continue;
      for (const clang::Stmt* each : Below(stmt))
        if (MayFault(code_, each) && !isa<clang::CallExpr>(each) &&
            !IsReadAnyway(code_, loops, each) && !IsElementOfCounters(done, own, each))
          return true;
    }
    return false;
  }
  // Whether it is an element that other turns have a use for: that of counters, or of an array of
  // the part's own.
  static bool IsElementOfCounters(const DonePart& done, const Variables& own,
                                  const clang::Stmt* stmt) {
    const auto* element = dyn_cast<clang::ArraySubscriptExpr>(stmt);
    if (element == nullptr) return false;
    if (own.count(NamedVariable(element->getBase())) > 0) return true;
    const auto is_counter = [&](const clang::Expr* each) {
      return std::any_of(done.loops.begin(), done.loops.end(),
                         [&](const Loop* loop) { return NamedVariable(each) == loop->var; });
    };
    const std::vector<Summand> summands = SummandsOf(element->getIdx());
    return std::all_of(summands.begin(), summands.end(), [&](const Summand& each) {
      const auto* product = dyn_cast<clang::BinaryOperator>(each.expression->IgnoreParenImpCasts());
      return !each.minus && (is_counter(each.expression) ||
                             (product != nullptr && product->getOpcode() == clang::BO_Mul &&
                              (is_counter(product->getLHS()) || is_counter(product->getRHS()))));
    });
  }

  const FunctionCode& code_;
  const Loop& loop_;
  std::vector<Piece> pieces_;
  std::vector<const clang::Stmt*> around_;  // the loops, outer ones first
};

}  // namespace

std::vector<DonePart> DonePartsOf(const FunctionCode& code, const Loop& loop) {
  const PartFinder finder(code, loop);
  std::vector<DonePart> parts = finder.Find();
  std::stable_sort(parts.begin(), parts.end(), [](const DonePart& left, const DonePart& right) {
    return left.depth != right.depth ? left.depth < right.depth
                                     : left.part.size() > right.part.size();
  });
  std::vector<DonePart> found;
  std::set<PartPlaces> seen;
  for (; !parts.empty(); parts.erase(parts.begin()))
    for (const DonePart& each : {finder.Joined(parts), parts[0]})
      if (seen.insert(each.part).second) found.push_back(each);
  return found;
}

}  // namespace whetstone
