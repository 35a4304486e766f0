#include "claim.hpp"

#include <charconv>
#include <fmt/core.h>

#include "failure.hpp"
#include <holdfast/counting_semaphore.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/shared_mutex.hpp>

namespace holdfast::cli {

namespace {

lock_options options_of(const claim& wish) {
  lock_options options;
  if (wish.ttl) options.ttl(*wish.ttl);
  if (!wish.label.empty()) options.label(wish.label);
  return options;
}

}  // namespace

std::optional<std::int64_t> positive_number(std::string_view text) {
  std::int64_t number = 0;
  const char* last = text.data() + text.size();
  const auto [end, problem] = std::from_chars(text.data(), last, number);
  if (problem != std::errc{} || end != last || number < 1) return std::nullopt;
  return number;
}

void set_permits(claim& wish, std::string_view text) {
  const auto slash = text.find('/');
  const auto permits = positive_number(text.substr(0, slash));
  const auto capacity = positive_number(slash == text.npos ? "" : text.substr(slash + 1));
  if (!permits || !capacity || *permits > *capacity) {
    throw failure{bad_usage,
                  fmt::format("--permits: '{}' is not N/OF with N from 1 to OF, such as 1/4", text)};
  }
  wish.mode = mode::permits;
  wish.permits = *permits;
  wish.capacity = *capacity;
}

std::optional<lease> acquire(client& locks, const claim& wish) {
  const auto options = options_of(wish);
  switch (wish.mode) {
    case mode::exclusive: {
      mutex lock{locks, wish.name, options};
      return wish.wait ? lock.try_acquire_for(*wish.wait) : lock.acquire();
    }
    case mode::shared: {
      shared_mutex lock{locks, wish.name, options};
      return wish.wait ? lock.try_acquire_shared_for(*wish.wait) : lock.acquire_shared();
    }
    case mode::permits: {
      counting_semaphore lock{locks, wish.name, wish.capacity, options};
      return wish.wait ? lock.try_acquire_permits_for(wish.permits, *wish.wait)
                       : lock.acquire_permits(wish.permits);
    }
  }
  return std::nullopt;
}

}  // namespace holdfast::cli
