#include "stores/zookeeper/protocol/release_request.hpp"

#include <utility>

#include "base/metadata.hpp"
#include "stores/zookeeper/protocol/note.hpp"

namespace holdfast::zookeeper {

namespace {

constexpr std::string_view revoke_message = "__REVOKE__";

/// Whether its owner may be a Curator client that listens.
bool is_curators_lock(const contender& place) {
  if (!parse(layout::curator, place.node)) return false;
  return place.wants == role::mutex || place.wants == role::writer || place.wants == role::reader;
}

}  // namespace

std::optional<std::string> data_that_asks(const claimed& holder, std::string_view reason) {
  if (!is_ours(holder) && !is_curators_lock(holder.place)) return std::nullopt;
  auto n = is_ours(holder) ? read_note(holder.data) : std::nullopt;
  if (!n) return std::string{revoke_message};
  n->metadata = with_release_request(n->metadata, reason);
  return std::string{before_note(holder.data)} + to_text(*n);
}

std::optional<std::string> request_in(std::string_view data) {
  if (data == revoke_message) return std::string{};
  const auto n = read_note(data);
  return n ? from_metadata(n->metadata).release_request : std::nullopt;
}

}  // namespace holdfast::zookeeper
