#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/annotated_mutex.hpp"
#include "stores/redis/protocol/server_address.hpp"

namespace holdfast::redis {

/// Where the primary is: where the last search has led the client, and what the Sentinel of the subscription
/// has reported. Any thread.
class whereabouts {
 public:
  /// From now on earlier reports do not count any more: the search may know better.
  void begin_search() {
    const annotated::lock held{mutex_};
    if (report_) earlier_report_ = std::exchange(report_, std::nullopt);
    is_found_ = false;
  }
  /// The search leads to that server. It may have to go on, and lead to another one.
  void lead_to(const server_address& server) {
    const annotated::lock held{mutex_};
    server_ = server;
  }
  /// The client is connected to that server.
  void end_search() {
    const annotated::lock held{mutex_};
    is_found_ = true;
  }
  /// A Sentinel says that the primary is there. \return whether the client is elsewhere.
  [[nodiscard]] bool report(const server_address& primary) {
    const annotated::lock held{mutex_};
    report_ = primary;
    return server_ != report_;
  }
  /// What was reported since the search began, if that is another server than the one to which it led.
  [[nodiscard]] std::optional<server_address> move() const {
    const annotated::lock held{mutex_};
    return report_ && report_ != server_ ? report_ : std::nullopt;
  }
  /// Whether the last report before the search was wrong, once: the search has led elsewhere.
  [[nodiscard]] bool take_wrong_report() {
    const annotated::lock held{mutex_};
    const auto before = std::exchange(earlier_report_, std::nullopt);
    return before && before != server_;
  }
  /// As errors name the server; empty during a search, and after one that failed.
  [[nodiscard]] std::string place() const {
    const annotated::lock held{mutex_};
    return is_found_ && server_ ? server_->place() : std::string{};
  }

 private:
  mutable annotated::mutex mutex_;
  std::optional<server_address> server_ HOLDFAST_GUARDED_BY(mutex_);
  std::optional<server_address> report_ HOLDFAST_GUARDED_BY(mutex_);
  std::optional<server_address> earlier_report_ HOLDFAST_GUARDED_BY(mutex_);
  bool is_found_ HOLDFAST_GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::redis
