// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/owner_id.hpp"
#include "core/notification.hpp"
#include "runtime/event_loop.hpp"

namespace holdfast::sqlite {

/// How the clients of a database wake one another: each has a FIFO of its own in the folder
/// `<database>-wake`, named after the client. The client that grants a claim writes a notification to the
/// FIFO of the claim's client after the commit; no other client wakes up. A lost notification delays its
/// reader; no lock is lost. docs/adr/0003-wake-up-by-fifo.md says why it is not a watch on the -wal file.
class mailbox {
 public:
  using on_notifications = std::function<void(const std::vector<store::notification>&)>;

  /// \param read called on the loop's thread, without the core lock.
  /// Without a FIFO (on a file system that has none, say) the mailbox works, but receives nothing.
  mailbox(runtime::event_loop& on, std::string database, on_notifications read);
  ~mailbox();
  mailbox(const mailbox&) = delete;
  mailbox& operator=(const mailbox&) = delete;

  /// Begins to receive; before that, nothing is made. Once: whether it succeeds or not.
  void open();
  /// The name of this client's FIFO.
  [[nodiscard]] const owner_id& address() const noexcept { return address_; }
  /// Never blocks. The FIFO of a client of this user that is gone is removed on the way.
  void send(const owner_id& to, const std::vector<store::notification>& notifications) noexcept;
  /// Nothing is received from now on, and the FIFO is removed. Idempotent.
  void close() noexcept;

 private:
  void make();
  void receive();
  void remove_dead();

  runtime::event_loop& loop_;
  const std::string database_;
  bool begun_ = false;
  owner_id address_ = owner_id::random();
  int folder_ = -1;
  int in_ = -1;
  on_notifications read_;
  std::shared_ptr<void> listening_;
};

}  // namespace holdfast::sqlite
