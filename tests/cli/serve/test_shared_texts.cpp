// SPDX-License-Identifier: Apache-2.0
// The texts that `holdfast serve` sends: made once, shared by all readers, and bounded however slow these
// are.

#include <chrono>
#include <cstdint>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <memory>

#include <nlohmann/json.hpp>

#include "serve/connection_set.hpp"
#include "serve/events.hpp"
#include "serve/listing.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using cli::shared_text;
using cli::text_parts;
using nlohmann::json;

constexpr boot_clock::time_point start_of_time{1h};
constexpr std::size_t mib = 1 << 20;

std::string joined(const text_parts& parts) {
  std::string all;
  for (const auto& each : parts) all += *each;
  return all;
}

shared_text text_of_size(std::size_t bytes) { return cli::share(std::string(bytes, 'x')); }

TEST(serve_events, give_a_snapshot_to_whoever_is_behind) {
  cli::event_feed feed;
  int snapshots = 0;
  std::uint64_t revision = 0;
  cli::event_cursor reader;
  const auto next = [&] {
    return joined(feed.next(reader, [&] {
      ++snapshots;
      return cli::event_feed::snapshot{revision, {cli::share("snap"), cli::share("shot")}};
    }));
  };
  const auto add = [&](const std::string& text) { feed.add_change(++revision, cli::share(text)); };
  EXPECT_EQ(next(), "") << "there is none yet";
  feed.set_status(cli::share("status 1"));
  EXPECT_EQ(next(), "status 1");
  add("change 1");
  EXPECT_EQ(next(), "snapshot");
  add("change 2");
  add("change 3");
  EXPECT_EQ(next(), "change 2");
  EXPECT_EQ(next(), "change 3");
  EXPECT_EQ(next(), "");
  for (std::size_t i = 0; i < cli::event_feed::most_changes + 1; ++i) add("change");
  EXPECT_EQ(next(), "snapshot") << "the fourth is not kept";
  EXPECT_EQ(next(), "");
  add(std::string(cli::event_feed::most_bytes + 1, 'x'));
  EXPECT_EQ(next(), "snapshot") << "a large change is not kept";
  feed.add_change(++revision, nullptr);
  EXPECT_EQ(next(), "snapshot") << "nor one that was not made";
  add("small");
  EXPECT_EQ(next(), "small") << "what follows it is kept";
  EXPECT_EQ(snapshots, 4);
}

TEST(serve_events, give_nobody_a_snapshot_that_is_not_newer_than_what_it_has) {
  cli::event_feed feed;
  std::uint64_t last = 3;
  cli::event_cursor reader;
  const auto next = [&] {
    return joined(feed.next(reader, [&] {
      return cli::event_feed::snapshot{last, {cli::share(fmt::format("snapshot {}", last))}};
    }));
  };
  feed.add_change(5, nullptr);
  EXPECT_EQ(next(), "snapshot 3") << "better an older one than none";
  EXPECT_EQ(next(), "");
  feed.set_status(cli::share("status"));
  EXPECT_EQ(next(), "status") << "nor does that hold up the status";
  feed.add_change(6, cli::share("change 6"));
  EXPECT_EQ(next(), "") << "a change is nothing without the one before";
  last = 6;
  EXPECT_EQ(next(), "snapshot 6");
}

/// A store whose listing has so many bytes, and a few more.
cli::snapshot large_snapshot(std::size_t bytes, duration after) {
  cli::snapshot all;
  all.revision = 7;
  all.taken_at = start_of_time + after;
  all.total = 9;
  for (std::size_t i = 0; i < 4; ++i) {
    cli::lock_row row;
    row.lock.name = std::string(bytes / 4, static_cast<char>('a' + i));
    all.rows.push_back(row);
  }
  return all;
}

