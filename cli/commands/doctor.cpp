// SPDX-License-Identifier: Apache-2.0
#include "commands/doctor.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "exit_status.hpp"
#include "output/diagnosis.hpp"
#include "output/json.hpp"
#include "output/terminal.hpp"
#include "output/text.hpp"

namespace holdfast::cli {

namespace {

using grade = finding::grade;

std::string coloured(grade of, const palette& colours) {
  const auto padded = fmt::format("{:<8}", name_of(of));
  switch (of) {
    case grade::kept: return colours.green(padded);
    case grade::unknown:
    case grade::warning: return colours.yellow(padded);
    case grade::broken: return colours.red(padded);
  }
  return padded;
}

void print_finding(const finding& one, const palette& colours) {
  fmt::print("{} {}: {}\n", coloured(one.result, colours), one.condition, printable(one.observed));
  if (one.result == grade::kept) return;
  if (!one.meaning.empty()) fmt::print("         {}\n", printable(one.meaning));
  if (!one.remedy.empty()) fmt::print("         mend: {}\n", printable(one.remedy));
}

/// By server, the worst first; what is kept as a number, unless all is wanted.
void print_text(const std::vector<finding>& all, bool with_kept) {
  const palette colours{stdout};
  std::vector<std::string> subjects;
  for (const finding& each : all) {
    if (std::ranges::find(subjects, each.subject) == subjects.end()) subjects.push_back(each.subject);
  }
  for (const std::string& subject : subjects) {
    std::multimap<grade, const finding*, std::greater<>> here;  // of one grade: in their order
    for (const finding& each : all) {
      if (each.subject == subject) here.emplace(each.result, &each);
    }
    const auto passed = here.count(grade::kept);
    const auto count = passed != here.size() ? fmt::format("{} of {} checks", passed, here.size())
                       : passed == 1         ? "the only check"
                                             : fmt::format("all {} checks", passed);
    fmt::print("{}: {} passed\n", colours.bold(printable(subject)), count);
    for (const auto& [result, each] : here) {
      if (with_kept || result != grade::kept) print_finding(*each, colours);
    }
  }
}

/// The former store gets no password of --store's.
std::vector<finding> examine(const doctor_command& request, const client_options& options) {
  const std::string url = url_of(request.store);
  if (request.after.empty()) return diagnose(url, options);
  client_options of_former;
  if (!request.after_password_file.empty())
    give_password({request.after, request.after_password_file, false}, of_former);
  return diagnose_after(url, request.after, options, of_former);
}

}  // namespace

exit_status status_of(grade worst, bool accepts_unknown) {
  switch (worst) {
    case grade::kept: return success;
    case grade::unknown: return accepts_unknown ? success : doubtful;
    case grade::warning: return doubtful;
    case grade::broken: return broken;
  }
  return broken;
}

int perform(const doctor_command& request) {
  client_options options;
  give_password(request.store, options);
  if (request.ttl) options.locks(lock_options{}.ttl(*request.ttl));
  std::vector<finding> all;
  {
    status_line progress;
    progress.show("examining the store");
    all = examine(request, options);
  }
  const grade worst = worst_of(all);
  if (request.store.json) {
    print_line(describe(all));
  } else {
    print_text(all, request.all);
  }
  return status_of(worst, request.accepts_unknown);
}

}  // namespace holdfast::cli
