#include "cpu_bench_worker/rewrite/analysis/multiples.h"

#include <algorithm>
#include <cstdlib>

namespace whetstone {

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

int64_t Multiples::Largest() const {
  int64_t largest = std::abs(constant);
  for (const Term& each : terms) largest = std::max(largest, std::abs(each.factor));
  return largest;
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

std::string InParentheses(const std::string& text) {
  return text.find(' ') == std::string::npos && text[0] != '-' ? text : "(" + text + ")";
}

}  // namespace whetstone
