#include "coordinator/report/html.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/sha256.h"

namespace whetstone {
namespace {

// Nothing is wider than the page: long words break, tables and code scroll within themselves. On
// paper nothing scrolls, and it is never dark.
constexpr char kPageStyle[] = R"(
:root{color-scheme:light dark;--ink:#222;--paper:#fff;--faint:#595959;--rule:#ddd;--soft:#f5f5f5;
--link:#0b57d0;--care:#fdf3ec;--added:#ddf4e4;--removed:#fbe3e0}
@media screen and (prefers-color-scheme:dark){:root{--ink:#ddd;--paper:#181818;--faint:#a8a8a8;
--rule:#3c3c3c;--soft:#222;--link:#8ab4f8;--care:#2b211b;--added:#17382a;--removed:#43211d}}
*{box-sizing:border-box}
body{font:15px/1.5 system-ui,sans-serif;max-width:800px;margin:1.5em auto;padding:0 1em;
color:var(--ink);background:var(--paper);overflow-wrap:anywhere}
a{color:var(--link)}h1{font-size:1.6em;margin-bottom:0}
h2{font-size:1.2em;margin-top:2em;border-bottom:1px solid var(--rule)}h3{font-size:1em}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%}
td,th{padding:.25em .6em;text-align:right;border-bottom:1px solid var(--rule)}
th{vertical-align:bottom;overflow-wrap:normal}tbody th{font-weight:400}
td{white-space:nowrap}td.long{white-space:normal;min-width:14em}
td:first-child,th:first-child{text-align:left}
@media(max-width:560px){table{font-size:.82em}td,th{padding:.25em .3em}}
pre{background:var(--soft);padding:.8em;overflow:auto;max-height:36em;font-size:12.5px;
overflow-wrap:normal}
ins,del{text-decoration:none}ins{background:var(--added)}del{background:var(--removed)}
summary{cursor:pointer}details{margin:.4em 0}details>*:not(summary){margin-left:1em}
.big{font-size:1.2em}.note{color:var(--faint)}
.care{border-left:4px solid #d55e00;padding:.1em 1em;background:var(--care)}
@media print{body{max-width:none;margin:0}.wide,pre{overflow:visible;max-height:none}
pre{white-space:pre-wrap;border:1px solid var(--rule)}td{white-space:normal}
tr,.care{break-inside:avoid}h2,h3,summary{break-after:avoid}}
)";

// Cells of more bytes than this are broken into lines.
constexpr size_t kCellBytesMax = 40;
// So much is kept free for the paragraph on what is left out, and the tags around the parts.
constexpr size_t kLeftOutBytes = 1200;

std::string CutText(const std::string& text, size_t bytes_max, std::string* left_out) {
  if (text.size() <= bytes_max) return text;
  size_t end = bytes_max;
  // Not within a character of UTF-8.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  *left_out =
      absl::StrCat("<p class=\"note\">", text.size() - end, " more bytes are left out.</p>");
  return text.substr(0, end);
}

}  // namespace

std::string EscapeHtml(const std::string& text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

std::string PageHead(const std::string& title, const std::string& style) {
  const std::string all = absl::StrCat(kPageStyle, style);
  const std::string hash = absl::Base64Escape(absl::HexStringToBytes(Sha256Hex(all)));
  return absl::StrCat(
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta "
      "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-",
      hash,
      "'; base-uri 'none'; form-action 'none'\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\"><title>",
      EscapeHtml(title), "</title><style>", all, "</style></head><body><h1>", EscapeHtml(title),
      "</h1>");
}

std::string HtmlTable(const std::string& about, const std::vector<std::string>& header,
                      const std::vector<std::vector<std::string>>& rows,
                      const std::vector<std::string>& links) {
  std::string html =
      absl::StrCat("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"",
                   EscapeHtml(about), "\"><table><thead><tr>");
  for (const std::string& cell : header) {
    absl::StrAppend(&html, "<th scope=\"col\">", EscapeHtml(cell), "</th>");
  }
  html += "</tr></thead><tbody>\n";
  for (size_t r = 0; r < rows.size(); ++r) {
    html += "<tr>";
    for (size_t c = 0; c < rows[r].size(); ++c) {
      const std::string cell = EscapeHtml(rows[r][c]);
      if (c > 0) {
        absl::StrAppend(&html, rows[r][c].size() > kCellBytesMax ? "<td class=\"long\">" : "<td>",
                        cell, "</td>");
      } else if (r < links.size()) {
        absl::StrAppend(&html, "<th scope=\"row\"><a href=\"", EscapeHtml(links[r]), "\">", cell,
                        "</a></th>");
      } else {
        absl::StrAppend(&html, "<th scope=\"row\">", cell, "</th>");
      }
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string HtmlPre(const std::string& text, size_t bytes_max) {
  std::string left_out;
  const std::string shown = CutText(text, bytes_max, &left_out);
  return absl::StrCat("<pre tabindex=\"0\">", EscapeHtml(shown), "</pre>", left_out);
}

std::string HtmlDiff(const std::string& diff) {
  std::string left_out;
  std::vector<std::string> lines = absl::StrSplit(CutText(diff, kPreBytesMax, &left_out), '\n');
  for (size_t i = 0; i < lines.size(); ++i) {
    const bool names = i < 2;  // "--- before", "+++ after"
    const std::string safe = EscapeHtml(lines[i]);
    if (!names && absl::StartsWith(lines[i], "+")) {
      lines[i] = absl::StrCat("<ins>", safe, "</ins>");
    } else if (!names && absl::StartsWith(lines[i], "-")) {
      lines[i] = absl::StrCat("<del>", safe, "</del>");
    } else {
      lines[i] = safe;
    }
  }
  return absl::StrCat("<pre tabindex=\"0\">", absl::StrJoin(lines, "\n"), "</pre>", left_out);
}

std::string HtmlFolded(const std::string& summary, const std::string& body) {
  return absl::StrCat("<details><summary>", summary, "</summary>", body, "</details>\n");
}

std::string NumberText(double value, int digits, const char* unit) {
  return std::isfinite(value) ? absl::StrFormat("%.*f%s", digits, value, unit) : "–";
}

std::string PartsThatFit(const std::vector<PagePart>& parts, size_t bytes_max,
                         const std::string& advice) {
  std::string html;
  std::vector<std::string> left_out;
  for (const PagePart& part : parts) {
    if (html.size() + part.html.size() + kLeftOutBytes <= bytes_max) {
      html += part.html;
    } else {
      left_out.push_back(EscapeHtml(part.name));
    }
  }
  if (left_out.empty()) return html;
  constexpr size_t kNamed = 12;
  const size_t others = left_out.size() - std::min(left_out.size(), kNamed);
  left_out.resize(left_out.size() - others);
  return absl::StrCat(html, "<p class=\"note\">Left out, as the page would be too large to mail: ",
                      absl::StrJoin(left_out, ", "),
                      others > 0 ? absl::StrCat(" and ", others, " more") : "", ". ", advice,
                      "</p>\n");
}

}  // namespace whetstone
