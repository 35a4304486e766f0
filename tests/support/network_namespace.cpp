// SPDX-License-Identifier: Apache-2.0
#include "support/network_namespace.hpp"

#include <chrono>
#include <stdexcept>
#include <unistd.h>

#include "support/child_process.hpp"

namespace holdfast::test {

namespace {

bool succeeds(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "ip");
  return child_process{arguments, {}}.wait(std::chrono::seconds{30}) == 0;
}

void run(const std::vector<std::string>& arguments) {
  if (succeeds(arguments)) return;
  std::string all = "ip";
  for (const auto& each : arguments) all.append(" ").append(each);
  throw std::runtime_error{"this fails: " + all};
}

}  // namespace

std::optional<std::string> network_namespace::problem() {
  try {
    const network_namespace tried;
    return std::nullopt;
  } catch (const std::exception& failed) {
    return std::string{"no network namespaces here: "} + failed.what();
  }
}

network_namespace::network_namespace() {
  static int last = 0;
  // Of the addresses for measurements, four to a line, another line for each process.
  constexpr int lines = 1 << 14;
  const int line = (::getpid() * 2 + ++last % 2) % lines;
  const std::string net = "198.18." + std::to_string(line / 64) + '.';
  outside_ = net + std::to_string(line % 64 * 4 + 1);
  inside_ = net + std::to_string(line % 64 * 4 + 2);
  const std::string number = std::to_string(::getpid()) + '-' + std::to_string(last);
  name_ = "holdfast-" + number;
  line_ = "hf" + number;
  run({"netns", "add", name_});
  try {
    run({"link", "add", line_, "type", "veth", "peer", "name", "eth0", "netns", name_});
    run({"address", "add", outside_ + "/30", "dev", line_});
    run({"link", "set", line_, "up"});
    run({"-n", name_, "address", "add", inside_ + "/30", "dev", "eth0"});
    run({"-n", name_, "link", "set", "eth0", "up"});
    run({"-n", name_, "link", "set", "lo", "up"});
  } catch (...) {
    succeeds({"netns", "delete", name_});
    throw;
  }
}

network_namespace::~network_namespace() {
  try {
    succeeds({"link", "delete", line_});  // and its other end; what still runs inside keeps the rest alive
    succeeds({"netns", "delete", name_});
  } catch (const std::exception&) {  // nothing can be started: then there is more amiss than what stays here
  }
}

void network_namespace::cut() {
  // Either end sends to a card that nobody has.
  const std::vector<std::string> nobody{"lladdr", "02:00:00:00:00:01", "nud", "permanent"};
  std::vector<std::string> ours{"neighbour", "replace", inside_, "dev", line_};
  std::vector<std::string> theirs{"-n", name_, "neighbour", "replace", outside_, "dev", "eth0"};
  ours.insert(ours.end(), nobody.begin(), nobody.end());
  theirs.insert(theirs.end(), nobody.begin(), nobody.end());
  run(ours);
  run(theirs);
}

void network_namespace::heal() {
  run({"neighbour", "delete", inside_, "dev", line_});
  run({"-n", name_, "neighbour", "delete", outside_, "dev", "eth0"});
}

}  // namespace holdfast::test
