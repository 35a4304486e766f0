#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/request.hpp"
#include "stores/redis/protocol/dialect.hpp"
#include "stores/redis/protocol/value.hpp"

namespace holdfast::redis {

/// Renews holds of a slot that is on its way between two servers of a cluster, key by key. A value: it says
/// which commands to send, and takes their replies.
///
/// Meanwhile a script with all keys of a name is refused (TRYAGAIN), unless one of the servers has all of
/// them. A script with one key is carried out by the server that has it: the former, or the one to which it
/// sends (ASK). A move may be left half-way for longer than a ttl, and would end all holds of the slot.
///
/// A hold that is not renewed is unsure, not lost: where it is will be seen when the slot has arrived.
class moving_renewal {
 public:
  struct step {
    std::size_t hold = 0;  // its index in the batch
    std::string key;       // to whose server the command goes
    std::string command;
  };

  /// \param in must outlive the object.
  moving_renewal(tickets::renew whole, const dialect& in);

  /// One for each hold.
  [[nodiscard]] std::vector<step> begin() const;
  /// \param reply to the last step of a hold; null: there was none, or an error.
  /// \return the next step for the hold; empty: its last one.
  [[nodiscard]] std::optional<step> take(std::size_t hold, const value* reply);
  /// Empty until every hold has had its last step.
  [[nodiscard]] std::optional<tickets::kept> result() const;

 private:
  [[nodiscard]] step step_for(std::size_t hold, std::string key) const;

  tickets::renew whole_;
  const dialect& in_;
  std::vector<bool> kept_;
  std::vector<bool> asked_holders_;
  std::size_t missing_;
};

}  // namespace holdfast::redis
