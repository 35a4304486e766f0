#include <iostream>
#include <mutex>

#include <holdfast/holdfast.hpp>

int main() {
  using namespace std::chrono_literals;
  holdfast::client locks{holdfast::default_store()};  // HOLDFAST_STORE, else a file of this user
  holdfast::mutex stock{locks, "stock/sku-42"};

  {
    std::scoped_lock hold{stock};  // the standard's guards work as they are
    std::cout << "held; the token is " << stock.token().value() << '\n';
  }

  if (auto lease = stock.try_acquire_for(2s)) {  // or acquire the lease itself
    for (int step = 0; step < 3 && !lease->lost().stop_requested(); ++step) {
      std::cout << "step " << step << ", " << lease->remaining() / 1s << " s left unless renewed\n";
    }
    if (const auto problem = lease->release()) std::cerr << problem.message() << '\n';
  }
}
