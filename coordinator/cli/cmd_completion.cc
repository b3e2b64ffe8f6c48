#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "coordinator/cli/commands.h"
#include "coordinator/terminal/console.h"
#include "coordinator/usage/command_table.h"
#include "coordinator/usage/completion.h"

namespace whetstone {
namespace {

// The scripts ask `whet completion answer WORD…`, whose last word is the one at the cursor.
constexpr char kAnswer[] = "answer";

constexpr char kBash[] = R"sh(# Completion of whet for bash: source <(whet completion bash)
_whet() {
  local line=${COMP_LINE:0:COMP_POINT} words=() word breaks skip=""
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  local whet=${words[0]/#\~\//$HOME/} current=${words[${#words[@]} - 1]}
  # Bash takes = and : for the ends of words: it wants what stands behind them.
  breaks=${COMP_WORDBREAKS//[^=:]/}
  if [[ -n $breaks && $current == *[$breaks]* ]]; then
    skip=${current%"${current##*[$breaks]}"}
  fi
  COMPREPLY=()
  while IFS= read -r word; do
    case $word in
      :files) compopt -o default ;;
      :folders) compopt -o dirnames ;;
      *)
        word=${word%%$'\t'*}
        printf -v word %q "${word#"$skip"}"
        COMPREPLY+=("$word")
        ;;
    esac
  done < <("$whet" completion answer "${words[@]:1}" 2> /dev/null)
  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=/] ]]; then compopt -o nospace; fi
}
complete -F _whet whet
)sh";

constexpr char kZsh[] = R"sh(#compdef whet
# Completion of whet for zsh: source <(whet completion zsh), or this as _whet in a folder of $fpath
_whet() {
  local whet=${(Q)words[1]} line word
  local -a before open open_shown closed closed_shown
  [[ $whet == '~/'* ]] && whet=$HOME/${whet#'~/'}
  (( CURRENT > 2 )) && before=("${(@Q)words[2,CURRENT-1]}")
  for line in "${(@f)$("$whet" completion answer "${before[@]}" "${(Q)PREFIX}" 2> /dev/null)}"; do
    word=${line%%$'\t'*}
    case $word in
      ('') ;;
      (:files) compset -P '*='; _files ;;
      (:folders) _files -/ ;;
      (*[=/]) open+=("$word"); open_shown+=("${line/$'\t'/  -- }") ;;
      (*) closed+=("$word"); closed_shown+=("${line/$'\t'/  -- }") ;;
    esac
  done
  (( $#open )) && compadd -S '' -l -d open_shown -a open
  (( $#closed )) && compadd -l -d closed_shown -a closed
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _whet "$@"
else
  compdef _whet whet
fi
)sh";

}  // namespace

bool AnswerCompletion(const CLI::App& app, int argc, char** argv) {
  if (argc < 3 || absl::string_view(argv[1]) != "completion" ||
      absl::string_view(argv[2]) != kAnswer) {
    return false;
  }
  const std::string text =
      CompletionText(Complete(app, std::vector<std::string>(argv + 3, argv + argc)));
  std::fputs(text.c_str(), stdout);
  return true;
}

void AddCompletion(CLI::App* app, SelectedCommand* selected) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* command = app->add_subcommand(
      "completion",
      "Print a script that lets a shell complete what is written behind whet\n\nCommands, options, "
      "campaign keys behind --set, runs and files. For this shell, or as a line of\n~/.bashrc:\n\n"
      "  source <(whet completion bash)\n\nzsh the same way, with zsh; or save it as _whet in a "
      "folder of $fpath.");
  command->add_option("SHELL", *shell, "Which shell")->required()->check(OneOf({"bash", "zsh"}));
  command->callback([=] {
    selected->run = [=] {
      std::fputs(*shell == "bash" ? kBash : kZsh, stdout);
      return kExitOk;
    };
  });
}

}  // namespace whetstone
