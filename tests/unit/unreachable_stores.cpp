// SPDX-License-Identifier: Apache-2.0
// A store whose network swallows packets: no connection is made, and none fails. A limit that is shorter than
// that of the connection ends while nothing was sent.

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#include "stores/open.hpp"
#include "support/failing.hpp"
#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// A port on the loopback that drops what comes: the queue of its listener is full, and nobody takes
/// connections out of it.
class swallowing_port {
 public:
  swallowing_port() {
    const int listener = add_socket();
    ::sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    auto* const place = reinterpret_cast<::sockaddr*>(&address);
    ::socklen_t size = sizeof address;
    if (::bind(listener, place, size) != 0 || ::listen(listener, 0) != 0 ||
        ::getsockname(listener, place, &size) != 0)
      throw std::system_error{errno, std::generic_category()};
    port_ = ::ntohs(address.sin_port);
    // The kernel takes as many as there is room for, each at once.
    while (::connect(add_socket(), place, size) == 0 || has_come()) {
    }
  }
  ~swallowing_port() {
    for (const int each : sockets_) ::close(each);
  }
  swallowing_port(const swallowing_port&) = delete;
  swallowing_port& operator=(const swallowing_port&) = delete;

  [[nodiscard]] std::string place() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  int add_socket() {
    sockets_.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    return sockets_.back();
  }
  /// Whether the last connection is made: on the loopback that is so at once, or not at all.
  [[nodiscard]] bool has_come() const {
    ::sockaddr_in peer{};
    ::socklen_t size = sizeof peer;
    return ::getpeername(sockets_.back(), reinterpret_cast<::sockaddr*>(&peer), &size) == 0;
  }

  std::vector<int> sockets_;
  std::uint16_t port_ = 0;
};

struct unreachable {
  const char* scheme;
  const char* before;  // the places of its servers
  const char* behind;
  std::size_t servers = 1;
  const char* reason = ": no connection within ";
};

class unreachable_stores : public testing::TestWithParam<unreachable> {
 protected:
  void SetUp() override {
    const auto known = stores::known_schemes();
    if (std::find(known.begin(), known.end(), GetParam().scheme) == known.end()) GTEST_SKIP() << "not built";
  }
  [[nodiscard]] std::string url() const {
    std::string all;
    for (std::size_t i = 0; i < GetParam().servers; ++i) all += (i == 0 ? "" : ",") + ports_.at(i).place();
    return std::string{GetParam().scheme} + "://" + GetParam().before + all + GetParam().behind;
  }
  template <class Call>
  void expect_unavailable(Call call) const {
    const auto failed = test::failure_of(call);
    EXPECT_EQ(failed.code, errc::unavailable) << failed.text;
    EXPECT_THAT(failed.text, HasSubstr(ports_[0].place()));
    EXPECT_THAT(failed.text, HasSubstr(GetParam().reason));
    EXPECT_THAT(failed.text, Not(HasSubstr("hunter2")));
  }

  std::array<swallowing_port, 3> ports_;
};

TEST_P(unreachable_stores, have_surely_not_granted_a_claim) {
  client locks{url()};
  expect_unavailable([&] { return mutex{locks, "stock"}.try_acquire_for(300ms); });
  expect_unavailable([&] { return mutex{locks, "stock"}.try_lock_for(50ms); });
  mutex limited{locks, "stock", lock_options{}.wait_limit(50ms)};
  expect_unavailable([&] { limited.lock(); });
}

TEST_P(unreachable_stores, have_surely_not_carried_out_a_request_to_release) {
  client locks{url(), client_options{}.locks(lock_options{}.retry(retry_policy{}.limit(300ms)))};
  expect_unavailable([&] { return locks.request_release("stock", "a deployment"); });
  expect_unavailable([&] { return locks.force_release("stock"); });
}

INSTANTIATE_TEST_SUITE_P(of, unreachable_stores,
                         testing::Values(unreachable{"redis", "user:hunter2@", "/0"},
                                         unreachable{"redis+sentinel", "", "/primary"},
                                         unreachable{"redis+cluster", "user:hunter2@", "", 3},
                                         unreachable{"redlock", "", "", 3, "servers do not answer"},
                                         unreachable{"zk", "", ""},
                                         unreachable{"postgresql", "user:hunter2@", "/locks"},
                                         unreachable{"mysql", "user:hunter2@", "/locks"}),
                         [](const auto& each) {
                           std::string name{each.param.scheme};
                           std::replace(name.begin(), name.end(), '+', '_');
                           return name;
                         });

}  // namespace
}  // namespace holdfast
