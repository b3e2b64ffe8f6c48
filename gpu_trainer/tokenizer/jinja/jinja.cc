#include "gpu_trainer/tokenizer/jinja/jinja.h"

#include <ctime>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "gpu_trainer/tokenizer/jinja/jinja_builtins.h"
#include "gpu_trainer/tokenizer/jinja/jinja_parser.h"

namespace whetstone {
namespace jinja {
namespace {

// A template that runs away is stopped rather than followed.
constexpr int64_t kStepsMax = 1'000'000;
constexpr size_t kOutputBytesMax = size_t{64} << 20;
constexpr int64_t kRangeMax = 10'000;
constexpr int kMacroDepthMax = 50;

// The Interpreter does one rendering. Names live in scopes: a loop's body and a macro have their
// own, `if` has not.
class Interpreter {
 public:
  explicit Interpreter(const std::map<std::string, Value>& variables) : scopes_{variables} {}

  absl::StatusOr<std::string> Run(const Nodes& nodes) {
    ASSIGN_OR_RETURN(const Flow flow, All(nodes));
    if (flow != kNext) return absl::InvalidArgumentError("break or continue outside a loop");
    return std::move(out_);
  }

 private:
  enum Flow { kNext, kBreak, kContinue };
  using Scope = std::map<std::string, Value>;

  static absl::Status Fail(int line, absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("line ", line, ": ", what));
  }
  static absl::Status At(int line, const absl::Status& status) {
    return Fail(line, status.message());
  }

  Value Lookup(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      const auto it = scope->find(name);
      if (it != scope->end()) return it->second;
    }
    // Functions can only be called, but templates ask whether they are defined.
    for (const char* function : {"namespace", "dict", "range", "raise_exception", "strftime_now"}) {
      if (name == function) return Value::Of(absl::StrCat("<function ", name, ">"));
    }
    return Value();
  }

  absl::StatusOr<Flow> All(const Nodes& nodes) {
    for (const auto& node : nodes) {
      ASSIGN_OR_RETURN(const Flow flow, One(*node));
      if (flow != kNext) return flow;
    }
    return kNext;
  }

  absl::StatusOr<Flow> One(const Node& node) {
    if (++steps_ > kStepsMax || out_.size() > kOutputBytesMax) {
      return Fail(node.line, "the template runs away");
    }
    switch (node.kind) {
      case Node::kText:
        out_ += node.text;
        return kNext;
      case Node::kPrint: {
        ASSIGN_OR_RETURN(const Value value, Eval(*node.expr));
        out_ += value.Print();
        return kNext;
      }
      case Node::kIf: {
        ASSIGN_OR_RETURN(const Value condition, Eval(*node.expr));
        return All(condition.Truthy() ? node.body : node.otherwise);
      }
      case Node::kFor:
        return For(node);
      case Node::kSet: {
        ASSIGN_OR_RETURN(Value value, Eval(*node.expr));
        return Assign(node, std::move(value));
      }
      case Node::kSetBlock: {
        ASSIGN_OR_RETURN(std::string text, Captured(node.body));
        return Assign(node, Value::Of(std::move(text)));
      }
      case Node::kScope:
        return All(node.body);
      case Node::kMacro:
        macros_[node.text] = &node;
        return kNext;
      case Node::kBreak:
        return kBreak;
      case Node::kContinue:
        return kContinue;
    }
    return kNext;
  }

  absl::StatusOr<Flow> Assign(const Node& node, Value value) {
    if (node.targets.size() == 1) {
      scopes_.back()[node.targets[0]] = std::move(value);
      return kNext;
    }
    Value holder = Lookup(node.targets[0]);
    if (holder.kind != Value::kDict) {
      return Fail(node.line, absl::StrCat(node.targets[0], " is no namespace"));
    }
    holder.Set(node.targets[1], std::move(value));
    return kNext;
  }

  absl::StatusOr<std::string> Captured(const Nodes& body) {
    std::string outer = std::exchange(out_, "");
    ASSIGN_OR_RETURN(const Flow flow, All(body));
    if (flow != kNext) return absl::InvalidArgumentError("break or continue outside a loop");
    return std::exchange(out_, std::move(outer));
  }

  absl::Status Bind(const Node& node, const Value& item, Scope* scope) {
    if (node.targets.size() == 1) {
      (*scope)[node.targets[0]] = item;
      return absl::OkStatus();
    }
    if (item.kind != Value::kList || item.list->size() != node.targets.size()) {
      return Fail(node.line, "a loop's item does not have as many parts as the loop has names");
    }
    for (size_t i = 0; i < node.targets.size(); ++i) (*scope)[node.targets[i]] = (*item.list)[i];
    return absl::OkStatus();
  }

