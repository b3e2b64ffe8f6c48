#include <algorithm>
#include <utility>

#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "cpu_bench_worker/rewrite/analysis/before_loop.h"
#include "cpu_bench_worker/rewrite/analysis/math_calls.h"
#include "cpu_bench_worker/rewrite/analysis/turn_tables.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

// A function that is carried along from turn to turn.
struct Carried {
  bool angle = false;           // sine and cosine; else a power
  const Loop* inner = nullptr;  // the loop within whose counter it depends on, too
  std::string function;         // "std::exp", as a double
  std::string base;             // "x, " of pow(x, i)
  std::string first;            // the argument in the first turn
  std::string step;             // what it grows by
  std::string argument;         // in any turn
  std::string suffix;           // of its names
  size_t column = 0;            // of its values in a table with all of the loop's
  std::vector<const clang::CallExpr*> calls;
};

// Where the values of a loop within are carried, and where they make their steps.
enum class Form {
  kStepsApart,   // in a table for each, and a loop of their own
  kStepsWithin,  // in a table for each, and the same loop
  kOneTable,     // in one table, and the same loop
};

// The functions that a loop carries along, and their texts.
class Carrying {
 public:
  Carrying(const FunctionCode& code, const Loop& loop)
      : code_(code), loop_(loop), before_(code, loop.stmt) {
    if (Has<clang::ContinueStmt, clang::GotoStmt>(loop.stmt->getBody()) ||
        !OnlyComputes(code, loop.first))
      return;
    for (const clang::Stmt* each : Below(loop.stmt->getBody()))
      if (const clang::CallExpr* call = AsMathCall(code, each)) Add(call);
  }

  bool Any() const { return !carried_.empty(); }
  // Whether some need a loop within, and their steps can be made in that one.
  bool WithinInner() const {
    bool within = false;
    for (const Carried& each : carried_) {
      if (each.inner == nullptr) continue;
      if (Has<clang::ContinueStmt, clang::BreakStmt>(each.inner->stmt->getBody())) return false;
      within = true;
    }
    return within;
  }
  // The loop with all of them carried along.
  std::string Text(Form form) const {
    std::string text;
    std::string deleted;
    std::string steps;
    for (const Carried& each : carried_) {
      if (each.inner != nullptr) continue;
      for (const Value& value : ValuesOf(each, form))
        text += "double " + value.now + " = " + value.first + ";\nconst double " + value.step +
                " = " + value.first_step + ";\n";
      steps += Turned(each, form);
    }
    Edits edits = Calls(form);
    for (const Loop* inner : Inners()) {
      text += Tables(*inner, form, &deleted);
      Override(&edits, code_.Instead(inner->stmt, Inner(*inner, edits, form)));
    }
    return text + code_.Head(loop_) + " {\n" + code_.Text(loop_.body, edits) + steps + "}" +
           deleted;
  }

 private:
  // One number that is carried along: its name or entry, that of its step, and what both are in the
  // first turn.
  struct Value {
    std::string now;
    std::string step;
    std::string first;
    std::string first_step;
  };

