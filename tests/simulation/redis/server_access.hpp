// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "simulation/redis/redis_model.hpp"

namespace holdfast::sim {

/// What commands about the server itself do to it.
struct server_access {
  [[nodiscard]] static const redis_model::settings& settings(const call& c) { return c.server.settings_; }
  [[nodiscard]] static const redis_model::identity& identity(const call& c) { return c.server.identity_; }
  [[nodiscard]] static std::int64_t now_us(const call& c) { return c.server.now_us_; }
  [[nodiscard]] static std::int64_t publish(call& c, std::string_view channel, std::string_view message);
  static void subscribe(call& c, std::string_view channel);

  /// \return null, and the error as reply, for a text that is no Lua.
  static const interpreter::script* load(call& c, std::string_view text);
  [[nodiscard]] static const interpreter::script* script(const call& c, std::string_view sha);
  static void run(call& c, const interpreter::script& script, std::size_t keys);
};

}  // namespace holdfast::sim
