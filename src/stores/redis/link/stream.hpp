// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/io_deadline.hpp"
#include "stores/redis/link/settings.hpp"
#include "stores/redis/protocol/resp.hpp"
#include "stores/redis/protocol/server_address.hpp"

struct ssl_ctx_st;

namespace holdfast::redis {

using runtime::connection_error;

/// Bytes to a server and back, without blocking. One thread may read while another writes.
class stream {
 public:
  stream() = default;
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;
  virtual ~stream() = default;

  /// \return how many bytes came; zero: none now. \throws connection_error.
  [[nodiscard]] virtual std::size_t read_some(char* to, std::size_t room) = 0;
  /// \return how many bytes went; fewer than given: no more now. \throws connection_error.
  [[nodiscard]] virtual std::size_t write_some(std::string_view bytes) = 0;
  [[nodiscard]] virtual int descriptor() const = 0;
  /// Whether reading waits until the descriptor can be written (TLS negotiates).
  [[nodiscard]] virtual bool reading_wants_to_write() const { return false; }
  /// Whether bytes can be read of which the descriptor says nothing (TLS decrypts a whole record at once).
  [[nodiscard]] virtual bool has_buffered() const { return false; }
};

/// The TLS settings that all connections of a client share.
class tls_context {
 public:
  /// \throws holdfast::error errc::invalid_url where a file is missing or unreadable.
  explicit tls_context(const settings& s);
  ~tls_context();
  tls_context(const tls_context&) = delete;
  tls_context& operator=(const tls_context&) = delete;

  /// Shakes hands over a connected, non-blocking socket, which it takes over.
  /// \param host whose name the certificate has to bear, unless the settings have another.
  /// \param wait waits for poll's events on the socket; may give up by throwing. \throws connection_error.
  [[nodiscard]] std::unique_ptr<stream> open(int socket, const std::string& host,
                                             const std::function<void(short events)>& wait) const;

 private:
  ssl_ctx_st* context_;
  std::string name_;
  bool verify_;
};

/// Connects to a server, over TCP or a Unix socket, and begins TLS. Blocks.
/// \param secure null: no TLS. \throws connection_error.
[[nodiscard]] std::unique_ptr<stream> connect_stream(const server_address& to, const tls_context* secure,
                                                     runtime::io_deadline& limit);

/// The client's address as the server sees it; empty for Unix sockets, which have none.
/// \param client_info the reply to CLIENT INFO, if the server has the command (6.2) and the user may call it:
/// a proxy may be in between.
[[nodiscard]] std::string own_address(const value& client_info, int socket);

}  // namespace holdfast::redis
