// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/request.hpp"
#include "simulation/host.hpp"
#include "simulation/scene.hpp"
#include "simulation/site.hpp"
#include "simulation/standing.hpp"
#include "support/request_form.hpp"

namespace holdfast::sim {

/// Keeps account of everything that a store has carried out, and holds it to what every store
/// owes: whoever frees capacity serves the first who fits, and tells exactly those; what has ended never
/// lives again; what lives is not denied; tokens rise from grant to grant.
///
/// It sees requests and replies where they are carried out, so that no fault of the network hides anything,
/// and it is told of each event that breaks a condition of the store.
class ledger {
 public:
  struct grant {
    std::uint64_t number = 0;  // in the order of all grants that the store has ever made; zero: none
    std::uint32_t era = 0;     // of tokens: they rise within each
  };

  /// What a store's clock and its grants are like.
  struct terms {
    std::int64_t grain = 0;        // microseconds by which an end may come sooner or later
    bool grants_renew = false;     // a grant begins a new ttl
    bool finds_renew = false;      // so does the request that finds a claim
    bool owner_says_all = false;   // a claim is known by its owner alone, not also by its token
    bool late_is_possible = true;  // a request that its client has given up for lost may overtake a later one
  };
  /// \param look what stands at the store.
  ledger(scene& in, const site& at, terms of, std::function<std::vector<standing>()> look)
      : in_{in}, at_{at}, terms_{of}, look_{std::move(look)} {}
  virtual ~ledger() = default;
  ledger(const ledger&) = delete;
  ledger& operator=(const ledger&) = delete;

  /// \param late its client has given the request up.
  /// \param paused it was sent as a request that may grant nothing, for so long.
  virtual void executed(const test::request_form& request, bool late, const tickets::reply& answer,
                        const std::vector<store::client_notification>& notifications, duration paused = {});

  /// A request to release is about to be carried out.
  /// \param look what stands at the store.
  virtual void before_request(const std::function<std::vector<standing>()>& /*look*/) {}

  /// The same, by a former primary beside the one that this ledger is kept of. What it grants is believed.
  /// The same for a request that may be a joint one.
  void carried_out(const tickets::request& request, bool late, const tickets::reply& answer,
                   const std::vector<store::client_notification>& notifications, duration paused = {});
  void executed_by_former(const test::request_form& request, const tickets::reply& answer,
                          const std::vector<store::client_notification>& notifications);

  /// It was answered with an error, which changes nothing.
  void refused(const test::request_form& request, const store::request_error& reason);
  /// Whether it has told that owner that others hold.
  [[nodiscard]] virtual bool has_turned_away(const owner_id& owner) const {
    return turned_away_.contains(owner);
  }

  /// Whether a client of others has the lock now. It tells nobody when it ends, so the head of the queue has
  /// to look.
  void outsider(std::size_t name, bool there);
  /// The store leaves the lock free for clients of others, until then by its clock, though some of ours wait.
  /// \param careless notifications may get lost.
  virtual void left_free(std::size_t name, std::int64_t until, bool careless);
  /// In this world a request that its client has given up for lost may overtake a later one.
  void expect_late_requests() { terms_.late_is_possible = true; }
  /// Who asks under that id.
  void asks(const owner_id& owner, const host& client) { clients_[owner] = {&client, client.life()}; }
  /// It has its answer, or wants none any more.
  void asks_no_longer(const owner_id& owner) { clients_.erase(owner); }
  /// An error says that its claim was not granted, and never will be.
  void told_to_have_failed(const owner_id& owner) { failed_.insert(owner); }

