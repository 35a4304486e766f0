// SPDX-License-Identifier: Apache-2.0
#include "holdfast/fence.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/fence_file.hpp"
#include "base/annotated_mutex.hpp"
#include "base/name.hpp"
#include "holdfast/error.hpp"
#include "runtime/process.hpp"

namespace holdfast {

namespace {

/// The largest token of each resource, of so many resources at most.
class token_table {
 public:
  explicit token_table(std::size_t most) : most_{most} {
    if (most == 0) throw error{errc::invalid_argument, "a fence has to remember at least one resource"};
  }

  /// Zero if none is known.
  [[nodiscard]] std::uint64_t largest(std::string_view resource) const {
    const auto known = tokens_.find(resource);
    return known == tokens_.end() ? 0 : known->second;
  }
  /// \param token not zero.
  [[nodiscard]] bool admits(std::string_view resource, std::uint64_t token) const {
    const auto known = largest(resource);
    return known != 0 ? token >= known : token > floor_;
  }
  /// \param resource empty: the floor.
  void learn(std::string_view resource, std::uint64_t token) {
    if (resource.empty()) {
      floor_ = std::max(floor_, token);
      return;
    }
    const auto place = tokens_.try_emplace(std::string{resource}, token).first;
    by_token_.erase({place->second, place->first});
    place->second = std::max(place->second, token);
    by_token_.emplace(place->second, place->first);
    if (tokens_.size() > most_) forget_smallest_but(resource);
  }
  /// What makes a table like this one. The order is that of the names, the floor comes first.
  [[nodiscard]] std::vector<fence_record> records() const {
    std::vector<fence_record> all;
    if (floor_ != 0) all.push_back({{}, floor_});
    for (const auto& [resource, token] : tokens_) all.push_back({resource, token});
    return all;
  }
  [[nodiscard]] std::size_t size() const noexcept { return tokens_.size(); }

 private:
  /// A holder that was just admitted writes again, so its entry stays.
  void forget_smallest_but(std::string_view kept) {
    auto place = by_token_.begin();
    if (place->second == kept) ++place;
    const auto [token, resource] = *place;
    by_token_.erase(place);
    floor_ = std::max(floor_, token);
    tokens_.erase(tokens_.find(resource));
  }

  std::size_t most_;
  std::uint64_t floor_ = 0;
  std::map<std::string, std::uint64_t, std::less<>> tokens_;
  std::set<std::pair<std::uint64_t, std::string_view>> by_token_;  // of the same entries
};

}  // namespace

struct fence::state {
  explicit state(std::size_t most) : table{most} {}

  /// \return whether a file is long enough to be rewritten: most of its records are outdated.
  [[nodiscard]] bool is_file_long() const HOLDFAST_REQUIRES(mutex) {
    constexpr std::size_t short_file = 1000;
    return file->size() > std::max(short_file, 4 * table.size());
  }
  void persist(const fence_record& record) HOLDFAST_REQUIRES(mutex) {
    if (!file) return;
    if (file->has_failed() || is_file_long()) {
      auto records = table.records();
      records.push_back(record);
      try {
        file->rewrite(records);
        return;
      } catch (const error&) {
        if (file->has_failed()) throw;
        // The old content is whole: the file may grow.
      }
    }
    file->append(record);
  }
  void require_own_process() const {
    if (runtime::process_generation() != generation)
      throw error{errc::closed, "this process is a fork of the one that made the fence"};
  }

  annotated::mutex mutex;
  token_table table HOLDFAST_GUARDED_BY(mutex);
  std::optional<fence_file> file HOLDFAST_GUARDED_BY(mutex);
  const std::uint32_t generation = runtime::process_generation();
};

fence::fence(std::size_t most) : state_{std::make_unique<state>(most)} {}

fence::fence(const std::filesystem::path& file, duration wait, std::size_t most) : fence{most} {
  const annotated::lock hold{state_->mutex};
  state_->file.emplace(file, wait);
  for (const fence_record& each : state_->file->read()) state_->table.learn(each.resource, each.token);
}

fence::~fence() = default;

bool fence::admit(std::string_view resource, fencing_token token) {
  state_->require_own_process();
  const lock_name name{resource};
  const annotated::lock hold{state_->mutex};
  if (!token || !state_->table.admits(resource, token.value())) return false;
  // Another fence may have admitted newer tokens in a file that replaced this one.
  if (state_->file) state_->file->require_its_name();
  if (token.value() == state_->table.largest(resource)) return true;
  // First the file: a token that is admitted must not be forgotten.
  state_->persist({name.str(), token.value()});
  state_->table.learn(resource, token.value());
  return true;
}

fencing_token fence::largest(std::string_view resource) const {
  state_->require_own_process();
  const annotated::lock hold{state_->mutex};
  return fencing_token{state_->table.largest(resource)};
}

int fence::native_handle() const {
  state_->require_own_process();
  const annotated::lock hold{state_->mutex};
  return state_->file ? state_->file->descriptor() : -1;
}

}  // namespace holdfast
