#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <type_traits>
#include <unordered_set>

#include <holdfast/fencing_token.hpp>

namespace holdfast {
namespace {

static_assert(!std::is_convertible_v<std::uint64_t, fencing_token>, "a number is not a token by accident");
static_assert(!std::is_convertible_v<fencing_token, std::uint64_t> &&
              !std::is_convertible_v<fencing_token, bool>);
static_assert(sizeof(fencing_token) == sizeof(std::uint64_t));
static_assert(fencing_token{1} < fencing_token{2} && fencing_token{2} == fencing_token{2});
static_assert(!fencing_token{} && fencing_token{1});

TEST(fencing_tokens, order_over_the_whole_range) {
  constexpr auto largest = fencing_token{std::numeric_limits<std::uint64_t>::max()};
  constexpr auto beyond_signed = fencing_token{std::uint64_t{1} << 63};
  EXPECT_LT(fencing_token{1}, beyond_signed);
  EXPECT_LT(beyond_signed, largest);
  EXPECT_LT(fencing_token{(std::uint64_t{1} << 53)}, fencing_token{(std::uint64_t{1} << 53) + 1})
      << "beyond what a double can tell apart";
  EXPECT_EQ(largest.value(), std::numeric_limits<std::uint64_t>::max());
}

TEST(fencing_tokens, can_be_keys) {
  std::unordered_set<fencing_token> seen{fencing_token{1}, fencing_token{2}, fencing_token{1}};
  EXPECT_EQ(seen.size(), 2U);
  EXPECT_TRUE(seen.contains(fencing_token{2}));
}

}  // namespace
}  // namespace holdfast
