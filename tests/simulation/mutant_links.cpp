#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/driver.hpp"
#include "simulation/link_shell.hpp"
#include "simulation/mutant_ports.hpp"
#include "simulation/port_shell.hpp"
#include "simulation/transactions.hpp"
#include "support/request_form.hpp"

namespace holdfast::sim {

namespace {

using test::task;

/// Takes "no answer" for "not carried out".
class rash_link final : public link_shell {
 public:
  using link_shell::link_shell;
  void send(tickets::request request, on_reply done) override {
    if (!std::holds_alternative<tickets::acquire>(request))
      return link_shell::send(std::move(request), std::move(done));
    link_shell::send(std::move(request), [done = std::move(done)](outcome o) {
      if (auto* failed = std::get_if<store::request_error>(&o)) failed->maybe_executed = false;
      done(std::move(o));
    });
  }
};

/// Ends by force whoever holds when the request is carried out, be it repeated.
class forceful_link final : public link_shell {
 public:
  using link_shell::link_shell;
  void send(tickets::request request, on_reply done) override {
    if (auto* const force = std::get_if<tickets::force_release>(&request)) {
      force->first = {};
      force->last = tickets::last_token;
    }
    link_shell::send(std::move(request), std::move(done));
  }
};

/// Takes a transaction that was given up for the sake of others for one that found nothing.
class resigned_link final : public link_shell {
 public:
  using link_shell::link_shell;
  void send(tickets::request request, on_reply done) override {
    const auto found = nothing_found_by(request);
    link_shell::send(std::move(request), [found, done = std::move(done)](outcome o) {
      const auto* const failed = std::get_if<store::request_error>(&o);
      if (failed != nullptr && found && is_victims(*failed)) o = *found;
      done(std::move(o));
    });
  }

 private:
  static std::optional<tickets::reply> nothing_found_by(const tickets::request& request) {
    switch (test::task_of(request)) {
      case task::acquire: return tickets::refused{};
      case task::renew:
        return tickets::kept{std::vector<bool>(std::get<tickets::renew>(request).holds.size())};
      case task::force_release:
      case task::inspect:
      case task::list: return std::nullopt;
      default: return tickets::nothing{};
    }
  }
};

/// Looks when it is notified of a grant, and takes the notification for the answer.
class gullible_link final : public link_shell {
 public:
  using link_shell::link_shell;
  void on_notifications(on_notification handler) override {
    link_shell::on_notifications([this, handler = std::move(handler)](const store::notification& n) {
      if (n.kind == store::notification_kind::granted) granted_[n.owner] = n.token;
      handler(n);
    });
  }
  void send(tickets::request request, on_reply done) override {
    const auto* const look = std::get_if<tickets::look>(&request);
    const auto known = look != nullptr ? granted_.find(look->owner) : granted_.end();
    if (known == granted_.end() || known->second != look->token) {
      return link_shell::send(std::move(request), std::move(done));
    }
    link_shell::send(std::move(request), [token = known->second, done = std::move(done)](outcome o) {
      if (std::holds_alternative<tickets::reply>(o))
        o = tickets::reply{tickets::place{token, true, false, {}}};
      done(std::move(o));
    });
  }

 private:
  std::unordered_map<owner_id, fencing_token> granted_;
};

/// Knows whether the reply that is being handled makes a claim wait.
class waiting_link final : public link_shell {
 public:
  using link_shell::link_shell;
  void send(tickets::request request, on_reply done) override {
    link_shell::send(std::move(request), [this, done = std::move(done)](outcome o) {
      const auto* const reply = std::get_if<tickets::reply>(&o);
      const auto* const at = reply == nullptr ? nullptr : std::get_if<tickets::place>(reply);
      begins_to_wait_ = at != nullptr && !at->granted;
      done(std::move(o));
      begins_to_wait_ = false;
    });
  }
  [[nodiscard]] bool begins_to_wait() const { return begins_to_wait_; }

 private:
  bool begins_to_wait_ = false;
};

/// Has no timers for claims that wait.
class untimed_waits final : public store::scheduler {
 public:
  untimed_waits(store::scheduler& inner, const waiting_link& to) : inner_{inner}, link_{to} {}
  [[nodiscard]] store::time_point now() const override { return inner_.now(); }
  [[nodiscard]] std::uint64_t random() override { return inner_.random(); }
  [[nodiscard]] owner_id new_owner() override { return inner_.new_owner(); }
  timer at(store::time_point when, std::function<void()> action) override {
    return link_.begins_to_wait() ? 0 : inner_.at(when, std::move(action));
  }
  void cancel(timer which) override { inner_.cancel(which); }
  void defer_callback(std::function<void()> action) override { inner_.defer_callback(std::move(action)); }

 private:
  store::scheduler& inner_;
  const waiting_link& link_;
};

/// Relies on the notification that its turn has come.
struct trusting_parts {
  trusting_parts(store::scheduler& of, tickets::link& over)
      : link{over}, time{of, link}, driver{time, link} {}
  waiting_link link;
  untimed_waits time;
  runtime::driver driver;
};
class trusting_driver final : trusting_parts, public port_shell {
 public:
  trusting_driver(store::scheduler& time, tickets::link& over)
      : trusting_parts{time, over}, port_shell{driver} {}
};

/// A driver with a mutated link.
template <class Link>
struct mutant_parts {
  mutant_parts(store::scheduler& time, tickets::link& over) : link{over}, driver{time, link} {}
  Link link;
  runtime::driver driver;
};
template <class Link>
class mutant_driver final : mutant_parts<Link>, public port_shell {
 public:
  mutant_driver(store::scheduler& time, tickets::link& over)
      : mutant_parts<Link>{time, over}, port_shell{this->driver} {}
};

/// Does not look when notifications may have been lost.
class deaf_link final : public link_shell {
 public:
  using link_shell::link_shell;
  void on_gap(const std::function<void()>& /*missed*/) override {}
};

/// Reckons with a holder for a second longer than the store says.
class tardy_link final : public link_shell {
 public:
  using link_shell::link_shell;
  void send(tickets::request request, on_reply done) override {
    link_shell::send(std::move(request), [done = std::move(done)](outcome o) {
      auto* const reply = std::get_if<tickets::reply>(&o);
      auto* const at = reply == nullptr ? nullptr : std::get_if<tickets::place>(reply);
      if (at != nullptr && at->holder_left) *at->holder_left += std::chrono::seconds{1};
      done(std::move(o));
    });
  }
};

}  // namespace

std::unique_ptr<store::port> driver_of(mutant which, store::scheduler& time, tickets::link& over) {
  switch (which) {
    case mutant::never_looks_again: return std::make_unique<trusting_driver>(time, over);
    case mutant::gap_ignored: return std::make_unique<mutant_driver<deaf_link>>(time, over);
    case mutant::holder_not_followed: return std::make_unique<mutant_driver<tardy_link>>(time, over);
    default: return std::make_unique<runtime::driver>(time, over);
  }
}

std::unique_ptr<tickets::link> spoiled_link(mutant which, tickets::link& inner) {
  switch (which) {
    case mutant::timeout_means_no: return std::make_unique<rash_link>(inner);
    case mutant::force_release_unbounded: return std::make_unique<forceful_link>(inner);
    case mutant::notification_believed: return std::make_unique<gullible_link>(inner);
    case mutant::victim_means_no: return std::make_unique<resigned_link>(inner);
    default: return nullptr;
  }
}

}  // namespace holdfast::sim
