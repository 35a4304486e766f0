#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "link/redis/dial.hpp"
#include "link/redis/leadership.hpp"
#include "link/redis/settings.hpp"
#include "protocol/redis/conversation.hpp"
#include "runtime/loop.hpp"
#include "runtime/watchers.hpp"
#include "store/backoff.hpp"

namespace holdfast::redis {

/// Carries requests to a Redis server, over one connection for all commands and words of a client.
///
/// Whoever sends writes to the socket itself; one thread at a time listens (see leadership). A connection
/// that breaks, or is silent while it owes an answer, is made anew with backoff; what it owed may have been
/// carried out. What had not been sent waits for the next connection, and fails when that cannot be had.
class link final : public tickets::link {
 public:
  /// Begins to connect. \throws holdfast::error for certificates that cannot be read.
  link(runtime::loop& on, settings s);
  ~link() override;
  link(const link&) = delete;
  link& operator=(const link&) = delete;

  void send(tickets::request what, on_reply done) override;
  void on_notices(on_notice told) override { told_ = std::move(told); }
  void on_gap(const std::function<void()>& missed) override { missed_ = missed; }
  std::shared_ptr<void> watch(std::function<void()> changed) override;
  void help(store::caller& who) override;
  bool drive() override;
  void kick() override;
  /// Ends the link's thread. Nothing is delivered afterwards. Idempotent.
  void shut();

 private:
  using clock = std::chrono::steady_clock;

  /// A conversation, or a command of the link's own, whose answer concerns nobody.
  struct job {
    std::optional<conversation> talk;
    std::string command;
    on_reply done;
    std::size_t due = 1;
    std::vector<value> heard;
  };
  using job_ptr = std::unique_ptr<job>;
  struct answered {
    on_reply done;
    outcome result;
  };
  struct bell {
    bell();
    ~bell();
    bell(const bell&) = delete;
    bell& operator=(const bell&) = delete;
    void drain() const;
    int fd;
  };

  // Any thread, outside turns:
  void flush();
  void deliver(std::vector<answered> answers, const std::vector<value>& pushes);

  // The leader:
  void listen(store::caller* who);
  void wait_for_bytes(store::caller* who);
  [[nodiscard]] clock::duration check_health();
  void read_all();
  void take_in(std::vector<value> messages);
  void hang_up(const failure& why);

  // The link's own thread:
  void work();
  void connect();
  void give_up(const cut_off& why);
  void fail_queue(const cut_off& why);
  void pause();
  void missed_words();

  // With wire_mutex_ held:
  void put_on_wire(job_ptr j);
  void write_out();

  void enqueue(job_ptr j);
  void command(std::string bytes);
  [[nodiscard]] std::vector<job_ptr> take_queue();
  [[nodiscard]] bool concerns_us(const value& invalidation) const;

  runtime::loop& loop_;
  const settings settings_;
  const owner_id client_ = owner_id::random();
  std::unique_ptr<tls_context> secure_;
  on_notice told_;
  std::function<void()> missed_;
  runtime::watchers watchers_;
  std::size_t watches_ = 0;            // in turns
  std::atomic<bool> tracked_ = false;  // there are any

  std::mutex queue_mutex_;
  std::vector<job_ptr> queue_;
  std::atomic<std::size_t> queued_ = 0;
  std::atomic<bool> urgent_ =
      false;  // something else than a release has been sent since somebody last listened

  std::mutex wire_mutex_;
  std::unique_ptr<connection> wire_;  // replaced by the leader only, who may read it without the mutex
  std::optional<cut_off> down_;       // why there is none, once that is known
  std::string out_;                   // what the socket would not take yet
  std::deque<job_ptr> owed_;          // sent, in order, with answers due
  clock::time_point owed_since_;      // the first of them, or the last sign of life
  clock::time_point heard_;           // the last sign of life
  std::atomic<std::size_t> owed_count_ = 0;
  std::atomic<bool> connected_ = false;
  std::atomic<bool> fresh_ = false;  // nobody has listened to this connection yet
  std::vector<char> buffer_;         // the leader's

  bell bell_;
  leadership leadership_{bell_.fd};
  store::backoff pause_{retry_policy{}};
  std::atomic<bool> proved_ = true;  // there has been an answer that is no error since the last pause
  bool had_connection_ = false;
  std::string former_;  // see connection::kill
  std::atomic<bool> stopping_ = false;
  std::mutex pause_mutex_;
  std::condition_variable paused_;
  bell stop_;
  std::thread thread_;
};

}  // namespace holdfast::redis
