// SPDX-License-Identifier: Apache-2.0
#include "simulation/line_link.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "holdfast/error.hpp"

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

const store::request_error not_sent{{errc::unavailable, "not connected"}, true, false};
const store::request_error unanswered{{errc::unavailable, "the connection is gone"}, true, true};

owner_id address_of(const host& h) {
  owner_id::bytes_type bytes{};
  bytes[0] = h.number();
  for (std::size_t i = 0; i < sizeof h.life(); ++i) {
    bytes[i + 1] = static_cast<std::uint8_t>(h.life() >> (8U * i));
  }
  return owner_id{bytes};
}

}  // namespace

line_link::line_link(scene& in, host& from, line& over, duration reply_limit)
    : in_{in}, from_{from}, over_{over}, reply_limit_{reply_limit}, address_{address_of(from)} {
  over_.on_cut([this] { on_cut(); });
  over_.on_connected([this] { on_connected(); });
}

line_link::~line_link() {
  for (const auto& p : open_) p->given_up = true;
  over_.on_cut(nullptr);
  over_.on_connected(nullptr);
}

void line_link::send(tickets::request request, on_reply done) {
  send(pack(std::move(request)), std::move(done));
}

void line_link::send(std::shared_ptr<parcel> p, on_reply done) {
  if (!over_.is_up()) {
    from_.hear_at(in_.now + 1ms, [done = std::move(done)] { done(not_sent); });
    return;
  }
  p->done = std::move(done);
  p->sent = in_.now;
  open_.push_back(p);
  if (!watching_) watch_the_oldest();
  dispatch(std::move(p));
}

void line_link::deliver(const std::shared_ptr<parcel>& p, outcome o) {
  if (p->given_up) return;
  std::erase(open_, p);
  p->done(std::move(o));
}

void line_link::on_cut() {
  for (const auto& p : open_) p->given_up = true;
  const auto lost = std::exchange(open_, {});
  for (const auto& p : lost) p->done(unanswered);
}

/// What was said while there was no connection is lost, as on the line of every real link.
void line_link::on_connected() {
  begin_connection();
  if (!over_.is_up()) return;  // the server is of no use
  if (std::exchange(had_connection_, true) && missed_) missed_();
}

/// A connection on which nothing comes back for too long is closed.
void line_link::watch_the_oldest() {
  watching_ = true;
  from_.hear_at(open_.front()->sent + reply_limit_, [this] {
    watching_ = false;
    if (open_.empty()) return;
    if (open_.front()->sent + reply_limit_ <= in_.now) return over_.cut();
    watch_the_oldest();
  });
}

void line_link::receive(const store::notification& n, bool careless) {
  const int times = careless && in_.chance.one_in(12) ? 0 : careless && in_.chance.one_in(10) ? 2 : 1;
  for (int i = 0; i < times; ++i) {
    const duration late = careless && in_.chance.one_in(10) ? in_.chance.between(0ms, 2s) : duration{0};
    from_.hear_at(in_.now + over_.delay() + late,
                  [this, sent = std::make_shared<const store::notification>(n)] { deliver(*sent); });
  }
}

}  // namespace holdfast::sim
