#include "sim/redis/dataset.hpp"

#include <algorithm>
#include <tuple>

namespace holdfast::sim {

namespace {

using scored = sorted_set_value::scored;

template <class Items>
auto place(Items& items, std::size_t index) {
  return items.begin() + static_cast<std::ptrdiff_t>(index);
}

}  // namespace

template <class Former>
void dataset::note(const std::string& key, Former&& before) {
  touched_.insert(key);
  if (!changed_) {
    changed_ = true;
    ++writes_;
    while (!history_.empty() && history_.front().write + writes_kept_ <= writes_) history_.pop_front();
  }
  if (writes_kept_ > 0) history_.push_back({writes_, key, former{std::forward<Former>(before)}});
}

dataset::slot* dataset::find(std::string_view key) {
  const auto found = slots_.find(key);
  return found == slots_.end() || found->second.expires_ms < now_ms_ ? nullptr : &*found;
}

const dataset::slot* dataset::find(std::string_view key) const {
  const auto found = slots_.find(key);
  return found == slots_.end() || found->second.expires_ms < now_ms_ ? nullptr : &*found;
}

dataset::slot& dataset::put(std::string_view key, content what, std::int64_t expires_ms) {
  auto found = slots_.find(key);
  if (found == slots_.end()) {
    found = slots_.emplace(key, entry{std::move(what), expires_ms}).first;
    note(found->first, nothing{});
  } else {
    note(found->first, std::move(found->second));
    found->second = {std::move(what), expires_ms};
  }
  return *found;
}

void dataset::erase(slot& s) {
  note(s.first, std::move(s.second));
  slots_.erase(s.first);
}

void dataset::clear() {
  while (!slots_.empty()) erase(*slots_.begin());
}

void dataset::set_expiry(slot& s, std::int64_t expires_ms) {
  note(s.first, former_expiry{s.second.expires_ms});
  s.second.expires_ms = expires_ms;
}

void dataset::set_text(slot& s, std::string_view text) {
  auto& kept = std::get<std::string>(s.second.what);
  note(s.first, former_text{std::move(kept)});
  kept = text;
}

content& dataset::rewrite(slot& s) {
  note(s.first, entry{s.second});
  return s.second.what;
}

void dataset::put_field(slot& s, std::size_t index, std::string_view field, std::string_view value) {
  auto& fields = std::get<hash_value>(s.second.what).fields;
  if (index == at_end) {
    note(s.first, new_field{});
    fields.emplace_back(field, value);
  } else {
    note(s.first, former_value{index, std::move(fields[index].second)});
    fields[index].second = value;
  }
}

void dataset::erase_field(slot& s, std::size_t index) {
  auto& fields = std::get<hash_value>(s.second.what).fields;
  note(s.first, former_field{index, std::move(fields[index])});
  fields.erase(place(fields, index));
}

void dataset::insert_member(slot& s, double score, std::string_view member) {
  auto& members = std::get<sorted_set_value>(s.second.what).members;
  const auto before = [](const scored& a, const std::pair<double, std::string_view>& b) {
    return std::tuple<double, std::string_view>{a.score, a.member} <
           std::tuple<double, std::string_view>{b.first, b.second};
  };
  const auto at = std::lower_bound(members.begin(), members.end(),
                                   std::pair<double, std::string_view>{score, member}, before);
  note(s.first, new_member{static_cast<std::size_t>(at - members.begin())});
  members.insert(at, {score, std::string{member}});
}

void dataset::erase_member(slot& s, std::size_t index) {
  auto& members = std::get<sorted_set_value>(s.second.what).members;
  note(s.first, former_member{index, std::move(members[index])});
  members.erase(place(members, index));
}

bool dataset::drop_if_empty(slot& s) {
  const auto empty = [](const auto& what) {
    using kind = std::decay_t<decltype(what)>;
    if constexpr (std::is_same_v<kind, std::string>)
      return false;
    else if constexpr (std::is_same_v<kind, hash_value>)
      return what.fields.empty();
    else if constexpr (std::is_same_v<kind, list_value>)
      return what.items.empty();
    else
      return what.members.empty();
  };
  if (!std::visit(empty, s.second.what)) return false;
  erase(s);
  return true;
}

std::size_t dataset::writes_that_can_be_lost() const noexcept {
  return history_.empty() ? 0 : static_cast<std::size_t>(writes_ - history_.front().write + 1);
}

std::size_t dataset::lose_last_writes(std::size_t count) {
  count = std::min(count, writes_that_can_be_lost());
  const std::uint64_t until = writes_ - count;
  while (!history_.empty() && history_.back().write > until) {
    take_back(history_.back());
    history_.pop_back();
  }
  writes_ = until;
  return count;
}

void dataset::take_back(change& c) {
  if (std::holds_alternative<nothing>(c.before)) {
    slots_.erase(c.key);
    return;
  }
  if (auto* whole = std::get_if<entry>(&c.before)) {
    slots_[c.key] = std::move(*whole);
    return;
  }
  entry& e = slots_.find(c.key)->second;
  if (const auto* expiry = std::get_if<former_expiry>(&c.before)) {
    e.expires_ms = expiry->expires_ms;
  } else if (auto* text = std::get_if<former_text>(&c.before)) {
    e.what = std::move(text->text);
  } else if (auto* hash = std::get_if<hash_value>(&e.what)) {
    auto& fields = hash->fields;
    if (auto* value = std::get_if<former_value>(&c.before)) {
      fields[value->index].second = std::move(value->value);
    } else if (auto* field = std::get_if<former_field>(&c.before)) {
      fields.insert(place(fields, field->index), std::move(field->field));
    } else {
      fields.pop_back();
    }
  } else {
    auto& members = std::get<sorted_set_value>(e.what).members;
    if (auto* member = std::get_if<former_member>(&c.before)) {
      members.insert(place(members, member->index), std::move(member->member));
    } else {
      members.erase(place(members, std::get<new_member>(c.before).index));
    }
  }
}

std::vector<std::string> dataset::take_touched() {
  std::vector<std::string> names;
  names.reserve(touched_.size());
  while (!touched_.empty()) names.push_back(std::move(touched_.extract(touched_.begin()).value()));
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace holdfast::sim
