#include "sim/redis/lua_memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace holdfast::sim {

void* lua_memory::take(std::size_t size) noexcept {
  if (size > largest) return std::malloc(size);
  const std::size_t list = list_of(size);
  if (free_block* const first = free_[list]; first != nullptr) {
    free_[list] = first->next;
    return first;
  }
  const std::size_t rounded = (list + 1) * grain;
  if (left_ < rounded) {
    auto fresh = std::unique_ptr<std::byte[]>{new (std::nothrow) std::byte[chunk]};
    if (!fresh) return nullptr;
    next_ = fresh.get();
    left_ = chunk;  // the end of the chunk before is too small for anybody to miss
    chunks_.push_back(std::move(fresh));
  }
  left_ -= rounded;
  return std::exchange(next_, next_ + rounded);
}

void lua_memory::give(void* block, std::size_t size) noexcept {
  if (size > largest) return std::free(block);
  auto* const mine = static_cast<free_block*>(block);
  mine->next = free_[list_of(size)];
  free_[list_of(size)] = mine;
}

void* lua_memory::allocate(void* self, void* block, std::size_t before, std::size_t wanted) noexcept {
  auto& memory = *static_cast<lua_memory*>(self);
  if (block == nullptr) return wanted == 0 ? nullptr : memory.take(wanted);  // `before` is a type then
  if (wanted == 0) {
    memory.give(block, before);
    return nullptr;
  }
  const bool both_small = before <= largest && wanted <= largest;
  if (both_small && list_of(before) == list_of(wanted)) return block;
  if (before > largest && wanted > largest) return std::realloc(block, wanted);
  void* const moved = memory.take(wanted);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, block, std::min(before, wanted));
  memory.give(block, before);
  return moved;
}

}  // namespace holdfast::sim
