#include "sandbox/plan/plan.h"

#include <charconv>
#include <cstring>

namespace whetstone {
namespace {

constexpr int64_t kMagic = 0x314e414c50544857;  // "WHTPLAN1"

class Writer {
 public:
  void Number(int64_t value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void Text(std::string_view text) {
    Number(static_cast<int64_t>(text.size()));
    bytes_.append(text);
    bytes_.push_back('\0');
  }
  void Texts(const std::vector<std::string_view>& texts) {
    Number(static_cast<int64_t>(texts.size()));
    for (std::string_view text : texts) Text(text);
  }
  void Numbers(const std::vector<int64_t>& values) {
    Number(static_cast<int64_t>(values.size()));
    for (int64_t value : values) Number(value);
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  bool ok() const { return ok_; }
  int64_t Number() {
    int64_t value = 0;
    if (!Need(sizeof(value))) return 0;
    std::memcpy(&value, bytes_.data(), sizeof(value));
    bytes_.remove_prefix(sizeof(value));
    return value;
  }
  std::string_view Text() {
    const auto size = static_cast<uint64_t>(Number());
    if (size >= bytes_.size() || !Need(size + 1)) {
      ok_ = false;
      return {};
    }
    std::string_view text = bytes_.substr(0, size);
    bytes_.remove_prefix(size + 1);
    return text;
  }
  // Reads the number of elements that follow; each takes at least 8 bytes, which bounds a corrupt
  // count.
  size_t Count() {
    const auto count = static_cast<uint64_t>(Number());
    if (count > bytes_.size() / 8) ok_ = false;
    return ok_ ? count : 0;
  }
  void Texts(std::vector<std::string_view>* texts) {
    for (size_t left = Count(); left > 0 && ok_; --left) texts->push_back(Text());
  }
  void Numbers(std::vector<int64_t>* values) {
    for (size_t left = Count(); left > 0 && ok_; --left) values->push_back(Number());
  }

 private:
  bool Need(size_t size) {
    if (bytes_.size() < size) ok_ = false;
    return ok_;
  }
  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace

int64_t ParseCgroupCpuNs(std::string_view text) {
  constexpr std::string_view kV2 = "usage_usec ";
  int64_t unit = 1;
  if (text.substr(0, kV2.size()) == kV2) {
    text.remove_prefix(kV2.size());
    unit = 1000;
  }
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end != text.data() + text.size() && *end == '\n';
  return whole ? value * unit : -1;
}

std::string EncodePlan(const Plan& plan) {
  Writer out;
  out.Number(kMagic);
  out.Texts(plan.argv);
  out.Texts(plan.env);
  out.Number(static_cast<int64_t>(plan.mounts.size()));
  for (const PlanMount& mount : plan.mounts) {
    out.Text(mount.source);
    out.Text(mount.target);
    out.Number(mount.optional);
    out.Number(mount.device);
  }
  out.Number(static_cast<int64_t>(plan.files.size()));
  for (const auto& [name, content] : plan.files) {
    out.Text(name);
    out.Text(content);
  }
  out.Texts(plan.collect);
  out.Numbers(plan.child_fds);
  out.Numbers(plan.cores);
  out.Text(plan.stdin_text);
  out.Text(plan.filter);
  for (int64_t value :
       {plan.wall_ns, plan.cpu_ns, plan.memory_bytes, plan.file_bytes, plan.output_bytes,
        plan.processes, plan.open_files, plan.inodes, plan.program_id, int64_t{plan.writable_work},
        int64_t{plan.watch_tree}, int64_t{plan.exec_by_fd}}) {
    out.Number(value);
  }
  return out.Take();
}

bool DecodePlan(std::string_view bytes, Plan* plan) {
  Reader in(bytes);
  if (in.Number() != kMagic) return false;
  in.Texts(&plan->argv);
  in.Texts(&plan->env);
  for (size_t left = in.Count(); left > 0 && in.ok(); --left) {
    PlanMount& mount = plan->mounts.emplace_back();
    mount.source = in.Text();
    mount.target = in.Text();
    mount.optional = in.Number() != 0;
    mount.device = in.Number() != 0;
  }
  for (size_t left = in.Count(); left > 0 && in.ok(); --left) {
    const std::string_view name = in.Text();
    plan->files.emplace_back(name, in.Text());
  }
  in.Texts(&plan->collect);
  in.Numbers(&plan->child_fds);
  in.Numbers(&plan->cores);
  plan->stdin_text = in.Text();
  plan->filter = in.Text();
  for (int64_t* value :
       {&plan->wall_ns, &plan->cpu_ns, &plan->memory_bytes, &plan->file_bytes, &plan->output_bytes,
        &plan->processes, &plan->open_files, &plan->inodes, &plan->program_id}) {
    *value = in.Number();
  }
  plan->writable_work = in.Number() != 0;
  plan->watch_tree = in.Number() != 0;
  plan->exec_by_fd = in.Number() != 0;
  return in.ok();
}

}  // namespace whetstone
