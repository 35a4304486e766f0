#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <system_error>
#include <variant>
#include <vector>

#include "base/failure.hpp"
#include "stores/redis/protocol/server_address.hpp"

namespace holdfast::redis {

/// In which order the Sentinels are asked: the one that was of use last is the first, those that were not
/// are the last.
class sentinel_order {
 public:
  explicit sentinel_order(std::size_t count);

  /// Their indices in the URL.
  [[nodiscard]] const std::vector<std::size_t>& indices() const { return indices_; }
  void put_first(std::size_t sentinel);
  void put_last(std::size_t sentinel);

 private:
  std::vector<std::size_t> indices_;
};

/// One search for the primary: which Sentinel is asked next, where its answer leads, and what an error has to
/// say in the end. It follows the guidelines for clients of Redis Sentinel. A value, without I/O and time:
/// the caller does what the step says and reports the result, until it is connected or the search has failed.
///
/// A Sentinel may be late or wrong. So an answer counts only if the server that it leads to is a primary.
class sentinel_query {
 public:
  /// Ask this Sentinel where the primary is.
  struct ask {
    std::size_t sentinel = 0;  // its index in the URL
    /// In how many parts the time that is left is divided. One of them is for this step.
    std::size_t parts = 1;
  };
  /// Connect to this server, and check that it is a primary.
  struct connect {
    server_address server;
    std::size_t parts = 1;
  };
  /// The search has failed.
  struct failed {
    failure reason;
    bool retryable = true;
  };
  using step = std::variant<ask, connect, failed>;

  /// \param sentinels all of the URL. \param order in which to ask them.
  sentinel_query(std::string primary, std::vector<server_address> sentinels, std::vector<std::size_t> order);

  [[nodiscard]] step begin() { return next(); }

  // What became of the Sentinel that was to be asked:
  /// It did not answer, or not as a Sentinel does.
  [[nodiscard]] step on_no_answer(const failure& reason, bool retryable);
  /// It does not know the primary. \param names those that it knows; may be empty.
  [[nodiscard]] step on_unknown(const std::vector<std::string>& names);
  [[nodiscard]] step on_address(const server_address& server);

  /// The server to connect to cannot be reached, or is no primary.
  [[nodiscard]] step on_refused(const failure& reason, bool retryable);

  /// The Sentinel that was asked last.
  [[nodiscard]] std::size_t current() const { return order_.at(next_ - 1); }

 private:
  struct problem {
    std::string text;
    std::error_code code;
    bool retryable = true;
    bool is_unknown_name = false;
  };
  struct refusal {
    server_address server;
    std::error_code code;
    bool retryable = true;
  };

  [[nodiscard]] step next();
  [[nodiscard]] failed give_up() const;
  [[nodiscard]] std::string current_place() const { return sentinels_.at(current()).place(); }

  std::string primary_;
  std::vector<server_address> sentinels_;
  std::vector<std::size_t> order_;
  std::size_t next_ = 0;   // in `order_`
  server_address server_;  // to connect to
  std::vector<refusal> refused_;
  std::vector<problem> problems_;  // one for each Sentinel that was asked
};

/// How often a Sentinel's notifications make the client ask: notifications cost nothing to whoever forges
/// them. A bucket of tokens, refilled with time.
class question_limit {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// \return whether one more question may be asked.
  [[nodiscard]] bool take(time_point now);

 private:
  static constexpr int most = 8;
  static constexpr std::chrono::seconds refill{1};  // for each token

  int tokens_ = most;
  time_point refilled_{};
};

}  // namespace holdfast::redis
