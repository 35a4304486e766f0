#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace holdfast::sim {

/// Memory for one Lua. A script makes some dozens of small objects and drops them all; with malloc they were
/// a quarter of the simulator's time. What is given back waits in a list of its size for the next of that
/// size, and goes with the Lua that it was for.
class lua_memory {
 public:
  lua_memory() = default;
  lua_memory(const lua_memory&) = delete;
  lua_memory& operator=(const lua_memory&) = delete;

  /// As lua_Alloc wants it. \param self a lua_memory
  static void* allocate(void* self, void* block, std::size_t before, std::size_t wanted) noexcept;

 private:
  struct free_block {
    free_block* next;
  };
  static constexpr std::size_t grain = 16;
  static constexpr std::size_t largest = 512;  // what is larger is malloc's
  static constexpr std::size_t chunk = std::size_t{64} << 10U;

  [[nodiscard]] static std::size_t list_of(std::size_t size) { return (size - 1) / grain; }
  [[nodiscard]] void* take(std::size_t size) noexcept;
  void give(void* block, std::size_t size) noexcept;

  std::array<free_block*, largest / grain> free_{};
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;
};

}  // namespace holdfast::sim
