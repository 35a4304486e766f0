#include "lease/observers.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "holdfast/error.hpp"

namespace holdfast::lease_core {

namespace {
/// Notifications may come in any number, of other names too: looks begin at least this far apart.
constexpr duration between_looks = std::chrono::milliseconds{10};
}  // namespace

observers::~observers() {
  for (auto& [id, each] : all_) time_.cancel(each.next);
}

observers::observer_id observers::add(std::string name, on_report report) {
  const observer_id id = ++last_;
  all_.emplace(id, observer{std::move(name), std::move(report)});
  look(id);
  return id;
}

void observers::look(observer_id id) {
  const auto found = all_.find(id);
  if (found == all_.end()) return;
  observer& o = found->second;
  if (o.looking) {
    o.look_again = true;
    return;
  }
  const auto now = time_.now();
  if (o.last_look != store::time_point{} && now < o.last_look + between_looks) {
    return look_at(id, o.last_look + between_looks);
  }
  time_.cancel(std::exchange(o.next, 0));
  o.looking = true;
  o.look_again = false;
  o.last_look = now;
  port_.inspect(o.name, 0, now + patience_,
                [this, id](const store::inspected& answer) { on_state(id, answer); });
}

void observers::look_at(observer_id id, store::time_point when) {
  observer& o = all_.at(id);
  time_.cancel(o.next);
  o.next = time_.at(when, [this, id] {
    all_.at(id).next = 0;
    look(id);
  });
}

void observers::on_state(observer_id id, const store::inspected& answer) {
  const auto found = all_.find(id);
  if (found == all_.end()) return;
  observer& o = found->second;
  o.looking = false;
  const auto now = time_.now();
  const auto* const reason = std::get_if<failure>(&answer);
  auto report = reason != nullptr ? o.tracker.failed(*reason)
                                  : o.tracker.looked(now, std::get<std::optional<lock_state>>(answer));
  look_at(id, o.look_again ? std::max(now, o.last_look + between_looks) : o.tracker.next_look(now));
  if (report) o.report(std::move(*report));
}

void observers::remove(observer_id id) {
  const auto found = all_.find(id);
  if (found == all_.end()) return;
  time_.cancel(found->second.next);
  all_.erase(found);
}

void observers::close() {
  auto ended = std::exchange(all_, {});
  for (auto& [id, each] : ended) {
    time_.cancel(each.next);
    if (auto report = each.tracker.failed({errc::closed, "the client was closed"})) {
      each.report(std::move(*report));
    }
  }
}

}  // namespace holdfast::lease_core
