// The simulator's own operator new. A world is millions of small objects that live for moments, and malloc
// was a tenth of its time; what is given back waits in a list of its size for the next of that size.

#include <array>
#include <cstddef>
#include <cstdlib>
#include <new>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they want to see every allocation

namespace {

struct free_block {
  free_block* next;
};
/// Before each block.
struct alignas(std::max_align_t) head {
  std::size_t list;  // zero: malloc's
};

constexpr std::size_t grain = 16;
constexpr std::size_t lists = 32;
constexpr std::size_t chunk = std::size_t{256} << 10U;

// A block that another thread gives back is that thread's from then on.
thread_local std::array<free_block*, lists + 1> given_back{};
thread_local std::byte* fresh = nullptr;
thread_local std::size_t left = 0;

void* with_head(void* place, std::size_t list) { return ::new (place) head{list} + 1; }

void* from_malloc(std::size_t size) {
  void* const place = std::malloc(size);
  if (place == nullptr) throw std::bad_alloc{};
  return place;
}

}  // namespace

void* operator new(std::size_t size) {
  const std::size_t list = size == 0 ? 1 : (size + grain - 1) / grain;
  if (list > lists) return with_head(from_malloc(sizeof(head) + size), 0);
  if (free_block* const first = given_back[list]; first != nullptr) {
    given_back[list] = first->next;
    return first;
  }
  const std::size_t whole = sizeof(head) + list * grain;
  if (left < whole) {
    fresh = static_cast<std::byte*>(from_malloc(chunk));
    left = chunk;
  }
  void* const place = fresh;
  fresh += whole;
  left -= whole;
  return with_head(place, list);
}

void operator delete(void* block) noexcept {
  if (block == nullptr) return;
  head* const before = static_cast<head*>(block) - 1;
  if (before->list == 0) return std::free(before);
  auto* const mine = static_cast<free_block*>(block);
  mine->next = given_back[before->list];
  given_back[before->list] = mine;
}

void operator delete(void* block, std::size_t /*size*/) noexcept { operator delete(block); }

#endif
