// SPDX-License-Identifier: Apache-2.0
#include "support/fault_proxy.hpp"

#include <algorithm>
#include <array>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "support/reserved_port.hpp"

namespace holdfast::test {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t directions = 2;

struct state {
  std::array<interference, directions> interferences;
  std::array<std::size_t, directions> passed{};
  std::array<std::size_t, directions> swallowed{};
  fault_proxy::forger forge;
};

/// One client's connection and the one to the server for it.
class connection : public std::enable_shared_from_this<connection> {
 public:
  connection(state& all, tcp::socket client)
      : all_{all},
        client_{std::move(client)},
        server_{client_.get_executor()},
        lanes_{lane{client_, server_}, lane{server_, client_}} {}

  void start(const tcp::endpoint& server) {
    server_.async_connect(server, [self = shared_from_this()](error_code failed) {
      if (failed) return self->end(ending::reset);
      error_code ignored;
      for (auto* each : {&self->client_, &self->server_}) {
        each->set_option(tcp::no_delay{true}, ignored);
      }
      self->read(0);
      self->read(1);
    });
  }

  /// What is done to the bytes has changed.
  void look_again() {
    for (std::size_t way = 0; way < directions; ++way) {
      lane& on = lanes_[way];
      if (!on.waits || all_.interferences[way].stall) continue;
      on.waits = false;
      const auto held = std::exchange(on.held, 0);
      held > 0 ? pass(way, held) : read(way);
    }
  }

  void end(ending end) {
    if (ended_) return;
    ended_ = true;
    error_code ignored;
    for (auto* each : {&client_, &server_}) {
      if (end == ending::reset) each->set_option(asio::socket_base::linger{true, 0}, ignored);
      each->close(ignored);
    }
    for (auto& each : lanes_) each.pause.cancel();
  }

  [[nodiscard]] bool ended() const noexcept { return ended_; }
  [[nodiscard]] bool lost_bytes() const noexcept { return lost_bytes_; }

 private:
  struct lane {
    lane(tcp::socket& source, tcp::socket& target) : from{source}, to{target}, pause{source.get_executor()} {}
    tcp::socket& from;
    tcp::socket& to;
    asio::steady_timer pause;
    std::array<char, 16'384> bytes{};
    bool waits = false;    // for a stall to end
    std::size_t held = 0;  // bytes that were read before it began
  };

  void read(std::size_t way) {
    lane& on = lanes_[way];
    on.waits = all_.interferences[way].stall;
    if (on.waits || ended_) return;
    const auto rate = all_.interferences[way].bytes_per_second;
    // Small pieces, often, as a slow line delivers them.
    const auto most = rate == 0 ? on.bytes.size() : std::clamp<std::size_t>(rate / 50, 1, on.bytes.size());
    on.from.async_read_some(asio::buffer(on.bytes.data(), most), [self = shared_from_this(), way](
                                                                     error_code failed, std::size_t count) {
      if (failed) return self->end(failed == asio::error::eof ? ending::finish : ending::reset);
      self->hold_up(way, self->all_.interferences[way].delay, [self, way, count] { self->pass(way, count); });
    });
  }

  void pass(std::size_t way, std::size_t count) {
    lane& on = lanes_[way];
    auto& active = all_.interferences[way];
    if (active.stall) {
      on.waits = true;
      on.held = count;
      return;
    }
    if (active.swallow) {
      lost_bytes_ = true;
      all_.swallowed[way] += count;
      return read(way);
    }
    if (way == static_cast<std::size_t>(direction::to_server)) {
      request_.assign(on.bytes.data(), count);
    } else if (all_.forge) {
      return pass_forged(way, count);
    }
    bool cut = active.cut_after && *active.cut_after <= count;
    if (cut) count = *active.cut_after;
    if (active.cut_after) *active.cut_after -= count;
    if (cut) active.cut_after.reset();
    if (cut && active.cut_by == ending::silence) {
      active.swallow = lost_bytes_ = true;
      cut = false;
    }
    all_.passed[way] += count;  // before: the receiver may act on them at once
    asio::async_write(
        on.to, asio::buffer(on.bytes.data(), count),
        [self = shared_from_this(), way, cut, by = active.cut_by](error_code failed, std::size_t written) {
          if (cut || failed) return self->end(cut ? by : ending::reset);
          self->rest(way, written);
        });
  }

  void pass_forged(std::size_t way, std::size_t count) {
    const std::string_view answer{lanes_[way].bytes.data(), count};
    forged_ = all_.forge(request_, answer);
    lost_bytes_ = lost_bytes_ || forged_ != answer;
    all_.passed[way] += forged_.size();
    asio::async_write(lanes_[way].to, asio::buffer(forged_),
                      [self = shared_from_this(), way](error_code failed, std::size_t) {
                        if (failed) return self->end(ending::reset);
                        self->read(way);
                      });
  }