TEST(serve_listing, is_made_once_for_a_reading_and_shared) {
  cli::listing_cache cache;
  const auto first = large_snapshot(100, 0s);
  const auto rows = cache.get(first, start_of_time).rows;
  EXPECT_EQ(cache.get(first, start_of_time + 1h).rows, rows);
  const auto text = json::parse(joined(cache.get(first, start_of_time).describe(start_of_time + 2s)));
  EXPECT_EQ(text["revision"], 7);
  EXPECT_EQ(text["taken_ago_s"], 2.0);
  EXPECT_EQ(text["total"], 9);
  ASSERT_EQ(text["locks"].size(), 4U);
  EXPECT_EQ(text["locks"][3]["name"], first.rows[3].lock.name);
  EXPECT_NE(cache.get(large_snapshot(100, 1s), start_of_time + 1s).rows, rows) << "another reading";
  EXPECT_EQ(rows.use_count(), 1) << "nothing but a reader keeps the one before";
  EXPECT_EQ(*cache
                 .get(cli::snapshot{.revision = 8, .taken_at = start_of_time + 2s, .total = 0, .rows = {}},
                      start_of_time)
                 .rows,
            "[]");
}

TEST(serve_listing, is_an_older_one_while_slow_readers_keep_many) {
  constexpr std::size_t size = 10'000;
  cli::listing_cache cache{3 * size + size / 2};
  const auto at = [&](duration after) {
    return cache.get(large_snapshot(size, after), start_of_time + after);
  };
  std::vector<shared_text> kept;
  for (int i = 0; i < 3; ++i) kept.push_back(at(std::chrono::seconds{i}).rows);
  EXPECT_NE(kept[1], kept[2]) << "there is room";
  for (const auto after : {3s, 11s}) {
    const auto shared = at(after);
    EXPECT_EQ(shared.rows, kept[2]);
    EXPECT_EQ(shared.taken_at, start_of_time + 2s) << "and says so";
  }
  const auto newer = at(2s + cli::listing_cache::oldest);
  EXPECT_NE(newer.rows, kept[2]) << "nobody gets one that is too old";
  kept.erase(kept.begin(), kept.begin() + 2);
  EXPECT_NE(at(13s).rows, newer.rows) << "there is room again";
}

class fake_connection final : public cli::connection {
 public:
  /// asking: the answer to its request is not there yet.
  enum class kind : std::uint8_t { reply, stream, idle, asking };

  fake_connection(text_parts texts, duration since, kind is = kind::reply)
      : texts_{std::move(texts)}, since_{start_of_time + since}, kind_{is} {}
  void close() override { is_closed = true; }
  void wake() override {}
  [[nodiscard]] std::optional<boot_clock::time_point> idle_since() const override {
    return kind_ == kind::idle ? std::optional{since_} : std::nullopt;
  }
  [[nodiscard]] bool is_stream() const override { return kind_ == kind::stream; }
  [[nodiscard]] const std::string& client() const override { return client_; }
  [[nodiscard]] const text_parts& unsent() const override { return texts_; }
  [[nodiscard]] boot_clock::time_point sending_since() const override { return since_; }

  bool is_closed = false;

 private:
  std::string client_ = "::1";
  text_parts texts_;
  boot_clock::time_point since_;
  kind kind_;
};

class serve_connections : public testing::Test {
 protected:
  std::shared_ptr<fake_connection> add(const shared_text& text, duration since) {
    auto one = std::make_shared<fake_connection>(text_parts{cli::share("head"), text}, since);
    all_.add(one);
    return one;
  }
  [[nodiscard]] bool has_room_for(const shared_text& text, duration at) {
    return all_.make_room_for({cli::share("head"), text}, start_of_time + at);
  }

  cli::connection_set all_;
};

class serve_places : public serve_connections {
 protected:
  using kind = fake_connection::kind;

  /// Takes one of the places. \param since when it began to send, or to be idle.
  std::shared_ptr<fake_connection> take(kind is, duration since) {
    auto one = std::make_shared<fake_connection>(
        is == kind::reply || is == kind::stream ? text_parts{cli::share("listing")} : text_parts{}, since,
        is);
    all_.add(one);
    ++taken_;
    return one;
  }
  void take_the_rest(kind is, duration since) {
    while (taken_ < cli::connection_set::most) take(is, since);
  }
  [[nodiscard]] bool has_place(duration at) { return all_.make_room(start_of_time + at); }

 private:
  std::size_t taken_ = 0;
};

