// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/request.hpp"

namespace holdfast::quorum {

/// What a majority of the servers says of a name. Pure functions.

/// The answer of one server.
template <class Answer>
struct answer_of {
  std::string server;          ///< its host and port
  std::optional<Answer> said;  ///< empty: it is not heard
  std::string problem;         ///< then: why
};
using state_answers = std::vector<answer_of<std::optional<lock_state>>>;
using listings = std::vector<answer_of<std::vector<lock_summary>>>;

/// \param answers one for each server. An empty state: the name is not in use there.
/// \param majority so many servers have to name a claim as holder, else it waits.
/// \return with notes of the servers that differ or are not heard; empty: all are heard, and the name is in
/// use nowhere.
[[nodiscard]] std::optional<lock_state> view_of(const std::string& name, const state_answers& answers,
                                                std::size_t majority);

/// \param answers one for each server.
/// \param idle names as well that nobody holds or waits for.
[[nodiscard]] std::vector<lock_summary> view_of(const listings& answers, std::size_t majority, bool idle);

}  // namespace holdfast::quorum
