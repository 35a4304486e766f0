// SPDX-License-Identifier: Apache-2.0
#include "commands/watch.hpp"

#include <chrono>
#include <csignal>
#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <set>
#include <unistd.h>
#include <utility>

#include "commands/watch_changes.hpp"
#include "descriptor.hpp"
#include "interruptible.hpp"
#include "output/json.hpp"
#include "output/terminal.hpp"
#include "output/text.hpp"
#include "signal_inbox.hpp"
#include <holdfast/error.hpp>

namespace holdfast::cli {

namespace {

using wall_clock = std::chrono::system_clock;

/// Claims of the first look are shown with their age. All other lines have the current time, so that they are
/// in order.
wall_clock::time_point time_of(const change& seen, bool first_look) {
  return wall_clock::now() - (first_look ? seen.claim.age : duration::zero());
}

std::string clock_text(wall_clock::time_point when) {
  using namespace std::chrono;
  const auto part = duration_cast<milliseconds>(when.time_since_epoch()) % 1000;
  const auto seconds = wall_clock::to_time_t(when);
  std::tm local{};
  localtime_r(&seconds, &local);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}.{:03}", local, part.count());
}

std::string coloured(happening kind, const palette& colours) {
  const auto word = fmt::format("{:<8}", to_string(kind));
  switch (kind) {
    case happening::granted: return colours.green(word);
    case happening::waiting: return colours.yellow(word);
    default: return colours.dim(word);
  }
}

void print_text(const std::string& name, const change& seen, wall_clock::time_point when,
                const palette& colours) {
  const auto& claim = seen.claim;
  const auto token = claim.token ? fmt::format("  token {}", claim.token.value()) : "";
  const auto line = fmt::format("{}  {}  {}  {}  {}{}\n", clock_text(when), coloured(seen.kind, colours),
                                printable(name), mode_text(claim, 0), to_text(claim.claimant), token);
  std::fwrite(line.data(), 1, line.size(), stdout);
  flush_output();
}

void print_json(const std::string& name, const change& seen, wall_clock::time_point when) {
  json object{{"time", to_seconds(when.time_since_epoch())}, {"event", to_string(seen.kind)}, {"name", name}};
  object.update(describe(seen.claim));
  if (seen.kind == happening::released || seen.kind == happening::gone) {
    object.erase("age_s");  // the age at the look before
    object.erase("expires_in_s");
  }
  print_line(object);
}

/// Remembers the last state of each name, and prints the changes.
class observer {
 public:
  observer(const client& locks, const watch_command& request, const signal_inbox& signals)
      : locks_{locks}, request_{request}, signals_{signals} {}

  /// Ends early after a signal.
  void look() {
    look_at_all();
    first_ = false;
  }

 private:
  void look_at_all() {
    if (!request_.name.empty()) return look_at(request_.name);
    // Names that are neither held nor waited for are not listed any more: their last claims have ended.
    std::map<std::string, bool> names;
    for (const auto& [name, last] : seen_) names[name] = last.holders.size() + last.waiters.size() > 0;
    for (const auto& lock : locks_.list()) names[lock.name] = may_have_changed(lock);
    for (const auto& [name, changed] : names) {
      if (changed) look_at_listed(name);
    }
  }

  /// Whoever may write to the store can make a key there that is the name of no lock.
  void look_at_listed(const std::string& name) {
    try {
      look_at(name);
    } catch (const error& e) {
      if (e.code() != errc::invalid_name) throw;
      if (std::exchange(has_invalid_names_, true)) return;
      complain(fmt::format(
          "holdfast watch: '{}' in the store is not a valid name of a lock, and is left out, as all such\n",
          printable(name)));
    }
  }

  /// Every grant has a larger token, so without waiters these numbers distinguish holders.
  [[nodiscard]] bool may_have_changed(const lock_summary& now) const {
    const auto last = seen_.find(now.name);
    return last == seen_.end() || now.waiters > 0 || !last->second.waiters.empty() ||
           last->second.holders.size() != now.holders || last->second.last_token != now.last_token;
  }

  void look_at(const std::string& name) {
    const auto now = locks_.inspect(name).value_or(lock_state{});
    report_unheard(now.notes);
    for (const auto& seen : changes_between(seen_[name], now)) {
      // The reader may be slow or stopped: a full pipe must not block signals.
      if (!await_room(STDOUT_FILENO, {signals_.get()})) return;
      const auto when = time_of(seen, first_);
      if (request_.store.json) {
        print_json(name, seen, when);
      } else {
        print_text(name, seen, when, colours_);
      }
    }
    if (now.holders.empty() && now.waiters.empty()) {
      seen_.erase(name);
    } else {
      seen_[name] = now;
    }
  }

  /// Only of servers that are not heard: that others differ is usual while a lock changes hands.
  void report_unheard(const std::vector<server_note>& notes) {
    std::set<std::string> unheard;
    for (const auto& note : notes) {
      if (note.answers) continue;
      unheard.insert(note.server);
      if (!unheard_.contains(note.server)) complain(fmt::format("holdfast watch: {}\n", to_text(note)));
    }
    for (const auto& server : unheard_)
      if (!unheard.contains(server))
        complain(fmt::format("holdfast watch: {} answers again\n", printable(server)));
    unheard_ = std::move(unheard);
  }

  const client& locks_;
  const watch_command& request_;
  const signal_inbox& signals_;
  std::set<std::string> unheard_;  // servers
  palette colours_{stdout};
  bool first_ = true;
  bool has_invalid_names_ = false;  // and said so
  std::map<std::string, lock_state> seen_;
};

}  // namespace

int perform(const watch_command& request) {
  using namespace std::chrono_literals;
  signal_inbox signals{SIGINT, SIGTERM, SIGHUP};
  auto locks = open_client(request.store);
  const auto changed = std::make_shared<event>();
  const auto raise = [changed] { changed->raise(); };
  const auto watch = request.name.empty() ? locks.watch(raise) : locks.watch(request.name, raise);
  observer watcher{locks, request, signals};
  while (!signals.take()) {
    changed->take();
    if (!run_interruptibly(locks, signals, std::nullopt, [&] { watcher.look(); })) continue;  // a signal
    // A claim that ends with its ttl changes nothing at the store: look now and then.
    await_any_or_hangup({signals.get(), changed->get()}, STDOUT_FILENO, 1s);
    end_without_reader();
  }
  return 0;
}

}  // namespace holdfast::cli
