// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "serve/shared_text.hpp"
#include <holdfast/boot_clock.hpp>

namespace holdfast::cli {

/// One client's connection, on the thread of the service.
class connection {
 public:
  virtual ~connection() = default;
  connection() = default;
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  /// Ends it now.
  virtual void close() = 0;
  /// Sends the events that have come, if it is a stream that waits for some.
  virtual void wake() = 0;
  /// Since when it waits for its client: for the handshake, for a whole request, or for the end; empty: a
  /// request is being served.
  [[nodiscard]] virtual std::optional<boot_clock::time_point> idle_since() const = 0;
  [[nodiscard]] virtual bool is_stream() const = 0;
  /// Who its client is: the address; of IPv6 the network, since a host may have all addresses of it.
  [[nodiscard]] virtual const std::string& client() const = 0;
  /// The texts of a reply or an event that its client has not taken yet.
  [[nodiscard]] virtual const text_parts& unsent() const = 0;
  /// When it began with them.
  [[nodiscard]] virtual boot_clock::time_point sending_since() const = 0;
};

/// All of them, in a bounded number, and with bounded texts: however slowly their clients read, they keep no
/// more memory than that.
class connection_set {
 public:
  static constexpr std::size_t most = 64;
  static constexpr std::size_t most_streams = 32;
  /// Bytes of large texts that are unsent. One that several connections send counts once.
  static constexpr std::size_t most_bytes = 32 << 20;
  /// Texts up to this size do not count: all of them together are few.
  static constexpr std::size_t small_text = 64 << 10;
  /// Within this time a client may take a text, and keeps its connection, however short memory is.
  static constexpr std::chrono::seconds least_time{10};

  /// Makes room for one more, by ending the one that has waited for its client for the longest. Where none
  /// waits, the one that has been sending a reply for the longest: slow readers must not take all places.
  /// \return whether there is room.
  [[nodiscard]] bool make_room(boot_clock::time_point now);
  /// Makes room for these texts, by ending those connections that have been sending another one for the
  /// longest.
  /// \return whether there is room.
  [[nodiscard]] bool make_room_for(const text_parts& parts, boot_clock::time_point now);
  void add(std::shared_ptr<connection> one) { all_.insert(std::move(one)); }
  void remove(const std::shared_ptr<connection>& one) { all_.erase(one); }
  /// Makes room for one more stream of this client. Where all places are taken, the client with the most
  /// streams loses one to a client that has two less: nobody takes all of them, but for a proxy, whose
  /// readers all have its address. \return whether there is room.
  [[nodiscard]] bool make_room_for_stream(const std::string& client);
  void wake_streams();
  void close_all();

 private:
  struct senders {
    boot_clock::time_point last_began{};
    std::set<std::shared_ptr<connection>> all;
  };
  /// Null: there is none.
  [[nodiscard]] std::shared_ptr<connection> longest_idle() const;
  [[nodiscard]] std::shared_ptr<connection> longest_sending(boot_clock::time_point now) const;
  using texts = std::map<const std::string*, senders>;
  [[nodiscard]] texts large_texts() const;

  std::set<std::shared_ptr<connection>> all_;
};

}  // namespace holdfast::cli
