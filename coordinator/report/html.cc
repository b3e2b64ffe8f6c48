#include "coordinator/report/html.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace whetstone {
namespace {

// Nothing is wider than the page: long words break, tables and code scroll within themselves.
constexpr char kPageStyle[] = R"(
*{box-sizing:border-box}
body{font:15px/1.5 system-ui,sans-serif;max-width:800px;margin:1.5em auto;padding:0 1em;color:#222;background:#fff;
overflow-wrap:anywhere}
h1{font-size:1.6em;margin-bottom:0}h2{font-size:1.2em;margin-top:2em;border-bottom:1px solid #ddd}h3{font-size:1em}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%}
td,th{padding:.25em .6em;text-align:right;border-bottom:1px solid #eee}td{white-space:nowrap}
th{vertical-align:bottom;overflow-wrap:normal}
@media(max-width:560px){table{font-size:.82em}td,th{padding:.25em .3em}}
td:first-child,th:first-child{text-align:left}
pre{background:#f6f6f6;padding:.8em;overflow:auto;max-height:36em;font-size:12.5px;overflow-wrap:normal}
summary{cursor:pointer}details{margin:.4em 0}details>*:not(summary){margin-left:1em}
.big{font-size:1.2em}.care{border-left:4px solid #e8743b;padding:.1em 1em;background:#fdf3ec}
.chip{display:inline-block;width:.8em;height:.8em;margin-right:.4em;border-radius:2px}
@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}a{color:#8ab4f8}pre{background:#222}
td,th{border-color:#333}h2{border-color:#444}.care{background:#2b211b}}
)";

}  // namespace

std::string EscapeHtml(const std::string& text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

std::string PageHead(const std::string& title, const std::string& style) {
  return absl::StrCat(
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\"><title>",
      EscapeHtml(title), "</title><style>", kPageStyle, style, "</style></head><body><h1>",
      EscapeHtml(title), "</h1>");
}

}  // namespace whetstone
