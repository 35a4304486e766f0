#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/owner_id.hpp"
#include "runtime/event_loop.hpp"

namespace holdfast::sqlite {

/// A word for a claim: that it is granted, or, with its token negative, that it was ended by somebody else.
struct letter {
  owner_id owner;
  std::int64_t token = 0;
};

/// How the clients of a database wake one another: each has a FIFO of its own in the folder
/// `<database>-wake`, named after it. Whoever grants a claim sends its client a letter after the commit; no
/// other client stirs. A lost letter delays its reader; the lock is not lost. Why not a watch on the
/// -wal file: docs/adr/0003-wake-up-by-fifo.md.
class mailbox {
 public:
  using on_letters = std::function<void(const std::vector<letter>&)>;

  /// \param read called on the loop's thread, without the core lock.
  /// Without a FIFO (on a file system that has none, say) the mailbox works all the same, but nothing comes.
  mailbox(runtime::event_loop& on, std::string database, on_letters read);
  ~mailbox();
  mailbox(const mailbox&) = delete;
  mailbox& operator=(const mailbox&) = delete;

  /// Begins to take letters; before that, nothing is made. Once: whether it succeeds or not.
  void open();
  /// The name under which letters find this client.
  [[nodiscard]] const owner_id& address() const noexcept { return address_; }
  /// Never blocks. The FIFO of a client of this user that is gone is removed on the way.
  void send(const owner_id& to, const std::vector<letter>& letters) noexcept;
  /// No letter is read any more, and none finds this client. Idempotent.
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
  on_letters read_;
  std::shared_ptr<void> listening_;
};

}  // namespace holdfast::sqlite