  /// Claims have come or gone without a request: what stands there now.
  /// \param lost the store knows less than it did.
  void changed(const std::vector<standing>& now_there, bool lost);
  /// What had expired may live again, and be in the way for as long again.
  void clock_went_back(const std::vector<standing>& now_there, duration by);
  /// The store has thrown away a part of what it knew of a name. What comes of that may show late, so nothing
  /// is said of who holds that name until all is well.
  void evicted(std::size_t name);
  [[nodiscard]] bool is_suspect(std::size_t name) const { return suspect_[name]; }
  void trust_again();
  /// The store has forgotten a name that nobody had used for long, its last token with it.
  void forgot(std::size_t name);
  /// How much longer than a ttl the dead may be in the way: where a grant begins a new ttl, one whose waiter
  /// has died does; and claims whose end was thrown away get a new one.
  [[nodiscard]] duration longer() const {
    const bool evicted = std::find(suspect_.begin(), suspect_.end(), true) != suspect_.end();
    return (terms_.grants_renew ? longest_ttl : duration{0}) + (evicted ? longest_ttl : duration{0});
  }
  /// Whether it has drawn the same token twice, from a store that forgot it and whose clock had been set
  /// back.
  [[nodiscard]] bool is_confused(const owner_id& owner) const { return confused_.contains(owner); }
  /// What holds may end early from now on, for one name or for all.
  /// \param until what is granted before that may be, too.
  void broken(std::optional<std::size_t> name, instant until = instant::min());
  /// The store has forgotten grants. With a guard it lets nobody in beside the holders that it does not know;
  /// clients of others do not keep to that.
  /// \param until another may go on granting.
  void forgot_grants(bool has_guard, instant until = instant::min());
  [[nodiscard]] instant forgot_grants_at() const { return forgot_grants_at_; }
  /// Until when the store may have shown less of that name than it had confirmed before.
  [[nodiscard]] instant went_back_at(std::size_t name) const {
    return std::max({broken_[name], forgot_grants_at_, went_back_until_});
  }
  /// Is told the owner of each hold that has a request to release now.
  std::function<void(const owner_id&)> on_release_request;
  [[nodiscard]] instant broken_at(std::size_t name) const { return broken_[name]; }

  /// Whether a claim lives at the store that its owner is answerable for.
  [[nodiscard]] virtual bool answers_for(const owner_id& owner) const;
  /// Whether it lives there for all that anybody can have heard, so that nobody may be told that it has
  /// ended.
  [[nodiscard]] virtual bool surely_lives(const store::hold& h) const;
  /// Whether it may be there. What a majority of several servers has is not known here.
  [[nodiscard]] virtual bool may_have(const store::hold& h) const;
  /// Whether a request of its client was carried out late.
  [[nodiscard]] bool is_kept_late(const owner_id& owner) const { return kept_late_.contains(owner); }
  /// Whether a request that was carried out late may have made a claim anew that had ended.
  [[nodiscard]] virtual bool may_be_back(const owner_id& owner) const { return is_kept_late(owner); }
  /// Whether somebody who may has ended it, so that its client may not know yet.
  [[nodiscard]] virtual bool is_ended_by_hand(const owner_id& /*owner*/) const { return false; }
  [[nodiscard]] virtual grant grant_of(const store::hold& h) const;
  [[nodiscard]] std::uint32_t era(std::size_t name) const { return eras_[name]; }
  /// One of all that stand there; null: nothing does.
  [[nodiscard]] virtual const standing* any_claim(randomness& chance) const;
  /// Whether it agrees with what stands at the store.
  void compare(const std::vector<standing>& now_there);
  [[nodiscard]] std::size_t living() const;
  /// Whether somebody asks under that id, and has no answer yet.
  [[nodiscard]] bool is_asked_by(const owner_id& owner) const { return clients_.contains(owner); }
  [[nodiscard]] std::uint64_t grants() const { return grants_; }
  [[nodiscard]] std::uint64_t requests() const { return requests_; }
  /// How many requests were answered with an error.
  [[nodiscard]] std::uint64_t refusals() const { return refusals_; }
  /// How often a name was forgotten.
  [[nodiscard]] std::uint64_t forgotten() const { return forgotten_; }
  /// How often a waiter took over from a client of others, in time.
  [[nodiscard]] std::uint64_t outsiders_followed() const { return outsiders_followed_; }
  /// How often a lock was left free for clients of others.
  [[nodiscard]] std::uint64_t moments_left_free() const { return moments_left_free_; }

 protected:
  void count_request() { ++requests_; }

