// SPDX-License-Identifier: Apache-2.0
// A stock of units in a file. Its owner refuses writers whose lease has ended: it checks their fencing token.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>

#include <holdfast/holdfast.hpp>

namespace {

/// The resource. In a service, its handlers would call this with the token out of the request.
class stock_file {
 public:
  explicit stock_file(const std::filesystem::path& path) : path_{path}, fence_{path.string() + ".fence"} {}

  /// \return false for a writer that is too late: the units stay as they are.
  bool write(int units, holdfast::fencing_token token) {
    // The check and the write are one step: a newer writer must not come between them.
    const std::scoped_lock one_at_a_time{mutex_};
    if (!fence_.admit("stock/sku-42", token)) return false;
    std::ofstream{path_} << units << '\n';
    return true;
  }

 private:
  std::filesystem::path path_;
  std::mutex mutex_;
  holdfast::fence fence_;
};

}  // namespace

int main() {
  try {
    holdfast::client locks{holdfast::default_store()};
    holdfast::mutex stock{locks, "stock/sku-42"};
    stock_file file{"stock"};

    auto lease = stock.acquire();
    const auto token = lease.token();
    if (!file.write(10, token)) return EXIT_FAILURE;
    if (const auto problem = lease.release()) std::cerr << problem.message() << '\n';

    // Another holder writes. The first one, which stood still in between, writes late.
    auto next = stock.acquire();
    if (!file.write(9, next.token())) return EXIT_FAILURE;
    const bool late = file.write(10, token);
    std::cout << "the late write was " << (late ? "accepted" : "refused") << '\n';
    return late ? EXIT_FAILURE : EXIT_SUCCESS;
  } catch (const holdfast::error& problem) {
    std::cerr << problem.what() << '\n';
    return EXIT_FAILURE;
  }
}
