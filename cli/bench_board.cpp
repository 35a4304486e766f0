#include "bench_board.hpp"

#include <cerrno>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

#include "descriptor.hpp"
#include "failure.hpp"

namespace holdfast::cli {

shared_board::shared_board(const std::string& path, bool create) {
  constexpr auto size = sizeof(handoff_board);
  const int flags = O_RDWR | O_CLOEXEC | (create ? O_CREAT | O_EXCL : 0);
  const descriptor file{checked(::open(path.c_str(), flags, 0600), "open")};
  if (create) checked(::ftruncate(file.get(), size), "ftruncate");
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) throw std::system_error{errno, std::generic_category(), "mmap"};
  board_ = create ? new (memory) handoff_board : static_cast<handoff_board*>(memory);
}

shared_board::~shared_board() { ::munmap(board_, sizeof(handoff_board)); }

}  // namespace holdfast::cli
