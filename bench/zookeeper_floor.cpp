// SPDX-License-Identifier: Apache-2.0
// The floors under `holdfast bench` on ZooKeeper: what the same work costs through the C client alone.
//
//     zookeeper_floor HOST:PORT pair      [COUNT]   create and list, sent together; then delete; all awaited
//     zookeeper_floor HOST:PORT unawaited [COUNT]   the same, but the delete is only sent
//     zookeeper_floor HOST:PORT hop       [COUNT]   from delete in one process to the watch event in another
//
// Prints one JSON object.

#include <chrono>
#include <cstdlib>
#include <poll.h>
#include <string>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

#include "floor.hpp"

namespace {

constexpr const char* store = "C client";
constexpr const char* parent = "/holdfast-floor";

/// The single-threaded client, driven by whoever waits for something.
class session {
 public:
  explicit session(const std::string& where)
      : zk_{::zookeeper_init(where.c_str(), noted, 30'000, nullptr, this, 0)} {
    if (zk_ == nullptr) give_up(where + " is no HOST:PORT");
    const auto deadline = clock_type::now() + std::chrono::seconds{10};
    while (::zoo_state(zk_) != ZOO_CONNECTED_STATE) {
      if (clock_type::now() > deadline) give_up("no ZooKeeper at " + where);
      turn();
    }
    create(parent, 0);
    await_replies();
  }
  ~session() { ::zookeeper_close(zk_); }
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  // Each sends at once; its reply is counted when it comes.

  void create(const std::string& path, int flags) {
    sent(::zoo_acreate(zk_, path.c_str(), "", 0, &ZOO_OPEN_ACL_UNSAFE, flags, created, this));
  }
  void list() { sent(::zoo_aget_children(zk_, parent, 0, listed, this)); }
  void erase(const std::string& path) { sent(::zoo_adelete(zk_, path.c_str(), -1, erased, this)); }
  void watch(const std::string& path) {
    event_ = false;
    sent(::zoo_awexists(zk_, path.c_str(), noted, this, looked, this));
  }

  void await_replies(int left = 0) {
    while (awaited_ > left) turn();
  }
  void await_event() {
    while (!event_) turn();
  }
  /// Of what was created last; its sequence number included.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  void turn() {
    int fd = -1;
    int interest = 0;
    ::timeval limit{};
    ::zookeeper_interest(zk_, &fd, &interest, &limit);
    ::pollfd ready{fd, 0, 0};
    if ((interest & ZOOKEEPER_READ) != 0) ready.events |= POLLIN;
    if ((interest & ZOOKEEPER_WRITE) != 0) ready.events |= POLLOUT;
    ::poll(&ready, 1, static_cast<int>(limit.tv_sec * 1'000 + limit.tv_usec / 1'000));
    int events = 0;
    if ((ready.revents & (POLLIN | POLLERR | POLLHUP)) != 0) events |= ZOOKEEPER_READ;
    if ((ready.revents & POLLOUT) != 0) events |= ZOOKEEPER_WRITE;
    ::zookeeper_process(zk_, events);
  }

  void sent(int problem) {
    check(problem);
    ++awaited_;
  }
  static void check(int problem) {
    if (problem != ZOK) give_up(::zerror(problem));
  }
  static session& replied(const void* self, int problem) {
    if (problem != ZNODEEXISTS) check(problem);  // the parent, from before
    auto& its = *static_cast<session*>(const_cast<void*>(self));
    --its.awaited_;
    return its;
  }

  static void created(int problem, const char* path, const void* self) {
    replied(self, problem).path_ = path != nullptr ? path : "";
  }
  static void listed(int problem, const ::String_vector*, const void* self) { replied(self, problem); }
  static void erased(int problem, const void* self) { replied(self, problem); }
  static void looked(int problem, const ::Stat*, const void* self) { replied(self, problem); }
  static void noted(::zhandle_t*, int type, int, const char*, void* self) {
    if (type == ZOO_DELETED_EVENT) static_cast<session*>(self)->event_ = true;
  }

  ::zhandle_t* zk_;
  int awaited_ = 0;
  bool event_ = false;
  std::string path_;
};

void pair(const std::string& where, const std::string& scenario, long count) {
  session zk{where};
  const std::string prefix = std::string{parent} + "/_c_01234567-89ab-cdef-0123-456789abcdef-lock-";
  const int left_to_answer = scenario == "unawaited" ? 1 : 0;
  const auto one_pair = [&] {
    zk.create(prefix, ZOO_EPHEMERAL_SEQUENTIAL);
    zk.list();
    zk.await_replies();  // of the delete before, too, which the server answers first
    zk.erase(zk.path());
    zk.await_replies(left_to_answer);
  };
  const auto pairs = measure_pairs(1000, count, one_pair);
  zk.await_replies();
  print(scenario, store, pairs);
}

/// What two processes tell each other beside the store: whose turn it is, and when the delete was sent.
class table {
 public:
  table() {
    void* shared = ::mmap(nullptr, sizeof(clock_type::time_point), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || ::pipe(to_watcher_) != 0 || ::pipe(to_deleter_) != 0) give_up("no pipe");
    sent_at = static_cast<clock_type::time_point*>(shared);
  }

  void tell_watcher() const { tell(to_watcher_[1]); }
  void tell_deleter() const { tell(to_deleter_[1]); }
  void hear_deleter() const { hear(to_watcher_[0]); }
  void hear_watcher() const { hear(to_deleter_[0]); }

  clock_type::time_point* sent_at;

 private:
  static void tell(int pipe) {
    if (::write(pipe, "", 1) != 1) give_up("the other process is gone");
  }
  static void hear(int pipe) {
    char byte = 0;
    if (::read(pipe, &byte, 1) != 1) give_up("the other process is gone");
  }

  int to_watcher_[2];
  int to_deleter_[2];
};

void hop(const std::string& where, long count) {
  constexpr long warm_up = 500;
  const std::string node = std::string{parent} + "/hop";
  const table between;
  const pid_t deleter = second_process();
  if (deleter == 0) {
    session zk{where};
    for (long i = 0; i < warm_up + count; ++i) {
      zk.create(node, ZOO_EPHEMERAL);
      zk.await_replies();
      between.tell_watcher();
      between.hear_watcher();
      *between.sent_at = clock_type::now();
      zk.erase(node);
      zk.await_replies();
      between.hear_watcher();
    }
    std::_Exit(0);
  }
  session zk{where};
  const auto hops = measure_hops(warm_up, count, [&] {
    between.hear_deleter();
    zk.watch(node);
    zk.await_replies();
    between.tell_deleter();
    zk.await_event();
    const double took_us = us_since(*between.sent_at);
    between.tell_deleter();
    return took_us;
  });
  ::waitpid(deleter, nullptr, 0);
  print("hop", store, hops);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string scenario = argument(argc, argv, 2);
  const long count = number(argc, argv, 3, 20000);
  ::zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
  if (count >= 1 && (scenario == "pair" || scenario == "unawaited")) {
    pair(argv[1], scenario, count);
  } else if (count >= 1 && scenario == "hop") {
    hop(argv[1], count);
  } else {
    return usage("HOST:PORT pair|unawaited|hop [COUNT]");
  }
  return 0;
}
