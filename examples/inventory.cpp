// SPDX-License-Identifier: Apache-2.0
// Eight processes sell from one stock. Each reads how much is left, takes a moment for the payment,
// and writes one less. Without a lock they sell what is no longer there; with one they cannot.
//
//   inventory [--lock none|mutex] [--processes 8] [--stock 200] [--store URL]
//
// Prints one line, and ends with 1 when a locked run oversold.

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <spawn.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

#include <holdfast/holdfast.hpp>

namespace fs = std::filesystem;

namespace {

struct options {
  std::string lock = "mutex";
  std::string store = holdfast::default_store();
  std::string worker_folder;  // set in the processes that we start
  int processes = 8;
  int stock = 200;
};

/// The shop's books: a file with the number of units left, and one with a byte for each unit sold.
class shop {
 public:
  explicit shop(const fs::path& folder) : left_{folder / "left"}, sold_{folder / "sold"} {}

  void open(int units) const {
    write_left(units);
    std::ofstream{sold_};
  }

  /// Read, compute, write: the job that needs a lock around it.
  bool sell_one() const {
    const int left = read_left();
    if (left <= 0) return false;
    take_payment();
    write_left(left - 1);
    return true;
  }

  int units_sold() const { return static_cast<int>(fs::file_size(sold_)); }

 private:
  int read_left() const {
    // Another process may be writing, where there is no lock: an empty file is read again.
    for (int left = 0;;) {
      if (std::ifstream{left_} >> left) return left;
    }
  }

  void write_left(int units) const { std::ofstream{left_} << units << '\n'; }

  /// Appending is atomic, so this count is right even where the other is not.
  void take_payment() const {
    const int receipt = ::open(sold_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    const bool written = receipt >= 0 && ::write(receipt, "*", 1) == 1 && ::fsync(receipt) == 0;
    const int reason = errno;
    if (receipt >= 0) ::close(receipt);
    if (!written) throw std::system_error{reason, std::generic_category(), sold_};
    std::this_thread::sleep_for(std::chrono::milliseconds{1});  // the bank answers
  }

  fs::path left_;
  fs::path sold_;
};

template <class Lock>
void sell_all(const shop& books, Lock& lock) {
  for (;;) {
    std::scoped_lock hold{lock};
    if (!books.sell_one()) return;
  }
}

struct no_lock {
  void lock() {}

  void unlock() {}
};

void work(const options& wanted) {
  const shop books{wanted.worker_folder};
  if (wanted.lock == "none") {
    no_lock nothing;
    sell_all(books, nothing);
  } else {
    holdfast::client locks{wanted.store};
    holdfast::mutex stock{locks, "stock/sku-42"};
    sell_all(books, stock);
  }
}

pid_t start_worker(const options& wanted, const fs::path& folder) {
  std::vector<std::string> texts{"inventory", "--worker", folder.string(), "--lock",
                                 wanted.lock, "--store",  wanted.store};
  std::vector<char*> arguments;
  for (std::string& text : texts) arguments.push_back(text.data());
  arguments.push_back(nullptr);

  pid_t child = 0;
  const int failure = ::posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments.data(), environ);
  if (failure != 0) throw std::system_error{failure, std::generic_category(), "starting a process"};
  return child;
}

/// \return whether all of them ended well.
bool run_workers(const options& wanted, const fs::path& folder) {
  std::vector<pid_t> workers;
  for (int i = 0; i < wanted.processes; ++i) workers.push_back(start_worker(wanted, folder));
  bool good = true;
  for (const pid_t worker : workers) {
    int status = 0;
    good &= ::waitpid(worker, &status, 0) == worker && status == 0;
  }
  return good;
}

class temporary_folder {
 public:
  temporary_folder() : path_{(fs::temp_directory_path() / "inventory-XXXXXX").string()} {
    if (::mkdtemp(path_.data()) == nullptr) {
      throw std::system_error{errno, std::generic_category(), "making a temporary folder"};
    }
  }

  ~temporary_folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;

  fs::path path() const { return path_; }

 private:
  std::string path_;
};

int sell(const options& wanted) {
  const temporary_folder folder;
  const shop books{folder.path()};
  books.open(wanted.stock);

  const auto start = std::chrono::steady_clock::now();
  if (!run_workers(wanted, folder.path())) throw std::runtime_error{"a process failed"};
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;

  const int oversold = books.units_sold() - wanted.stock;
  std::printf("lock %s: stock %d, sold %d by %d processes in %.2f s%s\n", wanted.lock.c_str(), wanted.stock,
              books.units_sold(), wanted.processes, took.count(), oversold > 0 ? ": oversold" : "");
  return wanted.lock != "none" && oversold != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int number(std::string_view text) {
  int value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size() || value < 1) {
    throw std::invalid_argument{"not a number above 0: " + std::string{text}};
  }
  return value;
}

options read_options(const std::vector<std::string>& arguments) {
  options wanted;
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    const std::string& option = arguments[i];
    if (i + 1 == arguments.size()) throw std::invalid_argument{option + " needs a value"};
    const std::string& value = arguments[i + 1];
    if (option == "--lock" && (value == "none" || value == "mutex")) {
      wanted.lock = value;
    } else if (option == "--store") {
      wanted.store = value;
    } else if (option == "--processes") {
      wanted.processes = number(value);
    } else if (option == "--stock") {
      wanted.stock = number(value);
    } else if (option == "--worker") {
      wanted.worker_folder = value;
    } else {
      throw std::invalid_argument{"not understood: " + option + ' ' + value};
    }
  }
  return wanted;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const options wanted = read_options({argv + 1, argv + argc});
    if (wanted.worker_folder.empty()) return sell(wanted);
    work(wanted);
    return EXIT_SUCCESS;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "inventory: %s\n", failure.what());
    return EXIT_FAILURE;
  }
}