  // Adds the call, if the function can be carried along.
  void Add(const clang::CallExpr* call) {
    const std::string name = ExpensiveName(call);
    const bool angle = name == "sin" || name == "cos";
    const bool of_base = name == "pow" && call->getNumArgs() == 2;
    if (!angle && name != "exp" && name != "exp2" && !of_base) return;
    const clang::Expr* argument = call->getArg(of_base ? 1 : 0)->IgnoreImplicit();
    const std::optional<Variables> needed = before_.Needs(call);
    if (!needed || needed->count(loop_.var) == 0) return;
    if (of_base && before_.Needs(call->getArg(0))->count(loop_.var) > 0) return;
    Carried carried;
    for (const clang::VarDecl* variable : *needed) {
      if (variable == loop_.var) continue;
      if (carried.inner != nullptr) return;
      carried.inner = InnerOf(variable);
      if (carried.inner == nullptr) return;
    }
    if (carried.inner != nullptr && before_.MayHarm(call, {carried.inner})) return;
    const std::optional<std::string> step = before_.Step(argument, loop_.var);
    if (!step || step->empty()) return;
    const bool standard = code_.Text(call->getCallee()).compare(0, 5, "std::") == 0;
    carried.angle = angle;
    carried.function = (standard ? "std::" : "") + (angle ? "" : name);
    carried.base = of_base ? before_.Text(call->getArg(0), {}) + ", " : "";
    carried.first = FirstOf(argument);
    carried.step = *step;
    carried.argument = before_.Text(argument, {});
    Join(std::move(carried), call);
  }
  // An expression in the first turn, as a double; empty for 0.
  std::string FirstOf(const clang::Expr* expression) const {
    const bool from_zero = code_.Constant(loop_.first) == 0;
    const std::string text =
        from_zero ? before_.AtZero(expression, loop_.var)
                  : before_.Operand(expression, {{loop_.var, code_.Operand(loop_.first)}});
    const bool is_double = FloatingType(expression->getType()) == "double";
    return is_double || text.empty() ? text : "(double)" + text;
  }
  // Sine and cosine of the same angle are one.
  void Join(Carried carried, const clang::CallExpr* call) {
    size_t alike = 0;
    for (Carried& other : carried_) {
      if (other.inner == carried.inner && other.function == carried.function &&
          other.base == carried.base && other.argument == carried.argument) {
        other.calls.push_back(call);
        return;
      }
      alike += other.angle == carried.angle ? 1 : 0;
    }
    carried.suffix = alike == 0 ? "" : std::to_string(alike + 1);
    carried.column = ColumnsOf(carried.inner);
    carried.calls.push_back(call);
    carried_.push_back(std::move(carried));
  }

  // The loop of this counter, if every turn of the carrying loop runs through all of it.
  const Loop* InnerOf(const clang::VarDecl* counter) const {
    for (const clang::Stmt* stmt : loop_.body) {
      const Loop* inner = code_.LoopOf(stmt);
      if (inner == nullptr || inner->var != counter) continue;
      const std::optional<Entries> entries = EntriesOf(code_, before_, {inner});
      return entries && (entries->known || !LeavesFunction(loop_.stmt)) ? inner : nullptr;
    }
    return nullptr;
  }
  // The loops within whose counters are needed, in order.
  std::vector<const Loop*> Inners() const {
    std::vector<const Loop*> inners;
    for (const Loop& loop : code_.loops())
      if (ColumnsOf(&loop) > 0) inners.push_back(&loop);
    return inners;
  }
  // How many numbers, with their steps, are carried for each turn of a loop within.
  size_t ColumnsOf(const Loop* inner) const {
    size_t columns = 0;
    for (const Carried& each : carried_)
      if (each.inner == inner) columns += each.angle ? 4 : 2;
    return columns;
  }
  std::string OneTable(const Loop& inner) const {
    const std::vector<const Loop*> inners = Inners();
    const auto place = std::find(inners.begin(), inners.end(), &inner) - inners.begin();
    return NameOf(code_, "carried", place == 0 ? "" : std::to_string(place + 1));
  }

  // A power, or a sine and a cosine.
  std::vector<Value> ValuesOf(const Carried& carried, Form form) const {
    std::vector<Value> values;
    const std::vector<std::string> names = carried.angle
                                               ? std::vector<std::string>{"sine", "cosine"}
                                               : std::vector<std::string>{"power"};
    for (const std::string& own : names) {
      const std::string name = NameWithStep(code_, own, carried.suffix);
      Value value{.now = name, .step = name + "_step", .first = "", .first_step = ""};
      if (carried.inner != nullptr) {
        const std::string entry = "[" + EntriesOf(code_, before_, {carried.inner})->index + "]";
        const size_t column = carried.column + 2 * values.size();
        const std::string row =
            form == Form::kOneTable ? OneTable(*carried.inner) + entry + "[" : "";
        value.now = row.empty() ? value.now + entry : row + std::to_string(column) + "]";
        value.step = row.empty() ? value.step + entry : row + std::to_string(column + 1) + "]";
      }
      const std::string function =
          carried.function + (carried.angle ? own.substr(0, 3) : "") + "(" + carried.base;
      const std::string at_zero = own == "sine" ? "0.0" : "1.0";
      value.first = carried.first.empty() ? at_zero : function + carried.first + ")";
      value.first_step = function + carried.step + ")";
      values.push_back(std::move(value));
    }
    return values;
  }

