#include "support/fenced_register.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

namespace holdfast::test {

fenced_register::fenced_register(const std::string& path) {
  const auto check = [&](bool good) {
    if (!good) throw std::system_error{errno, std::generic_category(), path};
  };
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  check(file >= 0);
  check(::ftruncate(file, sizeof(page)) == 0);  // zeroes: nothing was written yet
  void* mapped = ::mmap(nullptr, sizeof(page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  check(mapped != MAP_FAILED);
  ::close(file);
  page_ = static_cast<page*>(mapped);
}

fenced_register::~fenced_register() { ::munmap(page_, sizeof(page)); }

bool fenced_register::write(fencing_token token) {
  std::uint64_t last = page_->last;
  while (last <= token.value()) {
    if (page_->last.compare_exchange_weak(last, token.value())) return true;
  }
  ++page_->refused;
  return false;
}

}  // namespace holdfast::test
