// SPDX-License-Identifier: Apache-2.0
#include "stores/zookeeper/link/names.hpp"

#include <array>
#include <netdb.h>
#include <sys/socket.h>
#include <utility>

#include "runtime/signals.hpp"

namespace holdfast::zookeeper {

std::shared_ptr<name_lookup> name_lookup::begin(const std::vector<settings::server>& servers) {
  auto made = std::make_shared<name_lookup>();
  outcome plain = ask(servers, AI_NUMERICHOST);
  const auto* found = std::get_if<addresses>(&plain);
  if (found != nullptr && found->size() >= servers.size()) {
    const annotated::lock held{made->mutex_};
    made->outcome_ = std::move(plain);
    return made;
  }
  runtime::quiet_thread([made, servers] {
    outcome o = ask(servers, AI_ADDRCONFIG);
    const annotated::lock held{made->mutex_};
    if (!made->outcome_) made->outcome_ = std::move(o);
    made->changed_.notify_all();
  }).detach();
  return made;
}

name_lookup::outcome name_lookup::wait(std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  const annotated::lock held{mutex_};
  while (!outcome_ && changed_.wait_until(mutex_, end) == std::cv_status::no_timeout) {
  }
  if (!outcome_)
    return failure{errc::unavailable, "looking up the servers' names took too long; check the DNS"};
  return *outcome_;
}

void name_lookup::cancel() {
  const annotated::lock held{mutex_};
  if (!outcome_) outcome_ = failure{errc::closed, "the client was closed"};
  changed_.notify_all();
}

name_lookup::outcome name_lookup::ask(const std::vector<settings::server>& servers, int flags) {
  addresses all;
  std::string problems;
  for (const settings::server& each : servers) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags;
    addrinfo* found = nullptr;
    const int problem = ::getaddrinfo(each.host.c_str(), each.port.c_str(), &hints, &found);
    if (problem != 0) {
      problems.append(problems.empty() ? "" : ", ")
          .append(each.host)
          .append(": ")
          .append(::gai_strerror(problem));
      continue;
    }
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner{found, &::freeaddrinfo};
    for (const addrinfo* a = found; a != nullptr; a = a->ai_next) {
      std::array<char, NI_MAXHOST> host{};
      if (::getnameinfo(a->ai_addr, a->ai_addrlen, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0)
        continue;
      // The library splits the address from the port at the last colon, so IPv6 addresses need no brackets.
      all.push_back(std::string{host.data()} + ':' + each.port);
    }
  }
  if (all.empty()) return failure{errc::unavailable, "no server's name can be resolved (" + problems + ")"};
  return all;
}

}  // namespace holdfast::zookeeper