  // The statements that go on by one step.
  std::string Turned(const Carried& carried, Form form) const {
    const std::vector<Value> values = ValuesOf(carried, form);
    const auto& [sine, sine_step, first, first_step] = values[0];
    if (!carried.angle) return sine + " *= " + sine_step + ";\n";
    const std::string& cosine = values[1].now;
    const std::string& cosine_step = values[1].step;
    const std::string next = NameOf(code_, "next", carried.suffix);
    return "const double " + next + " = " + sine + " * " + cosine_step + " + " + cosine + " * " +
           sine_step + ";\n" + cosine + " = " + cosine + " * " + cosine_step + " - " + sine +
           " * " + sine_step + ";\n" + sine + " = " + next + ";\n";
  }

  // The values in the place of the calls.
  Edits Calls(Form form) const {
    Edits edits;
    for (const Carried& each : carried_) {
      const std::vector<Value> values = ValuesOf(each, form);
      for (const clang::CallExpr* call : each.calls) {
        const bool cosine = ExpensiveName(call) == "cos";
        const std::string cast = FloatingType(call->getType()) == "float" ? "(float)" : "";
        edits.push_back(code_.Instead(call, cast + values[cosine ? 1 : 0].now));
      }
    }
    return edits;
  }

  // The tables of what is carried in this loop, filled for the first turn.
  std::string Tables(const Loop& inner, Form form, std::string* deleted) const {
    const Entries entries = *EntriesOf(code_, before_, {&inner});
    std::string tables;
    std::string filled;
    for (const Carried& each : carried_) {
      if (each.inner != &inner) continue;
      for (const auto& [now, step, first, first_step] : ValuesOf(each, form)) {
        filled += now + " = " + first + ";\n" + step + " = " + first_step + ";\n";
        if (form == Form::kOneTable) continue;
        for (const std::string& entry : {now, step}) {
          const std::string name = entry.substr(0, entry.find('['));
          tables += TableOf("double", name, entries);
          *deleted += Deleted(name, entries);
        }
      }
    }
    if (form == Form::kOneTable) {
      const std::string name = OneTable(inner);
      const std::string row = "[" + std::to_string(ColumnsOf(&inner)) + "]";
      tables = entries.known ? "double " + name + "[" + entries.size + "]" + row + ";\n"
                             : "double(*const " + name + ")" + row + " = new double[" +
                                   entries.size + "]" + row + ";\n";
      *deleted += Deleted(name, entries);
    }
    return tables + before_.Head(inner) + " {\n" + filled + "}\n";
  }

  // The loop within, and the steps.
  std::string Inner(const Loop& inner, const Edits& edits, Form form) const {
    std::string steps;
    for (const Carried& each : carried_)
      if (each.inner == &inner) steps += Turned(each, form);
    const std::string head = code_.Head(inner) + " {\n";
    return head + code_.Text(inner.body, edits) + (form == Form::kStepsApart ? "}\n" + head : "") +
           steps + "}\n";
  }

  const FunctionCode& code_;
  const Loop& loop_;
  const BeforeLoop before_;
  std::vector<Carried> carried_;
};

}  // namespace

void CarryAlong(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& loop : code.loops()) {
    const Carrying carrying(code, loop);
    if (!carrying.Any()) continue;
    for (const Form form : {Form::kStepsApart, Form::kStepsWithin, Form::kOneTable})
      if (form == Form::kStepsApart || carrying.WithinInner())
        rewrites->push_back(
            {"carried along", code.Source({code.Instead(loop.stmt, carrying.Text(form))})});
  }
}

}  // namespace whetstone
