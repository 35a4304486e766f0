#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>
#include <zookeeper/zookeeper.h>

#include "stores/zookeeper/link/names.hpp"
#include "stores/zookeeper/link/settings.hpp"
#include "stores/zookeeper/protocol/ensemble_facts.hpp"

namespace holdfast::zookeeper {

/// A session with blocking requests, one at a time. It reads.
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

  struct listing {
    int code = ZOK;
    std::vector<std::string> children;
  };
  // Each throws runtime::connection_error where the session is over, or the time.
  [[nodiscard]] listing list(const std::string& path);
  struct rights {
    int code = ZOK;
    std::vector<ensemble_facts::permission> all;
  };
  [[nodiscard]] rights rights_of(const std::string& path);
  struct content {
    int code = ZOK;
    std::string bytes;
  };
  [[nodiscard]] content get(const std::string& path);

 private:
  /// It has to outlive the session where it was not answered in time: the library answers it at the end.
  template <class Answer>
  struct pending {
    Answer answer;
    bool is_answered = false;
  };
  template <class Answer>
  std::shared_ptr<pending<Answer>> request();
  template <class Answer>
  Answer finish(const std::shared_ptr<pending<Answer>>& r);
  template <class Answer>
  static Answer& answered(const void* data, int code);

  static void on_event(zhandle_t*, int type, int state, const char*, void* context);
  static void on_list(int code, const String_vector* names, const void* data);
  static void on_acl(int code, ACL_vector* acl, Stat*, const void* data);
  static void on_content(int code, const char* bytes, int size, const Stat*, const void* data);

  void run_until(const std::function<bool()>& is_done);

  std::chrono::steady_clock::time_point until_;
  zhandle_t* zk_ = nullptr;
  bool is_connected_ = false;
  bool is_shut_out_ = false;
  std::vector<std::shared_ptr<void>> kept_;
};

}  // namespace holdfast::zookeeper
