#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/owner_id.hpp"
#include "core/machine.hpp"
#include "core/notification.hpp"
#include "runtime/io_deadline.hpp"
#include "stores/sql/protocol/call.hpp"

namespace holdfast::sql {

/// What a call gave: its rows, or why the server would not.
using answer = std::variant<std::vector<row>, store::trouble>;

/// A connection to a database server that is ready for calls. Used by one thread at a time, though not
/// always by the same. Everything may throw runtime::connection_error: the connection is over then, and what
/// it owed may have been carried out.
class connection {
 public:
  /// \param client whose it is: notifications for it come here; where claims end with their session, this
  /// session alone.
  explicit connection(const owner_id& client) : client_{client} {}
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;
  virtual ~connection() = default;

  [[nodiscard]] const owner_id& client() const { return client_; }
  /// Whether the store has no tables yet, as far as this session knows: then a call of a routine that is not
  /// there is answered with no rows. Nothing can be claimed.
  [[nodiscard]] bool is_bare() const { return bare_; }
  void expect_nothing() { bare_ = true; }
  [[nodiscard]] virtual int descriptor() const = 0;
  /// What it waits for, as poll's events. Also without a call under way it hears what the server says.
  [[nodiscard]] virtual short events() const = 0;
  /// How many calls may be under way at once.
  [[nodiscard]] virtual std::size_t depth() const = 0;
  /// Begins a call; does not block.
  virtual void send(const call& request) = 0;
  /// Goes on as far as it can without blocking. \return what has been answered, in the order of sending.
  [[nodiscard]] virtual std::vector<answer> proceed() = 0;
  /// Takes out the notifications for this client that came meanwhile.
  [[nodiscard]] virtual std::vector<store::notification> take_notifications() { return {}; }
  /// Why nothing more should be sent, though what was sent is still answered.
  [[nodiscard]] virtual std::optional<runtime::connection_error> ended() const { return std::nullopt; }

  /// The call after which the server tells of every change, or no longer; none where it cannot.
  [[nodiscard]] virtual std::optional<call> tracking(bool /*on*/) const { return std::nullopt; }
  /// How long the server does so, unless it is called again; zero: as long as the session lasts.
  [[nodiscard]] virtual duration tracking_lasts() const { return duration::zero(); }
  /// How many names at a time are listed, so that no listing holds up renewals; zero: the server lists all at
  /// once.
  [[nodiscard]] virtual std::int64_t page_size() const { return 0; }
  /// Whether it has told of one since it was asked last.
  [[nodiscard]] virtual bool take_change() { return false; }

 private:
  owner_id client_;
  bool bare_ = false;
};

/// Whether tables and routines that are not there are made. Who only looks makes none.
enum class provision : std::uint8_t { none, tables };

/// Makes a connection. Blocks, within the link's limits.
/// \param client whose it is to be.
/// \param former whose connections are ended at the server first; the same, but where each has an id of its
/// own.
/// \param make with `none`, where there are no tables, the connection is bare.
/// \param stop an eventfd: gives up as soon as it can be read.
/// \throws runtime::connection_error.
using dialler = std::function<std::unique_ptr<connection>(
    const owner_id& client, const std::optional<owner_id>& former, provision make, int stop)>;

}  // namespace holdfast::sql
