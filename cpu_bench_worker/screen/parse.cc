#include "cpu_bench_worker/screen/parse.h"

#include <unistd.h>

#include <fstream>
#include <memory>

#include "clang/AST/ASTConsumer.h"
#include "clang/AST/ASTContext.h"
#include "clang/Basic/Diagnostic.h"
#include "clang/Basic/DiagnosticOptions.h"
#include "clang/Basic/FileManager.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/FrontendActions.h"
#include "clang/Lex/Preprocessor.h"
#include "clang/Serialization/PCHContainerOperations.h"
#include "clang/Tooling/Tooling.h"
#include "cpu_bench_worker/screen/directives.h"
#include "cpu_bench_worker/screen/rules.h"
#include "cpu_bench_worker/screen/techniques.h"
#include "llvm/ADT/IntrusiveRefCntPtr.h"
#include "llvm/Support/VirtualFileSystem.h"

namespace whetstone {
namespace {

constexpr char kProgramPath[] = "/work/candidate.cc";
constexpr size_t kErrorsMax = 3;

class Diagnostics final : public clang::DiagnosticConsumer {
 public:
  explicit Diagnostics(ScreenFindings* findings) : findings_(findings) {}

  void HandleDiagnostic(clang::DiagnosticsEngine::Level level,
                        const clang::Diagnostic& info) override {
    DiagnosticConsumer::HandleDiagnostic(level, info);
    llvm::SmallString<200> text;
    info.FormatDiagnostic(text);
    const std::string message = text.str().str();
    std::string line;
    if (info.hasSourceManager() && info.getLocation().isValid()) {
      const clang::SourceManager& sources = info.getSourceManager();
      const clang::SourceLocation at = sources.getExpansionLoc(info.getLocation());
      if (sources.isInMainFile(at))
        line = "line " + std::to_string(sources.getExpansionLineNumber(at)) + ": ";
    }
    if (level >= clang::DiagnosticsEngine::Error) {
      if (findings_->errors.size() < kErrorsMax)
        findings_->errors.push_back(line + "error: " + message);
      return;
    }
    // What clang ignores g++ may obey.
    constexpr char kUnknown[] = "unknown attribute '";
    if (message.rfind(kUnknown, 0) == 0) {
      const size_t begin = sizeof(kUnknown) - 1;
      const std::string problem =
          UnknownAttributeProblem(message.substr(begin, message.find('\'', begin) - begin));
      if (!problem.empty()) findings_->forbidden.push_back(line + problem);
    }
  }

 private:
  ScreenFindings* findings_;
};

// Consumer collects the program's top-level declarations and hands them over at the end.
template <typename AtEnd>
class Consumer final : public clang::ASTConsumer {
 public:
  explicit Consumer(AtEnd at_end) : at_end_(std::move(at_end)) {}
  bool HandleTopLevelDecl(clang::DeclGroupRef group) override {
    declarations_.insert(declarations_.end(), group.begin(), group.end());
    return true;
  }
  void HandleTranslationUnit(clang::ASTContext& context) override {
    std::vector<clang::Decl*> mine;
    const clang::SourceManager& sources = context.getSourceManager();
    for (clang::Decl* decl : declarations_)
      if (sources.isInMainFile(sources.getExpansionLoc(decl->getLocation()))) mine.push_back(decl);
    at_end_(&context, mine);
  }

 private:
  AtEnd at_end_;
  std::vector<clang::Decl*> declarations_;
};

template <typename AtEnd>
class Action final : public clang::ASTFrontendAction {
 public:
  Action(const ScreenRules* rules, ScreenFindings* findings, AtEnd at_end)
      : rules_(rules), findings_(findings), at_end_(std::move(at_end)) {}
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler,
                                                        llvm::StringRef) override {
    if (rules_ != nullptr)
      compiler.getPreprocessor().addPPCallbacks(
          WatchDirectives(&compiler.getSourceManager(), rules_, findings_));
    return std::make_unique<Consumer<AtEnd>>(at_end_);
  }

