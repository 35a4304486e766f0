// SPDX-License-Identifier: Apache-2.0
// A client that is told, line by line, what to lock: for benches that kill its servers. With Redis only.
//
//     lock_actor URL TTL_MS
//
// take NAME: acquires and holds it, however long it takes. try NAME: tries once. drop NAME: releases it.
// Prints "ready", and then of each name, with the time in ns of the clock that all processes share:
//
//     granted NAME NS | refused NAME NS ERROR | trouble NAME NS ERROR | lost NAME NS REASON | dropped NAME NS
//
// "trouble": the call failed, and is repeated. The drivers in bench/libraries take and print the same lines.

#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>

#include "floor.hpp"
#include <holdfast/holdfast.hpp>

namespace {

using namespace std::chrono_literals;

void say(std::string_view event, const std::string& name, std::string_view more = {}) {
  static std::mutex one_line;
  const std::lock_guard lock{one_line};
  std::cout << event << ' ' << name << ' ' << now_ns() << ' ' << more << std::endl;
}

/// As a program would: what takes longer than the retry limit is tried again.
holdfast::lease take(holdfast::mutex& lock, const std::string& name) {
  while (true) {
    try {
      return lock.acquire();
    } catch (const holdfast::error& problem) {
      say("trouble", name, problem.what());
      std::this_thread::sleep_for(20ms);
    }
  }
}

std::optional<holdfast::lease> try_once(holdfast::mutex& lock, const std::string& name) {
  try {
    auto granted = lock.try_acquire();
    if (!granted) say("refused", name, "held");
    return granted;
  } catch (const holdfast::error& problem) {
    say("refused", name, problem.what());
    return std::nullopt;
  }
}

void hold(holdfast::client& locks, const std::string& name, bool once, std::binary_semaphore& dropped) {
  holdfast::mutex lock{locks, name};
  auto lease = once ? try_once(lock, name) : take(lock, name);
  if (!lease) return;
  say("granted", name);
  lease->on_lost([name](std::error_code reason) { say("lost", name, reason.message()); });
  dropped.acquire();
  const auto problem = lease->release();
  say("dropped", name, problem ? problem.message() : "");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return usage("URL TTL_MS");
  holdfast::client locks{argv[1], holdfast::client_options{}.locks(holdfast::lock_options{}.ttl(
                                      std::chrono::milliseconds{number(argc, argv, 2, 0)}))};
  // Connected, and the guard of a server that has just started is over.
  holdfast::mutex first{locks, "first-" + std::to_string(::getpid())};
  first.lock();
  first.unlock();
  std::cout << "ready" << std::endl;
  std::map<std::string, std::shared_ptr<std::binary_semaphore>> held;
  for (std::string verb, name; std::cin >> verb >> name;) {
    if (verb == "drop") {
      held.at(name)->release();
      continue;
    }
    const auto dropped = held[name] = std::make_shared<std::binary_semaphore>(0);
    std::thread{[&locks, name, dropped, once = verb == "try"] {
      hold(locks, name, once, *dropped);
    }}.detach();
  }
  std::_Exit(0);  // the threads' holds end with their ttl
}
