// A vector of vectors is a pointer to all rows, one behind the other, and two sizes: an import
// takes its rows for equally long.
#ifndef WHETSTONE_COORDINATOR_AUTHORING_ROWS_PARAMETER_H_
#define WHETSTONE_COORDINATOR_AUTHORING_ROWS_PARAMETER_H_

#include <optional>
#include <string>
#include <vector>

#include "coordinator/authoring/code_text.h"
#include "coordinator/authoring/given_parameter.h"
#include "coordinator/authoring/source_types.h"
#include "coordinator/prompt/cpp_source.h"

namespace whetstone {

struct RowsParameter {
  std::string parameters;       // "const float* grid, size_t grid_rows, size_t grid_cols"
  std::vector<TextEdit> edits;  // of the function's body
  std::string begin;            // what it is made again by, at the body's beginning; may be empty
  std::string became;           // "'grid', 'grid_rows' and 'grid_cols', of equally long rows"
};

// Returns what becomes of a parameter of `function`. Where the function only looks at elements and
// asks how many there are, it does so by the pointer; else the vectors are made at its beginning.
// Nothing: it is no vector of vectors of numbers or structs, or one that the function may change in
// another way than by its elements.
std::optional<RowsParameter> AsRows(CodeText* text, const SourceTypes& types,
                                    const CppFunction& function, const GivenParameter& given);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_AUTHORING_ROWS_PARAMETER_H_
