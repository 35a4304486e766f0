// SPDX-License-Identifier: Apache-2.0
// A logger: one observer of a client writes a line for each event. Names, labels and what a server says are
// quoted: they may contain any text.

#include <chrono>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>

#include <holdfast/holdfast.hpp>

namespace {

/// In quotes, and without control characters: nobody can forge a field, or a line.
std::string quoted(const std::string& text) {
  std::ostringstream out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out << '\\' << c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      out << "\\x" << std::hex << std::setw(2) << std::setfill('0') << int{byte};
    } else {
      out << c;
    }
  }
  return '"' + out.str() + '"';
}

void log(const holdfast::event& e) {
  std::ostringstream line;
  line << std::chrono::system_clock::now().time_since_epoch() / std::chrono::milliseconds{1} << ' '
       << to_string(e.kind);
  if (!e.name.empty()) line << " name=" << quoted(e.name) << " mode=" << to_string(e.mode);
  if (e.token) line << " token=" << e.token.value();
  if (!e.label.empty()) line << " label=" << quoted(e.label);
  if (e.elapsed != holdfast::duration{}) line << " us=" << e.elapsed.count();
  if (e.code) line << " code=" << quoted(e.code.message());
  if (!e.text.empty()) line << " text=" << quoted(e.text);
  if (e.dropped != 0) line << " dropped_before=" << e.dropped;
  std::clog << line.str() + '\n';
}

}  // namespace

int main() {
  try {
    holdfast::client locks{holdfast::default_store(), holdfast::client_options{}.observer(log)};
    holdfast::mutex stock{locks, "stock/sku-42", holdfast::lock_options{}.label("inventory")};
    auto hold = stock.acquire();
    if (const auto problem = hold.release()) std::cerr << problem.message() << '\n';
    locks.close();  // afterwards the observer is not called any more
    return locks.statistics().released == 1 ? 0 : 1;
  } catch (const holdfast::error& problem) {
    std::cerr << problem.what() << '\n';
    return 1;
  }
}
