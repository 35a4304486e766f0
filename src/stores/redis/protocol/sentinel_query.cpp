#include "stores/redis/protocol/sentinel_query.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "holdfast/error.hpp"
#include "stores/redis/protocol/sentinel_replies.hpp"

namespace holdfast::redis {

namespace {

constexpr std::size_t longest_text = 300;  // of an error that a server sends, in ours

/// What a server says, cut to a length and to what a terminal can show.
std::string shown(std::string text) {
  if (text.size() > longest_text) text = text.substr(0, longest_text) + "...";
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; },
      '?');
  return text;
}

}  // namespace

sentinel_order::sentinel_order(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) indices_.push_back(i);
}

void sentinel_order::put_first(std::size_t sentinel) {
  const auto found = std::find(indices_.begin(), indices_.end(), sentinel);
  if (found != indices_.end()) std::rotate(indices_.begin(), found, found + 1);
}

void sentinel_order::put_last(std::size_t sentinel) {
  const auto found = std::find(indices_.begin(), indices_.end(), sentinel);
  if (found != indices_.end()) std::rotate(found, found + 1, indices_.end());
}

sentinel_query::sentinel_query(std::string primary, std::vector<server_address> sentinels,
                               std::vector<std::size_t> order)
    : primary_{std::move(primary)}, sentinels_{std::move(sentinels)}, order_{std::move(order)} {}

sentinel_query::step sentinel_query::next() {
  if (next_ == order_.size()) return give_up();
  ++next_;
  // A Sentinel that is silent leaves time for the others, and for the primary.
  return ask{current(), order_.size() - next_ + 2};
}

sentinel_query::step sentinel_query::on_no_answer(const failure& reason, bool retryable) {
  problems_.push_back({current_place() + ": " + shown(reason.message), reason.code, retryable});
  return next();
}

sentinel_query::step sentinel_query::on_unknown(const std::vector<std::string>& names) {
  std::string text = current_place() + " does not know it";
  if (!names.empty()) text += ", but knows " + listed(names);
  problems_.push_back({std::move(text), errc::invalid_url, false, true});
  return next();
}

sentinel_query::step sentinel_query::on_address(const server_address& server) {
  const auto before = std::find_if(refused_.begin(), refused_.end(),
                                   [&](const refusal& each) { return each.server == server; });
  if (before != refused_.end()) {
    problems_.push_back(
        {current_place() + " names " + server.place() + " too", before->code, before->retryable});
    return next();
  }
  server_ = server;
  return connect{server, next_ == order_.size() ? std::size_t{1} : std::size_t{2}};
}

sentinel_query::step sentinel_query::on_refused(const failure& reason, bool retryable) {
  refused_.push_back({server_, reason.code, retryable});
  problems_.push_back(
      {current_place() + " names " + server_.place() + ": " + shown(reason.message), reason.code, retryable});
  return next();
}

sentinel_query::failed sentinel_query::give_up() const {
  failed result;
  result.reason.message = "no Sentinel leads to it: ";
  bool all_unknown = true;
  result.retryable = false;
  for (const problem& each : problems_) {
    if (&each != problems_.data()) result.reason.message += "; ";
    result.reason.message += each.text;
    all_unknown = all_unknown && each.is_unknown_name;
    result.retryable = result.retryable || each.retryable;
  }
  const bool same = std::all_of(problems_.begin(), problems_.end(),
                                [this](const problem& each) { return each.code == problems_.front().code; });
  result.reason.code =
      same && !problems_.empty() ? problems_.front().code : make_error_code(errc::unavailable);
  if (all_unknown) {
    result.reason.message +=
        "; correct the name of the primary in the store's URL, or have the Sentinels "
        "monitor it";
  }
  return result;
}

bool question_limit::take(time_point now) {
  const auto added = static_cast<int>(std::clamp<std::int64_t>((now - refilled_) / refill, 0, most));
  tokens_ = std::min(most, tokens_ + added);
  refilled_ = tokens_ == most ? now : refilled_ + added * refill;
  if (tokens_ == 0) return false;
  --tokens_;
  return true;
}

}  // namespace holdfast::redis
