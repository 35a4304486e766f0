#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/link.hpp"
#include "core/request.hpp"

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

}  // namespace holdfast::redis