  absl::StatusOr<Flow> For(const Node& node) {
    ASSIGN_OR_RETURN(const Value over, Eval(*node.expr));
    auto all = Iterate(over);
    if (!all.ok()) return At(node.line, all.status());
    Value::List items;
    for (const Value& item : *all) {
      if (node.condition != nullptr) {
        scopes_.emplace_back();
        RETURN_IF_ERROR(Bind(node, item, &scopes_.back()));
        ASSIGN_OR_RETURN(const Value keep, Eval(*node.condition));
        scopes_.pop_back();
        if (!keep.Truthy()) continue;
      }
      items.push_back(item);
    }
    if (items.empty()) return All(node.otherwise);
    for (size_t i = 0; i < items.size(); ++i) {
      if (++steps_ > kStepsMax) return Fail(node.line, "the template runs away");
      scopes_.emplace_back();
      RETURN_IF_ERROR(Bind(node, items[i], &scopes_.back()));
      const int64_t index = static_cast<int64_t>(i), n = static_cast<int64_t>(items.size());
      scopes_.back()["loop"] =
          Value::OfDict({{"index", Value::Of(index + 1)},
                         {"index0", Value::Of(index)},
                         {"revindex", Value::Of(n - index)},
                         {"revindex0", Value::Of(n - index - 1)},
                         {"first", Value::Of(i == 0)},
                         {"last", Value::Of(index + 1 == n)},
                         {"length", Value::Of(n)},
                         {"previtem", i == 0 ? Value() : items[i - 1]},
                         {"nextitem", index + 1 == n ? Value() : items[i + 1]}});
      ASSIGN_OR_RETURN(const Flow flow, All(node.body));
      scopes_.pop_back();
      if (flow == kBreak) break;
    }
    return kNext;
  }

  absl::StatusOr<Arguments> EvalArguments(const Expr& expr) {
    Arguments arguments;
    for (size_t i = 1; i < expr.kids.size(); ++i) {
      ASSIGN_OR_RETURN(Value value, Eval(*expr.kids[i]));
      if (expr.names[i - 1].empty()) {
        arguments.positional.push_back(std::move(value));
      } else {
        arguments.named.emplace_back(expr.names[i - 1], std::move(value));
      }
    }
    return arguments;
  }

  absl::StatusOr<Value> Eval(const Expr& expr) {
    if (++steps_ > kStepsMax) return Fail(expr.line, "the template runs away");
    auto result = EvalInner(expr);
    if (result.ok() || located_) return result;
    located_ = true;  // The innermost line is the useful one.
    return At(expr.line, result.status());
  }

  absl::StatusOr<Value> EvalInner(const Expr& expr) {
    switch (expr.kind) {
      case Expr::kLiteral:
        return expr.literal;
      case Expr::kName:
        return Lookup(expr.text);
      case Expr::kList: {
        Value::List items;
        for (const auto& kid : expr.kids) {
          ASSIGN_OR_RETURN(Value item, Eval(*kid));
          items.push_back(std::move(item));
        }
        return Value::OfList(std::move(items));
      }
      case Expr::kDict: {
        Value dict = Value::OfDict({});
        for (size_t i = 0; i < expr.kids.size(); i += 2) {
          ASSIGN_OR_RETURN(const Value key, Eval(*expr.kids[i]));
          ASSIGN_OR_RETURN(Value value, Eval(*expr.kids[i + 1]));
          dict.Set(key.Print(), std::move(value));
        }
        return dict;
      }
      case Expr::kAttribute: {
        ASSIGN_OR_RETURN(const Value of, Eval(*expr.kids[0]));
        return Subscript(of, Value::Of(expr.text));
      }
      case Expr::kIndex: {
        ASSIGN_OR_RETURN(const Value of, Eval(*expr.kids[0]));
        ASSIGN_OR_RETURN(const Value index, Eval(*expr.kids[1]));
        return Subscript(of, index);
      }
      case Expr::kSlice: {
        std::vector<Value> parts;
        for (const auto& kid : expr.kids) {
          ASSIGN_OR_RETURN(Value part, Eval(*kid));
          parts.push_back(std::move(part));
        }
        return Slice(parts[0], parts[1], parts[2], parts[3]);
      }
      case Expr::kCall:
        return Call(expr);
      case Expr::kFilter: {
        ASSIGN_OR_RETURN(const Value value, Eval(*expr.kids[0]));
        ASSIGN_OR_RETURN(const Arguments arguments, EvalArguments(expr));
        return ApplyFilter(expr.text, value, arguments);
      }
      case Expr::kTest: {
        ASSIGN_OR_RETURN(const Value value, Eval(*expr.kids[0]));
        ASSIGN_OR_RETURN(const Arguments arguments, EvalArguments(expr));
        ASSIGN_OR_RETURN(const bool holds, ApplyTest(expr.text, value, arguments));
        return Value::Of(holds);
      }
      case Expr::kUnary: {
        ASSIGN_OR_RETURN(const Value value, Eval(*expr.kids[0]));
        if (expr.text == "not") return Value::Of(!value.Truthy());
        return ApplyOperator(expr.text, Value::Of(int64_t{0}), value);
      }
      case Expr::kBinary: {
        ASSIGN_OR_RETURN(Value left, Eval(*expr.kids[0]));
        if (expr.text == "and" && !left.Truthy()) return left;
        if (expr.text == "or" && left.Truthy()) return left;
        ASSIGN_OR_RETURN(Value right, Eval(*expr.kids[1]));
        if (expr.text == "and" || expr.text == "or") return right;
        return ApplyOperator(expr.text, left, right);
      }
      case Expr::kTernary: {
        ASSIGN_OR_RETURN(const Value condition, Eval(*expr.kids[1]));
        return Eval(*expr.kids[condition.Truthy() ? 0 : 2]);
      }
    }
    return Value();
  }