TEST_F(serve_places, are_those_of_the_readers_that_are_slowest_where_nobody_is_idle) {
  const auto first = take(kind::reply, 1s);
  const auto second = take(kind::reply, 2s);
  const auto stream = take(kind::stream, 0s);
  const auto asking = take(kind::asking, 0s);
  take_the_rest(kind::reply, 3s);
  EXPECT_FALSE(has_place(1s + cli::connection_set::least_time - 1us)) << "each has its time";
  EXPECT_FALSE(first->is_closed);
  EXPECT_TRUE(has_place(1s + cli::connection_set::least_time));
  EXPECT_TRUE(first->is_closed);
  EXPECT_FALSE(second->is_closed) << "one is enough";
  take(kind::asking, 0s);
  EXPECT_TRUE(has_place(1h));
  EXPECT_TRUE(second->is_closed);
  EXPECT_FALSE(stream->is_closed);
  EXPECT_FALSE(asking->is_closed);
}

TEST_F(serve_places, are_those_of_idle_connections_first) {
  const auto slow = take(kind::reply, 0s);
  const auto idle = take(kind::idle, 50s);
  take_the_rest(kind::reply, 0s);
  EXPECT_TRUE(has_place(1h));
  EXPECT_TRUE(idle->is_closed);
  EXPECT_FALSE(slow->is_closed);
}

TEST_F(serve_connections, count_a_text_once_however_many_send_it) {
  const auto listing = text_of_size(20 * mib);
  for (int i = 0; i < 60; ++i) add(listing, 0s);
  EXPECT_TRUE(has_room_for(listing, 0s));
  const auto other = text_of_size(10 * mib);
  EXPECT_TRUE(has_room_for(other, 0s));
  const auto last = add(other, 0s);
  EXPECT_FALSE(has_room_for(text_of_size(3 * mib), 0s));
  EXPECT_TRUE(has_room_for(listing, 0s)) << "which takes no more";
  EXPECT_FALSE(last->is_closed);
}

TEST_F(serve_connections, end_whoever_keeps_a_text_for_the_longest_when_there_is_no_room) {
  std::vector<std::shared_ptr<fake_connection>> slow;
  for (int i = 0; i < 4; ++i) slow.push_back(add(text_of_size(8 * mib), std::chrono::seconds{i}));
  const auto small = add(text_of_size(cli::connection_set::small_text), 0s);
  const auto next = text_of_size(8 * mib);
  EXPECT_FALSE(has_room_for(next, cli::connection_set::least_time - 1us)) << "each has its time";
  for (const auto& each : slow) EXPECT_FALSE(each->is_closed);
  EXPECT_TRUE(has_room_for(next, cli::connection_set::least_time));
  EXPECT_TRUE(slow[0]->is_closed);
  for (int i = 1; i < 4; ++i) EXPECT_FALSE(slow[i]->is_closed);
  EXPECT_FALSE(small->is_closed) << "its end would give nothing";
  EXPECT_TRUE(has_room_for(next, 0s)) << "it was taken out";
}

TEST_F(serve_connections, end_all_that_send_a_text_and_none_of_them_before_its_time) {
  const auto listing = text_of_size(30 * mib);
  const auto early = add(listing, 0s);
  const auto late = add(listing, 9s);
  const auto next = text_of_size(8 * mib);
  EXPECT_FALSE(has_room_for(next, 18s));
  EXPECT_FALSE(early->is_closed) << "it would be for nothing";
  EXPECT_TRUE(has_room_for(next, 19s));
  EXPECT_TRUE(early->is_closed);
  EXPECT_TRUE(late->is_closed);
}

TEST_F(serve_connections, send_one_text_that_is_too_large_by_itself) {
  const auto huge = text_of_size(cli::connection_set::most_bytes + mib);
  EXPECT_TRUE(has_room_for(huge, 0s));
  add(huge, 0s);
  EXPECT_TRUE(has_room_for(huge, 0s));
  EXPECT_FALSE(has_room_for(text_of_size(mib), 0s));
  EXPECT_TRUE(has_room_for(text_of_size(mib), cli::connection_set::least_time));
}

}  // namespace
}  // namespace holdfast::test
