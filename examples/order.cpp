// SPDX-License-Identifier: Apache-2.0
// An order takes several items from the stock, all of them or none. Orders name their items in any order, and
// none waits for another for ever.

#include <cstdlib>
#include <iostream>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <holdfast/holdfast.hpp>

namespace {

/// The stock, as a service keeps it: each item remembers the largest token of its lock, and refuses older
/// ones.
class warehouse {
 public:
  explicit warehouse(const std::vector<std::string>& items) {
    for (const auto& item : items) shelves_[item].left = 30;
  }
  /// \return false where the item's lock has been granted to somebody later.
  bool take(const std::string& item, holdfast::fencing_token token) {
    const std::lock_guard guard{mutex_};
    shelf& from = shelves_.at(item);
    if (token < from.newest) return false;
    from.newest = token;
    --from.left;
    return true;
  }
  int left(const std::string& item) {
    const std::lock_guard guard{mutex_};
    return shelves_.at(item).left;
  }

 private:
  struct shelf {
    int left = 0;
    holdfast::fencing_token newest;
  };
  std::mutex mutex_;
  std::map<std::string, shelf> shelves_;
};

void order(holdfast::client& locks, warehouse& stock, const std::vector<std::string>& items) {
  std::vector<holdfast::lock_spec> names;
  for (const auto& item : items) names.emplace_back("stock/" + item);
  holdfast::lease_set held = holdfast::lock_set{locks, names}.acquire();
  for (const auto& item : items) {
    if (held.lost().stop_requested()) throw std::runtime_error{"a lock was lost; the order is not complete"};
    if (!stock.take(item, held.token("stock/" + item))) throw std::runtime_error{"too late for " + item};
  }
  if (const auto problem = held.release()) std::cerr << problem.message() << '\n';
}

}  // namespace

int main() {
  const std::vector<std::string> items{"bolt", "nut", "washer"};
  warehouse stock{items};
  {
    holdfast::client locks{holdfast::default_store()};
    std::vector<std::jthread> shops;
    for (int shop = 0; shop < 6; ++shop) {
      shops.emplace_back([&, shop] {
        const auto first = static_cast<std::size_t>(shop % 3);
        for (int each = 0; each < 5; ++each) order(locks, stock, {items[first], items[(first + 1) % 3]});
      });
    }
  }
  for (const auto& item : items) std::cout << item << ": " << stock.left(item) << " left\n";
  return stock.left("bolt") == 10 && stock.left("nut") == 10 && stock.left("washer") == 10 ? EXIT_SUCCESS
                                                                                           : EXIT_FAILURE;
}
