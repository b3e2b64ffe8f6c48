// The tables of an evaluation, as text: the console and the page show the same.
#ifndef WHETSTONE_COORDINATOR_EVAL_EVAL_TABLES_H_
#define WHETSTONE_COORDINATOR_EVAL_EVAL_TABLES_H_

#include <string>
#include <vector>

#include "coordinator/eval/eval_summary.h"

namespace whetstone {

struct EvalTable {
  std::string title;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};

// Returns, over all problems, the estimates for each k, what the samples were, and each pair of
// models; then the problems one by one.
std::vector<EvalTable> EvalTables(const EvalSummary& summary);

// Returns the tables for a terminal, columns lined up.
std::string TablesText(const std::vector<EvalTable>& tables);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_EVAL_EVAL_TABLES_H_
