#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/port.hpp"

namespace holdfast::sim {

/// A port around a port, for those who watch, or spoil, some of its functions.
class port_shell : public store::port {
 public:
  explicit port_shell(store::port& inner) : inner_{inner} {}

  void acquire(store::claim_ptr claim, store::handler<store::acquired> done) override {
    inner_.acquire(std::move(claim), std::move(done));
  }
  void cancel(const owner_id& owner) override { inner_.cancel(owner); }
  [[nodiscard]] std::optional<failure> error_now(const owner_id& owner) const override {
    return inner_.error_now(owner);
  }
  void renew(std::vector<store::hold> holds, store::time_point answer_by,
             store::handler<store::renewals> done) override {
    inner_.renew(std::move(holds), answer_by, std::move(done));
  }
  void release(store::hold hold, store::time_point give_up, store::handler<store::released> done) override {
    inner_.release(std::move(hold), give_up, std::move(done));
  }
  void expire_at(store::hold hold, store::time_point until, store::time_point give_up,
                 store::handler<store::released> done) override {
    inner_.expire_at(std::move(hold), until, give_up, std::move(done));
  }
  void downgrade(store::hold hold, store::time_point give_up, store::handler<store::lowered> done) override {
    inner_.downgrade(std::move(hold), give_up, std::move(done));
  }
  void annotate(store::hold hold, std::shared_ptr<const std::string> metadata, store::time_point give_up,
                store::handler<store::annotated> done) override {
    inner_.annotate(std::move(hold), std::move(metadata), give_up, std::move(done));
  }
  void inspect(std::string name, std::size_t most_waiters, store::time_point give_up,
               store::handler<store::inspected> done) override {
    inner_.inspect(std::move(name), most_waiters, give_up, std::move(done));
  }
  void list(bool idle, store::time_point give_up, store::handler<store::listed> done) override {
    inner_.list(idle, give_up, std::move(done));
  }
  void force_release(std::string name, std::optional<fencing_token> token, store::time_point give_up,
                     store::handler<store::forced> done) override {
    inner_.force_release(std::move(name), token, give_up, std::move(done));
  }
  void request_release(std::string name, std::optional<fencing_token> token, std::string reason,
                       store::time_point give_up, store::handler<store::notified> done) override {
    inner_.request_release(std::move(name), token, std::move(reason), give_up, std::move(done));
  }
  std::shared_ptr<void> watch(store::watched target, std::function<void()> changed) override {
    return inner_.watch(std::move(target), std::move(changed));
  }
  void on_revoked(std::function<void(const owner_id&, fencing_token)> callback) override {
    inner_.on_revoked(std::move(callback));
  }
  void on_release_requested(std::function<void(const owner_id&)> callback) override {
    inner_.on_release_requested(std::move(callback));
  }
  [[nodiscard]] std::optional<store::time_point> session_until() const override {
    return inner_.session_until();
  }
  void on_session(const std::function<void()>& extended) override { inner_.on_session(extended); }
  [[nodiscard]] std::size_t busy() const override { return inner_.busy(); }
  void when_idle(std::function<void()> action) override { inner_.when_idle(std::move(action)); }
  void abandon() override { inner_.abandon(); }

 protected:
  store::port& inner_;
};

}  // namespace holdfast::sim
