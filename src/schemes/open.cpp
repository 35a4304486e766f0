#include <algorithm>
#include <array>
#include <string>

#include "schemes/scheme.hpp"

namespace holdfast::runtime {

namespace {

struct entry {
  std::string_view scheme;
  std::unique_ptr<backend> (*open)(store_url&, const client_options&, loop&);
};

constexpr auto entries = std::to_array<entry>({
    {"memory", schemes::open_memory},
#ifdef HOLDFAST_WITH_SQLITE
    {"sqlite", schemes::open_sqlite},
#endif
#ifdef HOLDFAST_WITH_REDIS
    {"redis", schemes::open_redis},
    {"rediss", schemes::open_redis},
    {"unix", schemes::open_redis},
#endif
});

}  // namespace

std::unique_ptr<backend> open(store_url url, const client_options& options, loop& on) {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const entry& e) { return e.scheme == url.scheme(); });
  if (found != entries.end()) return found->open(url, options, on);
  std::string known;
  for (const entry& e : entries) known.append(known.empty() ? "" : ", ").append(e.scheme).append(":");
  url.refuse("its scheme is not one of " + known);
}

std::vector<std::string_view> known_schemes() {
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const entry& e : entries) names.push_back(e.scheme);
  return names;
}

}  // namespace holdfast::runtime
