// SPDX-License-Identifier: Apache-2.0
#include "commands/leader.hpp"

#include <chrono>
#include <csignal>
#include <deque>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <optional>
#include <unistd.h>

#include "descriptor.hpp"
#include "exit_status.hpp"
#include "failure.hpp"
#include "output/json.hpp"
#include "output/terminal.hpp"
#include "output/text.hpp"
#include "signal_inbox.hpp"
#include <holdfast/election.hpp>

namespace holdfast::cli {

namespace {

json describe(const std::string& name, const std::optional<candidate>& leader) {
  json object{{"name", name}, {"leader", leader.has_value()}};
  if (!leader) return object;
  object["value"] = leader->value;
  if (leader->token) object["token"] = leader->token.value();
  object["age_s"] = to_seconds(leader->age);
  object["expires_in_s"] = to_seconds(leader->expires_in);
  object.update(describe_process(leader->process));
  object["label"] = leader->process.label;
  return object;
}

/// The value alone, for scripts; on standard output nothing where nobody leads.
void print_value(const leader_command& request, const std::optional<candidate>& leader) {
  if (leader) {
    fmt::print("{}\n", printable(leader->value));
  } else {
    complain(fmt::format("holdfast: nobody leads '{}'{}\n", printable(request.name),
                         note_of_default(request.store)));
  }
  flush_output();
}

/// Reports of the observer, from its thread to the main one.
class report_queue {
 public:
  void add(const observation& seen) {
    {
      const std::lock_guard hold{mutex_};
      if (reports_.size() == most_reports) reports_.pop_front();
      reports_.push_back(seen);
    }
    arrived_.raise();
  }
  std::optional<observation> take() {
    const std::lock_guard hold{mutex_};
    if (reports_.empty()) return std::nullopt;
    auto first = std::move(reports_.front());
    reports_.pop_front();
    return first;
  }
  [[nodiscard]] const event& arrived() const noexcept { return arrived_; }

 private:
  std::mutex mutex_;
  static constexpr std::size_t most_reports = 1000;  // for a reader that stands still
  std::deque<observation> reports_;
  event arrived_;
};

void print(const leader_command& request, const observation& seen) {
  if (seen.failed) return report(to_failure(*seen.failed), request.store.json);
  if (!request.store.json) {
    const auto line = seen.leader ? printable(seen.leader->value) : std::string{};
    fmt::print("{}\n", line);  // an empty line: nobody leads
    return flush_output();
  }
  json object{{"time", to_seconds(std::chrono::system_clock::now().time_since_epoch())}};
  object.update(describe(request.name, seen.leader));
  print_line(object);
}

int watch(const leader_command& request) {
  signal_inbox signals{SIGINT, SIGTERM, SIGHUP};
  auto locks = open_client(request.store);
  const auto reports = std::make_shared<report_queue>();
  const auto observer =
      election{locks, request.name}.observe([reports](const observation& seen) { reports->add(seen); });
  while (!signals.take()) {
    reports->arrived().take();
    while (const auto seen = reports->take()) {
      // The reader may be slow or stopped: a full pipe must not block signals.
      if (!await_room(STDOUT_FILENO, {signals.get()})) break;
      print(request, *seen);
    }
    await_any_or_hangup({signals.get(), reports->arrived().get()}, STDOUT_FILENO);
    end_without_reader();
  }
  return success;
}

}  // namespace

int perform(const leader_command& request) {
  if (request.watch) return watch(request);
  auto locks = open_client(request.store);
  const auto leader = election{locks, request.name}.leader();
  if (request.store.json) {
    print_line(describe(request.name, leader));
  } else {
    print_value(request, leader);
  }
  return leader ? success : no_match;
}

}  // namespace holdfast::cli
