#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>
#include <zookeeper/zookeeper.h>

#include "stores/zookeeper/link/names.hpp"
#include "stores/zookeeper/link/settings.hpp"

namespace holdfast::zookeeper {

/// A session that asks for rights, and for nothing else. It blocks.
class session_reader {
 public:
  /// \param limit for the session and all its requests together.
  /// \throws runtime::connection_error.
  session_reader(const settings& of, const addresses& at, std::chrono::milliseconds limit);
  /// Ends the session.
  ~session_reader();
  session_reader(const session_reader&) = delete;
  session_reader& operator=(const session_reader&) = delete;

  /// That the servers have granted.
  [[nodiscard]] std::chrono::milliseconds timeout() const;

  struct permission {
    int may = 0;  // of ZOO_PERM_READ, ZOO_PERM_CREATE ...
    std::string scheme;
    std::string id;
  };
  struct rights {
    int code = ZOK;
    std::vector<permission> all;
  };
  /// \throws runtime::connection_error if the session is over, or the time.
  [[nodiscard]] rights rights_of(const std::string& path);

 private:
  struct pending {
    rights answer;
    bool is_answered = false;
  };
  static void on_event(zhandle_t*, int type, int state, const char*, void* context);
  static void on_acl(int code, ACL_vector* acl, Stat*, const void* data);
  /// Until the flag is set.
  void run_until(const bool& is_done);

  std::chrono::steady_clock::time_point until_;
  zhandle_t* zk_ = nullptr;
  bool is_connected_ = false;
  bool is_shut_out_ = false;
  /// The last request. It has to outlive the session if it was not answered in time: the library answers it
  /// at the end.
  std::unique_ptr<pending> request_;
};

}  // namespace holdfast::zookeeper
