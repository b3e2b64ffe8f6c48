// ExpectHarmless holds an HTML page to what a page of ours is made of, for tests that feed it with
// hostile text.
#ifndef WHETSTONE_COORDINATOR_REPORT_PAGE_TESTING_H_
#define WHETSTONE_COORDINATOR_REPORT_PAGE_TESTING_H_

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace whetstone {

// Every tag is one that pages use, none has an attribute that runs, loads or styles anything, links
// stay on the page, and what is opened is closed in its turn.
inline void ExpectHarmless(const std::string& html) {
  static const std::set<std::string> kTags = absl::StrSplit(
      "!doctype a b body circle code defs del details div figcaption figure g h1 h2 h3 head html "
      "ins li line meta p path pattern polygon polyline pre rect section style summary svg table "
      "tbody td text th thead title tr ul",
      ' ');
  static const std::set<std::string> kRefused =
      absl::StrSplit("src srcset style action formaction xlink:href", ' ');
  std::vector<std::string> open;
  for (size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at)) {
    const std::string around = html.substr(at, 80);
    ++at;
    const bool closes = html[at] == '/';
    if (closes) ++at;
    size_t end = html.find_first_of(" >/", at);
    ASSERT_NE(end, std::string::npos) << around;
    const std::string tag = html.substr(at, end - at);
    ASSERT_EQ(kTags.count(tag), 1u) << around;
    bool empty = tag == "!doctype" || tag == "meta";
    // name="value" name="value" … or, of a document type, words
    while (html[end] == ' ') {
      const size_t name_end = html.find_first_of("= >", end + 1);
      ASSERT_NE(name_end, std::string::npos) << around;
      const std::string name = html.substr(end + 1, name_end - end - 1);
      end = name_end;
      EXPECT_EQ(kRefused.count(name), 0u) << around;
      EXPECT_FALSE(absl::StartsWith(name, "on")) << around;
      if (html[end] != '=') continue;
      ASSERT_EQ(html[end + 1], '"') << around;
      const size_t quote = html.find('"', end + 2);
      ASSERT_NE(quote, std::string::npos) << around;
      if (name == "href") {
        EXPECT_EQ(html[end + 2], '#') << around;
      }
      end = quote + 1;
    }
    if (html[end] == '/') {
      empty = true;
      ++end;
    }
    ASSERT_EQ(html[end], '>') << around;
    if (closes) {
      ASSERT_FALSE(open.empty()) << around;
      ASSERT_EQ(open.back(), tag) << around;
      open.pop_back();
    } else if (!empty) {
      open.push_back(tag);
    }
    at = end + 1;
  }
  EXPECT_TRUE(open.empty()) << open.size() << " tags are not closed";
}

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_PAGE_TESTING_H_
