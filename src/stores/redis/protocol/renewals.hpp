// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/link.hpp"
#include "core/request.hpp"
#include "stores/redis/protocol/dialect.hpp"
#include "stores/redis/protocol/resp.hpp"

namespace holdfast::redis {

/// A batch of renewals in a cluster, where one command reaches one slot: a part for each slot. A value.
class split_renewal {
 public:
  using outcome = tickets::link::outcome;

  struct part {
    tickets::renew request;
    std::vector<std::size_t> indices;  // of its holds in the whole batch
  };

  /// \param prefix of the locks' keys.
  split_renewal(const tickets::renew& whole, const std::string& prefix);

  [[nodiscard]] const std::vector<part>& parts() const { return parts_; }
  /// \return the outcome of the whole batch, once every part has one. Where a part has failed, its holds are
  /// unsure; where all have, the first error is the outcome.
  [[nodiscard]] std::optional<outcome> take(std::size_t part, const outcome& of_part);

 private:
  std::vector<part> parts_;
  std::size_t missing_;
  tickets::kept answer_;
  bool has_answer_ = false;
  std::optional<store::request_error> problem_;
};

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
