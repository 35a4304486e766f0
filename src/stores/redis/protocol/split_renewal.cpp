#include "stores/redis/protocol/split_renewal.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <variant>

#include "stores/redis/protocol/keys.hpp"

namespace holdfast::redis {

split_renewal::split_renewal(const tickets::renew& whole, const std::string& prefix) {
  std::map<std::uint16_t, std::size_t> parts;  // by slot
  for (std::size_t i = 0; i < whole.holds.size(); ++i) {
    const auto [place, is_new] = parts.try_emplace(slot_of(prefix + whole.holds[i].name), parts_.size());
    if (is_new) {
      parts_.emplace_back();
      parts_.back().request.send_by = whole.send_by;
    }
    part& p = parts_[place->second];
    p.request.holds.push_back(whole.holds[i]);
    p.indices.push_back(i);
  }
  missing_ = parts_.size();
  answer_.each.resize(whole.holds.size());
}

std::optional<split_renewal::outcome> split_renewal::take(std::size_t part, const outcome& of_part) {
  const std::vector<std::size_t>& indices = parts_.at(part).indices;
  const auto* const reply = std::get_if<tickets::reply>(&of_part);
  const auto* const kept = reply == nullptr ? nullptr : std::get_if<tickets::kept>(reply);
  if (kept != nullptr && kept->each.size() == indices.size()) {
    has_answer_ = true;
    for (std::size_t i = 0; i < indices.size(); ++i) answer_.each[indices[i]] = kept->each[i];
    for (const std::size_t i : kept->unsure) answer_.unsure.push_back(indices.at(i));
  } else {
    const auto* const error = std::get_if<store::request_error>(&of_part);
    if (error != nullptr && !problem_) problem_ = *error;
    answer_.unsure.insert(answer_.unsure.end(), indices.begin(), indices.end());
  }
  if (--missing_ != 0) return std::nullopt;
  if (!has_answer_ && problem_) return *problem_;
  std::sort(answer_.unsure.begin(), answer_.unsure.end());
  return tickets::reply{std::move(answer_)};
}

}  // namespace holdfast::redis
