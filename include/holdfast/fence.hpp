// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string_view>

#include "holdfast/export.hpp"
#include "holdfast/fencing_token.hpp"
#include "holdfast/options.hpp"

namespace holdfast {

/// Refuses holders that act late. It is part of the resource: the service, or the owner of the file, that
/// the lock protects. It keeps the largest fencing token of each resource, and refuses older tokens.
///
/// Clients send the token of their lease with each write, and with each read from which they compute a write.
/// The resource calls `admit()` before it reads or writes. Both have to be one step: hold a mutex of the
/// resource over the call and the access. Otherwise a late holder that was admitted could write after a newer
/// holder, or between its read and its write.
///
/// *Tokens.* All tokens of one resource must come from one name, and all of one fence from one store. Others
/// do not compare.
///
/// *Bounds.* A fence keeps the tokens of `most` resources. If there are more, it forgets the resource with
/// the smallest token, other than the one just admitted. The largest token that it has forgotten is the
/// floor: an unknown resource is admitted with a token above the floor only. A token below the floor is
/// refused although its lease may be held. A store may draw the token when the wait for the lock begins. So
/// `most` has to be larger than the number of resources that are written during the longest wait plus lease.
///
/// *Restart.* A fence in memory forgets everything when its process ends. Afterwards it admits any first
/// token of a resource, also that of a holder that is late. A fence with a file forgets nothing, unless
/// the file is removed or emptied before it is opened again.
///
/// *Threads.* Every function may be called from any thread at any time.
///
/// *fork().* In a child, the member functions throw errc::closed. The child shares the lock of the file. It
/// lasts until the parent releases it, or, if the parent is killed, until the child ends or calls an exec
/// function.
class HOLDFAST_EXPORT fence {
 public:
  /// In memory.
  /// \param most the number of resources that are remembered.
  /// \throws holdfast::error errc::invalid_argument for zero.
  explicit fence(std::size_t most = 65536);
  /// With a file, for this user alone (its mode becomes 0600). It is made if it does not exist; an empty one
  /// counts as new. The file is locked with flock(2) as long as the fence exists, so one process uses it at a
  /// time. It should be on a local file system. While it is rewritten there is a second file beside it, with
  /// the suffix `.new`.
  /// \param wait how long to wait for another fence, of this or another process, that has the file. The wait
  ///        polls, and has no order.
  /// \param most as above.
  /// \throws holdfast::error errc::timeout if another fence still has the file after that time;
  ///         errc::foreign_store for a symbolic link, and for anything that is no file of a fence, which is
  ///         left untouched; errc::corrupt_store for a damaged file, other than a last line that was not
  ///         completed, which is ignored; errc::permission_denied, also for a file of another user;
  ///         errc::exhausted, errc::unavailable; errc::invalid_argument for a `most` of zero.
  explicit fence(const std::filesystem::path& file, duration wait = duration::zero(),
                 std::size_t most = 65536);
  /// Releases the file, also if a child process has inherited its descriptor.
  ~fence();
  fence(const fence&) = delete;
  fence& operator=(const fence&) = delete;

  /// Admits a token that is not older than the largest one of the resource, and remembers it. An equal token
  /// is admitted: its holder writes again. With a file, a new largest token is on the disk before the call
  /// returns (fdatasync), and an equal one is not written again.
  /// \param resource 1 to 512 bytes of UTF-8 without control characters, as a lock's name.
  /// \return false if the token is older, if it is zero, or if the resource is unknown and the token is not
  ///         above the floor. The caller must not write then.
  /// \throws holdfast::error errc::invalid_name; errc::exhausted, errc::permission_denied or
  ///         errc::unavailable if the file cannot be written; errc::unavailable if it was removed or
  ///         replaced. The token is not admitted then; the next call tries again.
  [[nodiscard]] bool admit(std::string_view resource, fencing_token token);
  /// The largest token of the resource that was admitted; zero if none is remembered.
  [[nodiscard]] fencing_token largest(std::string_view resource) const;
  /// The descriptor of the locked file; negative in memory. It is close-on-exec. A child process that
  /// inherits it without that flag keeps the file locked if this process is killed: until the child, and
  /// whatever has it from the child, has closed it. `admit()` may replace the descriptor.
  [[nodiscard]] int native_handle() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace holdfast
