// SPDX-License-Identifier: Apache-2.0
#include "support/witness.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace holdfast::test {

namespace {

// Long enough for another holder to come in, if anything let one.
void linger() {
  for (int turn = 0; turn < 3; ++turn) std::this_thread::yield();
}

}  // namespace

witness::witness(const std::string& path) {
  const auto check = [&](bool good) {
    if (!good) throw std::system_error{errno, std::generic_category(), path};
  };
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  check(file >= 0);
  check(::ftruncate(file, sizeof(page)) == 0);  // zeroes are a page that nobody has visited
  void* mapped = ::mmap(nullptr, sizeof(page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  check(mapped != MAP_FAILED);
  ::close(file);
  page_ = static_cast<page*>(mapped);
}

witness::~witness() { ::munmap(page_, sizeof(page)); }

void witness::visit(mode mode, fencing_token token, std::int64_t permits, std::int64_t capacity) {
  switch (mode) {
    case mode::exclusive: visit_alone(token); break;
    case mode::shared: visit_shared(); break;
    case mode::permits: visit_permits(permits, capacity); break;
  }
  ++page_->count;
}

// A holder that was killed inside never says that it left, so who is inside is told by tokens: the one
// who came in must still be the last one when it leaves.
void witness::visit_alone(fencing_token token) {
  if (page_->last_token.exchange(token.value()) >= token.value()) ++page_->overlaps;
  if (page_->readers != 0) ++page_->overlaps;
  ++page_->writers;
  const auto seen = page_->fragile_count.load();
  linger();
  page_->fragile_count = seen + 1;
  --page_->writers;
  if (page_->last_token != token.value() || page_->readers != 0) ++page_->overlaps;
}

void witness::visit_shared() {
  ++page_->readers;
  if (page_->writers != 0) ++page_->overlaps;
  linger();
  if (page_->writers != 0) ++page_->overlaps;
  --page_->readers;
}

void witness::visit_permits(std::int64_t permits, std::int64_t capacity) {
  if (page_->permits.fetch_add(permits) + permits > capacity) ++page_->overlaps;
  linger();
  page_->permits -= permits;
}

}  // namespace holdfast::test
