// A logger: one observer of a client writes a line for each event.

#include <iostream>
#include <string>

#include <holdfast/holdfast.hpp>

namespace {

void log(const holdfast::event& e) {
  std::string line{to_string(e.kind)};
  if (!e.name.empty()) line += " name=" + e.name + " mode=" + std::string{to_string(e.mode)};
  if (e.token) line += " token=" + std::to_string(e.token.value());
  if (!e.label.empty()) line += " label=" + e.label;
  line += " us=" + std::to_string(e.elapsed.count());
  if (e.code) line += " code=" + e.code.message();
  if (!e.text.empty()) line += " text=" + e.text;
  if (e.dropped != 0) line += " dropped_before=" + std::to_string(e.dropped);
  std::clog << line << '\n';
}

}  // namespace

int main() {
  holdfast::client locks{holdfast::default_store(), holdfast::client_options{}.observer(log)};
  holdfast::mutex stock{locks, "stock/sku-42", holdfast::lock_options{}.label("inventory")};
  auto hold = stock.acquire();
  if (const auto problem = hold.release()) std::cerr << problem.message() << '\n';
  locks.close();  // afterwards the observer is not called any more
  return locks.statistics().released == 1 ? 0 : 1;
}