  absl::StatusOr<Value> Call(const Expr& expr) {
    const Expr& callee = *expr.kids[0];
    ASSIGN_OR_RETURN(const Arguments arguments, EvalArguments(expr));
    if (callee.kind == Expr::kAttribute) {
      ASSIGN_OR_RETURN(const Value of, Eval(*callee.kids[0]));
      return CallMethod(of, callee.text, arguments);
    }
    if (callee.kind != Expr::kName) return absl::InvalidArgumentError("this can not be called");
    if (const auto macro = macros_.find(callee.text); macro != macros_.end()) {
      return CallMacro(*macro->second, arguments);
    }
    const Value* first = arguments.Get(0, "");
    if (callee.text == "raise_exception") {
      return absl::InvalidArgumentError(absl::StrCat("the chat template refuses these messages: ",
                                                     first == nullptr ? "" : first->Print()));
    }
    if (callee.text == "namespace" || callee.text == "dict") {
      return Value::OfDict(arguments.named);
    }
    if (callee.text == "range") return Range(arguments);
    if (callee.text == "strftime_now" && first != nullptr) {
      const std::time_t now = std::time(nullptr);
      std::tm local;
      localtime_r(&now, &local);
      char buffer[256];
      const size_t n = std::strftime(buffer, sizeof buffer, first->text.c_str(), &local);
      return Value::Of(std::string(buffer, n));
    }
    return absl::InvalidArgumentError(
        absl::StrCat("the function '", callee.text, "' is not supported"));
  }

  absl::StatusOr<Value> Range(const Arguments& arguments) {
    std::vector<int64_t> numbers;
    for (const Value& value : arguments.positional) {
      if (value.kind != Value::kInt) return absl::InvalidArgumentError("range needs integers");
      numbers.push_back(value.integer);
    }
    if (numbers.empty() || numbers.size() > 3) {
      return absl::InvalidArgumentError("range needs one to three numbers");
    }
    const int64_t begin = numbers.size() > 1 ? numbers[0] : 0;
    const int64_t end = numbers.size() > 1 ? numbers[1] : numbers[0];
    const int64_t step = numbers.size() > 2 ? numbers[2] : 1;
    if (step == 0) return absl::InvalidArgumentError("range with step 0");
    Value::List items;
    for (int64_t i = begin; step > 0 ? i < end : i > end; i += step) {
      if (static_cast<int64_t>(items.size()) == kRangeMax) {
        return absl::InvalidArgumentError("range is too long");
      }
      items.push_back(Value::Of(i));
    }
    return Value::OfList(std::move(items));
  }

  absl::StatusOr<Value> CallMacro(const Node& macro, const Arguments& arguments) {
    if (++macro_depth_ > kMacroDepthMax) {
      return absl::InvalidArgumentError("macros call each other too deeply");
    }
    Scope scope;
    for (size_t i = 0; i < macro.targets.size(); ++i) {
      const Value* given = arguments.Get(i, macro.targets[i]);
      if (given != nullptr) {
        scope[macro.targets[i]] = *given;
      } else if (macro.defaults[i] != nullptr) {
        ASSIGN_OR_RETURN(scope[macro.targets[i]], Eval(*macro.defaults[i]));
      }
    }
    // A macro sees the outermost names and its own, not its caller's.
    std::vector<Scope> callers(scopes_.begin() + 1, scopes_.end());
    scopes_.resize(1);
    scopes_.push_back(std::move(scope));
    ASSIGN_OR_RETURN(std::string text, Captured(macro.body));
    scopes_.resize(1);
    scopes_.insert(scopes_.end(), callers.begin(), callers.end());
    --macro_depth_;
    return Value::Of(std::move(text));
  }

  std::vector<Scope> scopes_;
  std::map<std::string, const Node*> macros_;
  std::string out_;
  int64_t steps_ = 0;
  int macro_depth_ = 0;
  bool located_ = false;
};

}  // namespace
}  // namespace jinja

absl::StatusOr<JinjaTemplate> JinjaTemplate::Parse(absl::string_view source) {
  ASSIGN_OR_RETURN(jinja::Nodes nodes, jinja::ParseTemplate(source));
  JinjaTemplate parsed;
  parsed.nodes_ = std::make_shared<const jinja::Nodes>(std::move(nodes));
  return parsed;
}

absl::StatusOr<std::string> JinjaTemplate::Render(
    const std::map<std::string, jinja::Value>& variables) const {
  return jinja::Interpreter(variables).Run(*nodes_);
}

}  // namespace whetstone