  void rest(std::size_t way, std::size_t written) {
    const auto rate = all_.interferences[way].bytes_per_second;
    const auto pause =
        rate == 0 ? std::chrono::milliseconds{0} : std::chrono::milliseconds{written * 1000 / rate};
    hold_up(way, pause, [self = shared_from_this(), way] { self->read(way); });
  }

  template <class Action>
  void hold_up(std::size_t way, std::chrono::milliseconds pause, Action then) {
    if (ended_) return;
    if (pause.count() == 0) return then();
    lanes_[way].pause.expires_after(pause);
    lanes_[way].pause.async_wait([then](error_code cancelled) {
      if (!cancelled) then();
    });
  }

  state& all_;
  tcp::socket client_;
  tcp::socket server_;
  std::array<lane, directions> lanes_;
  std::string request_;  // the last piece that the client has sent
  std::string forged_;   // what it is told
  bool ended_ = false;
  bool lost_bytes_ = false;
};

}  // namespace

class fault_proxy::core {
 public:
  explicit core(std::uint16_t server_port)
      : server_{asio::ip::address_v4::loopback(), server_port}, listener_{loop_} {
    listen(endpoint_);
    thread_ = std::jthread{[this] { loop_.run(); }};
  }
  ~core() { loop_.stop(); }
  core(const core&) = delete;
  core& operator=(const core&) = delete;

  /// Runs it on the proxy's thread, and waits for what it answers.
  template <class Action>
  auto in_loop(Action action) {
    using task = std::packaged_task<decltype(action())()>;
    const auto work = std::make_shared<task>(std::move(action));
    auto done = work->get_future();
    asio::post(loop_, [work] { (*work)(); });
    return done.get();
  }

  void look_again() {
    for (const auto& each : living()) each->look_again();
  }

  void listen(const tcp::endpoint& at) {
    listener_.open(tcp::v4());
    listener_.set_option(asio::socket_base::reuse_address{true});
    listener_.bind(at);
    listener_.listen();
    accept();
  }

  [[nodiscard]] std::vector<std::shared_ptr<connection>> living() {
    std::erase_if(connections_, has_ended);
    return connections_;
  }

  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> keeps_running_{loop_.get_executor()};
  state state_;
  tcp::endpoint server_;
  reserved_port port_;
  tcp::endpoint endpoint_{asio::ip::address_v4::loopback(), port_.number()};
  tcp::acceptor listener_;
  std::size_t taken_ = 0;

 private:
  static bool has_ended(const std::shared_ptr<connection>& each) { return each->ended(); }
  void accept() {
    listener_.async_accept([this](error_code failed, tcp::socket client) {
      if (failed) return;
      ++taken_;
      std::erase_if(connections_, has_ended);
      connections_.push_back(std::make_shared<connection>(state_, std::move(client)));
      connections_.back()->start(server_);
      accept();
    });
  }

  std::vector<std::shared_ptr<connection>> connections_;
  std::jthread thread_;  // last: ended before what it works on
};

fault_proxy::fault_proxy(std::uint16_t server_port) : core_{std::make_unique<core>(server_port)} {}

fault_proxy::~fault_proxy() = default;

std::uint16_t fault_proxy::port() const noexcept { return core_->endpoint_.port(); }

void fault_proxy::interfere(direction way, interference effect) {
  core_->in_loop([&] {
    core_->state_.interferences[static_cast<std::size_t>(way)] = effect;
    core_->look_again();
  });
}

void fault_proxy::forge(forger forge) {
  core_->in_loop([&] { core_->state_.forge = std::move(forge); });
}

void fault_proxy::heal() {
  core_->in_loop([&] {
    core_->state_.interferences = {};
    core_->state_.forge = nullptr;
    for (const auto& each : core_->living()) {
      if (each->lost_bytes()) each->end(ending::reset);
    }
    core_->look_again();
  });
}

void fault_proxy::refuse(bool on) {
  core_->in_loop([&] {
    if (on) {
      core_->listener_.close();
    } else if (!core_->listener_.is_open()) {
      core_->listen(core_->endpoint_);
    }
  });
}

void fault_proxy::cut_all(ending end) {
  core_->in_loop([&] {
    for (const auto& each : core_->living()) each->end(end);
  });
}

std::size_t fault_proxy::taken() const {
  return core_->in_loop([&] { return core_->taken_; });
}

std::size_t fault_proxy::open() const {
  return core_->in_loop([&] { return core_->living().size(); });
}

std::size_t fault_proxy::passed(direction way) const {
  return core_->in_loop([&] { return core_->state_.passed[static_cast<std::size_t>(way)]; });
}

std::size_t fault_proxy::swallowed(direction way) const {
  return core_->in_loop([&] { return core_->state_.swallowed[static_cast<std::size_t>(way)]; });
}

}  // namespace holdfast::test
