#include "stores/zookeeper/protocol/release_request.hpp"

#include <utility>

#include "base/metadata.hpp"
#include "base/release_request.hpp"
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
  if (!is_ours(holder)) {
    return is_curators_lock(holder.place) ? std::optional{std::string{revoke_message}} : std::nullopt;
  }
  std::string data{revoke_message};
  if (auto n = read_note(holder.data)) {
    n->metadata = with_release_request(n->metadata, reason);
    data.append("\n").append(to_text(*n));
  }
  return data;
}

std::optional<std::string> request_in(std::string_view data) {
  if (data != revoke_message && !data.starts_with(std::string{revoke_message} + '\n')) return std::nullopt;
  const auto n = read_note(data);
  return n ? from_metadata(n->metadata).release_request.value_or("") : std::string{};
}

}  // namespace holdfast::zookeeper
