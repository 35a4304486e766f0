// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/protocol/renewals.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <utility>
#include <variant>

#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/resp.hpp"
#include "stores/redis/protocol/scripts.hpp"

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
  const auto* const kept = tickets::reply_in<tickets::kept>(of_part);
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

namespace {

constexpr std::int64_t is_kept = 1;
constexpr std::int64_t is_shared = 2;

}  // namespace

moving_renewal::moving_renewal(tickets::renew whole, const dialect& in)
    : whole_{std::move(whole)},
      in_{in},
      kept_(whole_.holds.size()),
      asked_holders_(whole_.holds.size()),
      missing_{whole_.holds.size()} {}

std::vector<moving_renewal::step> moving_renewal::begin() const {
  std::vector<step> steps;
  steps.reserve(whole_.holds.size());
  for (std::size_t i = 0; i < whole_.holds.size(); ++i)
    steps.push_back(step_for(i, keys::of(in_.prefix, whole_.holds[i].name).lock));
  return steps;
}

moving_renewal::step moving_renewal::step_for(std::size_t hold, std::string key) const {
  const auto milliseconds = [](duration d) {
    return std::chrono::ceil<std::chrono::milliseconds>(d).count();
  };
  const store::hold& of = whole_.holds.at(hold);
  const std::int64_t keep = std::max<std::int64_t>(in_.keep.count(), 2 * milliseconds(of.ttl));
  step s{hold, std::move(key), {}};
  append(s.command, {"EVAL", text::renew_key, "1", s.key, of.owner.hex(),
                     std::to_string(milliseconds(of.ttl)), std::to_string(keep)});
  return s;
}

std::optional<moving_renewal::step> moving_renewal::take(std::size_t hold, const value* reply) {
  const bool is_number = reply != nullptr && reply->is(value::kind::number);
  if (is_number && reply->number == is_shared && !asked_holders_.at(hold)) {
    asked_holders_[hold] = true;
    return step_for(hold, keys::of(in_.prefix, whole_.holds.at(hold).name).holders);
  }
  kept_.at(hold) = is_number && reply->number == is_kept;
  --missing_;
  return std::nullopt;
}

std::optional<tickets::kept> moving_renewal::result() const {
  if (missing_ != 0) return std::nullopt;
  tickets::kept all{kept_};
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (!kept_[i]) all.unsure.push_back(i);
  }
  return all;
}

}  // namespace holdfast::redis
