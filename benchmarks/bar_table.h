// A table whose rows say what was measured, how much it was, and the bar that it is held to. Each
// row is told on stderr as it comes; Print writes the table, in Markdown, to stdout.
#ifndef WHETSTONE_BENCHMARKS_BAR_TABLE_H_
#define WHETSTONE_BENCHMARKS_BAR_TABLE_H_

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace whetstone {

class BarTable {
 public:
  void Add(const std::string& work, double value, const char* format, double bar, bool at_least) {
    AddRow(work, Format(format, value), absl::StrCat(at_least ? "≥ " : "≤ ", Format(format, bar)),
           at_least ? value >= bar : value <= bar);
  }
  void AddBetween(const std::string& work, double value, const char* format, double least,
                  double most) {
    AddRow(work, Format(format, value),
           absl::StrCat(Format(format, least), " to ", Format(format, most)),
           least <= value && value <= most);
  }
  void Note(const std::string& work, const std::string& figure) {
    rows_.push_back({work, figure, "", ""});
    Say(absl::StrCat(work, ": ", figure));
  }
  static void Say(const std::string& text) { std::cerr << "… " << text << std::endl; }

  void Print() const {
    size_t width[4] = {4, 6, 3, 6};
    for (const auto& row : rows_)
      for (size_t i = 0; i < 4; ++i) width[i] = std::max(width[i], Letters(row[i]));
    const auto print = [&](const std::vector<std::string>& row) {
      std::cout << "|";
      for (size_t i = 0; i < 4; ++i)
        std::cout << " " << row[i] << std::string(width[i] - Letters(row[i]), ' ') << " |";
      std::cout << "\n";
    };
    print({"work", "figure", "bar", ""});
    std::cout << "|";
    for (const size_t w : width) std::cout << std::string(w + 2, '-') << "|";
    std::cout << "\n";
    for (const auto& row : rows_) print(row);
  }

 private:
  void AddRow(const std::string& work, const std::string& figure, const std::string& bar,
              bool met) {
    rows_.push_back({work, figure, bar, met ? "met" : "missed"});
    Say(absl::StrCat(work, ": ", figure));
  }
  static std::string Format(const char* format, double value) {
    char text[64];
    snprintf(text, sizeof text, format, value);
    return text;
  }
  static size_t Letters(const std::string& text) {  // `text` is UTF-8.
    return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    }));
  }
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace whetstone

#endif  // WHETSTONE_BENCHMARKS_BAR_TABLE_H_
