// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cli/fixture.hpp"
#include "http.hpp"

namespace holdfast::test {

/// A test of `holdfast serve`, driven over its sockets.
class serve_test : public command_test {
 protected:
  /// Starts it on a free port, and waits until it listens.
  void serve(const strings& options = {}, const process::settings& settings = {});
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string authority() const { return "127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] process& server() { return *server_; }

  /// One request on a connection of its own. \param headers whole lines, each with its CRLF.
  [[nodiscard]] http_reply ask(const std::string& method, const std::string& target,
                               const std::string& headers = {}, const std::string& body = {}) const;
  [[nodiscard]] http_reply get(const std::string& target, const std::string& headers = {}) const {
    return ask("GET", target, headers);
  }
  [[nodiscard]] json get_json(const std::string& target) const;
  /// The value of a series of /metrics, such as `holdfast_locks_held{prefix="jobs"}`; empty: there is none.
  [[nodiscard]] std::optional<double> metric(const std::string& name, const std::string& prefix) const;
  /// What /api/locks says of a name; null: nothing.
  [[nodiscard]] json listed(const std::string& name) const;
  /// Opens the stream of events. \param receive_buffer see connection.
  [[nodiscard]] connection open_stream(int receive_buffer = 0) const;

 private:
  std::unique_ptr<process> server_;
  std::uint16_t port_ = 0;
};

}  // namespace holdfast::test
