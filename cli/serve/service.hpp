// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "commands/serve.hpp"
#include "live/reader.hpp"
#include "serve/access.hpp"
#include "serve/events.hpp"
#include "serve/exchange.hpp"
#include "serve/history.hpp"
#include "serve/investigation_cache.hpp"
#include "serve/listing.hpp"
#include "serve/metrics.hpp"
#include "serve/overdue.hpp"
#include "serve/route.hpp"
#include "serve/secret.hpp"
#include "serve/snapshot.hpp"
#include "serve/worker.hpp"
#include <holdfast/client.hpp>

namespace holdfast::cli {

/// What `serve` answers, without HTTP's wire. One thread calls it. The store is read on a second one,
/// questions about single locks are put on a third, all queues are read on a fourth, changes are made on a
/// fifth, and the doctor's questions put on a sixth: none of them waits for another.
class service final : public request_handler {
 public:
  /// So many answers wait for the store at a time, of each kind: each keeps a connection.
  static constexpr std::size_t most_questions = 8;
  static constexpr std::size_t most_investigations = 8;
  static constexpr std::size_t most_changes = 4;
  static constexpr std::size_t most_awaiting_diagnosis = 4;
  static constexpr std::size_t most_waiting =
      most_questions + most_investigations + most_changes + most_awaiting_diagnosis;

  /// Runs a function on the thread that calls the service, later. Called from the others.
  using poster = std::function<void(std::function<void()>)>;

  service(const serve_command& request, access_rules rules, release_secret secret, poster post);

  /// Readable when take() has something to do.
  [[nodiscard]] int get() const noexcept { return reader_.get(); }
  void take();
  /// To be called about once a second.
  void tick();

  void handle(const http_request& request, const handler& done) override;
  [[nodiscard]] text_parts next_event(event_cursor& reader) override;
  /// Called when there may be events.
  void on_events(std::function<void()> call) { wake_streams_ = std::move(call); }

 private:
  using question = std::function<http_reply(const client&)>;
  void ask_store(worker& queue, question ask, const handler& done);
  using question_of_queues = std::function<http_reply(const client&, investigation_cache::dated)>;
  void ask_queues(question_of_queues ask, const handler& done);
  void diagnose_store(bool is_fresh, const handler& done);
  void change(const http_request& request, const route& where, const handler& done);
  [[nodiscard]] std::optional<http_reply> refuse_change(const http_request& request, const route& where);
  void note_wrong_secret(const http_request& request, const route& where);
  [[nodiscard]] http_reply answer_now(const http_request& request, const route& where);
  [[nodiscard]] http_reply locks_reply();
  [[nodiscard]] http_reply metrics_reply(const http_request& request) const;
  [[nodiscard]] http_reply health_reply() const;
  [[nodiscard]] json status() const;
  [[nodiscard]] shared_text change_event(const snapshot& now, const snapshot_change& change) const;
  [[nodiscard]] std::optional<std::string> store_problem() const;
  [[nodiscard]] bool is_up() const;
  void announce_status(bool is_due);
  void count_deadlocks();
  void log_outage();

  client store_;
  std::string doctor_url_;
  client_options doctor_options_;
  duration interval_;
  access_rules rules_;
  release_secret secret_;
  poster post_;
  std::optional<boot_clock::time_point> wrong_secret_noted_at_;
  std::size_t wrong_secrets_ = 0;  // that were not noted since
  std::function<void()> wake_streams_ = [] {};

  snapshot_keeper keeper_;
  hand_over_history history_;
  metrics_board metrics_;
  event_feed feed_;
  std::optional<store_reader::news> problem_;  // of the last reading
  boot_clock::time_point began_ = boot_clock::now();
  std::string announced_status_;  // without its age
  boot_clock::time_point announced_at_{};
  enum class outage : std::uint8_t { none, unexplained, explained };
  outage logged_ = outage::none;
  listing_cache listings_;
  investigation_cache queues_;
  /// By all queues when they were read last; empty: not known.
  std::optional<std::size_t> deadlocks_;
  bool is_counting_deadlocks_ = false;
  std::uint64_t deadlocks_revision_ = 0;     // of the locks, at that reading
  boot_clock::time_point count_again_at_{};  // where the locks have changed since; else later
  boot_clock::time_point changed_at_{};      // when the last change that was asked for here was made

  struct diagnosis {
    boot_clock::time_point taken_at;
    std::optional<json> report;  // empty: it failed
    http_reply failure;
  };
  std::optional<diagnosis> diagnosis_;
  std::vector<handler> awaiting_diagnosis_;
  bool is_diagnosing_ = false;

  worker questions_;
  worker investigations_;  // of all queues, which may take long
  worker changes_;
  worker doctor_;
  store_reader reader_;  // the last: it ends first, and closes the client
};

}  // namespace holdfast::cli