 private:
  struct fact : standing {
    duration ttl{};                  // zero: not known
    std::int64_t gone{};             // when it has ended for sure; `expires` is until when it surely lives
    std::uint64_t grant_number = 0;  // which of the store's grants it is
    bool excused = false;  // by a request carried out late, or by a store that came back with old contents
  };
  [[nodiscard]] bool lives(const fact& f) const { return f.expires > at_.lease_now(); }
  [[nodiscard]] bool is_gone(const fact& f) const { return f.gone <= at_.lease_now(); }
  void suspect_revived();
  void note_late(const test::request_form& request);
  [[nodiscard]] bool has_to_change(const fact& f, test::task by) const;
  void begin_ttl(fact& f, duration ttl) const;
  [[nodiscard]] fact* find(std::size_t name, const owner_id& owner, std::uint64_t token);
  [[nodiscard]] fact* find_exactly(std::size_t name, const owner_id& owner, std::uint64_t token);
  [[nodiscard]] fact* find(std::size_t name, const owner_id& owner);
  void acquired(const test::request_form& request, bool late, const tickets::place& at);
  void kept(fact* f, std::size_t name, std::uint64_t token, duration ttl, bool yes);
  void ended(fact* f, std::size_t name, bool yes);
  void requested(std::size_t name);
  void note_requests(const std::vector<store::client_notification>& notifications) const;
  void notified(std::size_t name, const store::notification& n);
  void granted(fact& f);
  /// The tokens before say nothing of those that come, so a look may show a lower one.
  void begin_era(std::size_t name) {
    ++eras_[name];
    went_back_until_ = std::max(went_back_until_, in_.now);
  }
  void number(std::size_t name, const owner_id& owner, std::uint64_t token);
  void granted_by_former(std::size_t name, const owner_id& owner, std::uint64_t token);
  [[nodiscard]] bool was_granted_by(std::uint64_t number, std::uint64_t token) const;
  void begin_anew(const test::request_form& request, const tickets::reply& answer,
                  const std::vector<store::client_notification>& notifications);
  void require_served(std::size_t name);
  void require_noticed(std::size_t name);
  void require_taken(std::size_t name, duration at_most);
  void require_look_after(std::size_t name, duration holder_left);
  void violated(const std::string& problem, std::size_t name, std::uint64_t token);

  scene& in_;
  const site& at_;
  terms terms_;
  std::function<std::vector<standing>()> look_;
  std::vector<fact> facts_;  // in the order of queueing
  std::array<instant, names> broken_ = no_times();
  std::array<std::uint64_t, names> last_granted_{};
  std::array<std::uint32_t, names> eras_{};
  bool clock_went_back_ = false;
  instant forgot_grants_at_ = instant::min();
  instant went_back_until_ = instant::min();
  std::uint32_t times_forgotten_ = 0;  // grants
  bool is_paused_ = false;             // the request that is being carried out
  instant paused_until_{};             // as the last of them said
  instant serves_late_until_{};
  std::array<bool, names> forgets_{};  // the store, its last token; until it draws another
  /// By owner, with their tokens. More than one where a request was carried out late, and then again.
  std::unordered_map<owner_id, std::vector<std::pair<std::uint64_t, grant>>> grants_of_;
  std::unordered_set<owner_id> turned_away_;
  std::unordered_set<owner_id> failed_;  // as their clients were told
  std::unordered_set<owner_id> kept_late_;
  std::unordered_set<owner_id> unanswerable_;  // who cannot know what stands there in their name
  std::unordered_set<owner_id> confused_;      // who got one token twice
  std::array<bool, names> suspect_{};
  struct process {
    const host* at = nullptr;
    std::uint32_t life = 0;
  };
  std::unordered_map<owner_id, process> clients_;
  std::array<bool, names> outsiders_{};
  std::array<std::int64_t, names> outsider_seen_{};  // when last, by the store's clock
  std::array<std::uint64_t, names> comings_{};       // of holders: of outsiders, and of ours
  std::array<owner_id, names> looks_out_{};          // the head, since it was told of an outsider
  std::array<instant, names> looks_since_{};
  std::array<owner_id, names> heads_{};       // who was told last that it is the head
  std::array<std::uint64_t, names> looks_{};  // requests of heads
  std::uint64_t outsiders_followed_ = 0;
  std::array<std::int64_t, names> left_free_until_{};
  std::array<bool, names> served_since_left_free_{};  // one of ours
  std::uint64_t moments_left_free_ = 0;
  std::uint64_t grants_ = 0;
  std::array<std::uint64_t, names>
      seen_by_force_{};  // the grants that there were when a name was last looked at
  std::uint64_t requests_ = 0;
  std::uint64_t refusals_ = 0;
  std::uint64_t forgotten_ = 0;

  static constexpr std::array<instant, names> no_times() {
    std::array<instant, names> all{};
    all.fill(instant::min());
    return all;
  }
};

}  // namespace holdfast::sim