 private:
  const ScreenRules* rules_;
  ScreenFindings* findings_;
  AtEnd at_end_;
};

bool RunClang(std::vector<std::string> arguments, std::unique_ptr<clang::FrontendAction> action,
              const std::string& source, ScreenFindings* findings) {
  llvm::IntrusiveRefCntPtr<llvm::vfs::OverlayFileSystem> files(
      new llvm::vfs::OverlayFileSystem(llvm::vfs::getRealFileSystem()));
  llvm::IntrusiveRefCntPtr<llvm::vfs::InMemoryFileSystem> memory(new llvm::vfs::InMemoryFileSystem);
  memory->addFile(kProgramPath, 0, llvm::MemoryBuffer::getMemBuffer(source));
  files->pushOverlay(memory);
  llvm::IntrusiveRefCntPtr<clang::FileManager> manager(
      new clang::FileManager(clang::FileSystemOptions(), files));
  arguments.insert(arguments.begin(), {"clang++", "-resource-dir", WHETSTONE_CLANG_RESOURCE_DIR});
  Diagnostics diagnostics(findings);
  clang::tooling::ToolInvocation invocation(std::move(arguments), std::move(action), manager.get(),
                                            std::make_shared<clang::PCHContainerOperations>());
  invocation.setDiagnosticConsumer(&diagnostics);
  return invocation.run();
}

std::vector<std::string> ProgramArguments(const std::vector<std::string>& flags,
                                          const std::string& pch) {
  std::vector<std::string> arguments = flags;
  arguments.insert(arguments.end(), {"-fsyntax-only", "-Wno-everything", "-Wunknown-attributes",
                                     "-ferror-limit=4", "-include-pch", pch, kProgramPath});
  return arguments;
}

}  // namespace

std::string PrecompileHeader(const std::vector<std::string>& flags,
                             const std::string& header_path) {
  ScreenFindings findings;
  std::vector<std::string> arguments = flags;
  arguments.insert(arguments.end(), {"-w", "-fpch-instantiate-templates", "-x", "c++-header",
                                     header_path, "-o", header_path + ".pch"});
  const bool fine =
      RunClang(std::move(arguments), std::make_unique<clang::GeneratePCHAction>(), "", &findings);
  if (fine && findings.errors.empty()) return "";
  return findings.errors.empty() ? "clang fails on the allowed headers" : findings.errors[0];
}

std::string PrecompileAllowed(const std::vector<std::string>& flags, const std::string& header_path,
                              const std::vector<std::string>& headers, const std::string& structs) {
  if (access((header_path + ".pch").c_str(), R_OK) == 0) return "";
  std::ofstream file(header_path);
  file << "#include <cstddef>\n#include <cstdint>\n";
  for (const std::string& name : headers) file << "#include <" << name << ">\n";
  file << structs;
  file.close();
  const std::string error = PrecompileHeader(flags, header_path);
  return error.empty() ? "" : "compile.headers, compile.flags or types: " + error;
}

std::string SignatureType(const std::vector<std::string>& flags, const std::string& pch,
                          const std::string& signature, const std::string& function,
                          std::string* error) {
  ScreenFindings findings;
  std::string type;
  const auto at_end = [&](clang::ASTContext* context, const std::vector<clang::Decl*>& mine) {
    for (const clang::Decl* decl : mine)
      if (const auto* f = clang::dyn_cast<clang::FunctionDecl>(decl);
          f != nullptr && f->getNameAsString() == function)
        type = FunctionType(*context, *f);
  };
  RunClang(ProgramArguments(flags, pch),
           std::make_unique<Action<decltype(at_end)>>(nullptr, &findings, at_end),
           signature + ";\n", &findings);
  if (!findings.errors.empty())
    *error = findings.errors[0];
  else if (type.empty())
    *error = "'" + signature + "' declares no function " + function;
  return type;
}

ScreenFindings ParseProgram(const std::vector<std::string>& flags, const std::string& pch,
                            const ScreenRules& rules, const std::string& source) {
  ScreenFindings findings;
  const auto at_end = [&](clang::ASTContext* context, const std::vector<clang::Decl*>& mine) {
    CheckRules(context, mine, rules, &findings);
    if (!findings.errors.empty()) return;
    TagTechniques(context, mine, source, &findings);
  };
  const bool fine = RunClang(ProgramArguments(flags, pch),
                             std::make_unique<Action<decltype(at_end)>>(&rules, &findings, at_end),
                             source, &findings);
  if (!fine && findings.errors.empty()) findings.errors.emplace_back("error: it does not parse");
  return findings;
}

std::string WithProgram(
    const std::vector<std::string>& flags, const std::string& pch, const std::string& source,
    const std::function<void(clang::ASTContext*, const std::vector<clang::Decl*>&)>& see) {
  ScreenFindings findings;
  const auto at_end = [&](clang::ASTContext* context, const std::vector<clang::Decl*>& mine) {
    if (findings.errors.empty()) see(context, mine);
  };
  RunClang(ProgramArguments(flags, pch),
           std::make_unique<Action<decltype(at_end)>>(nullptr, &findings, at_end), source,
           &findings);
  return findings.errors.empty() ? "" : findings.errors[0];
}

}  // namespace whetstone
