// SPDX-License-Identifier: Apache-2.0
// The floors under `holdfast bench` on Redis: what the same work costs on a bare socket.
//
//     redis_floor WHERE pair      [COUNT [TAG]]   SET NX PX, then EVALSHA compare-and-delete: two round trips
//     redis_floor WHERE pipelined [COUNT [TAG]]   the same, 256 names at a time on one connection
//     redis_floor WHERE hop       [COUNT]         from PUBLISH in one process to the message in another
//     redis_floor WHERE sharded   [COUNT [TAG]]   the same with SPUBLISH, as in a cluster
//     redis_floor WHERE,WHERE,… quorum [COUNT [TAG]]   the pair on all of them at once; a majority of the replies ends
//                                                      each of its two round trips
//
// WHERE is HOST:PORT or the path of a Unix socket. All keys are of the slot of TAG, for a node of a cluster.
// Prints one JSON object.

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <vector>

#include "floor.hpp"
#include "resp_socket.hpp"

namespace {

constexpr const char* store = "raw socket";
constexpr std::string_view owner = "0123456789abcdef0123";
constexpr std::string_view granted = "+OK\r\n";
constexpr std::string_view released = ":1\r\n";

/// Loads the script that every client of the documented pattern releases with. \return its digest.
std::string load_release(const resp_socket& server) {
  constexpr std::size_t digest_size = 40;
  constexpr std::string_view header = "$40\r\n";
  server.call(command({"SCRIPT", "LOAD",
                       "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) "
                       "else return 0 end"}),
              header);
  return server.receive_exactly(digest_size + 2).substr(0, digest_size);
}

/// The two commands of one name.
struct pair_commands {
  std::string acquire;
  std::string release;

  pair_commands(const std::string& name, const std::string& digest)
      : acquire{command({"SET", name, owner, "NX", "PX", "30000"})},
        release{command({"EVALSHA", digest, "1", name, owner})} {}
};

void pair(const std::string& where, long count, const std::string& tag) {
  const resp_socket server{where};
  const pair_commands commands{"{" + tag + "}floor/pair", load_release(server)};
  const auto one_pair = [&] {
    server.call(commands.acquire, granted);
    server.call(commands.release, released);
  };
  print("pair", store, measure_pairs(1000, count, one_pair));
}

/// Servers that are all asked at once, and of which a majority answers in time.
class electorate {
 public:
  explicit electorate(const std::string& places) {
    for (std::size_t at = 0; at < places.size();) {
      const auto end = std::min(places.find(',', at), places.size());
      voters_.push_back(std::make_unique<voter>(places.substr(at, end - at)));
      polled_.push_back({voters_.back()->server.descriptor(), POLLIN, 0});
      at = end + 1;
    }
  }

  /// \return the digest of the script, which is the same everywhere.
  [[nodiscard]] std::string load() const {
    std::string digest;
    for (const auto& each : voters_) digest = load_release(each->server);
    return digest;
  }

  void call(std::string_view sent, std::string_view reply) {
    for (const auto& each : voters_) {
      each->server.send(sent);
      each->expected += reply;
    }
    for (std::size_t votes = 0; votes <= voters_.size() / 2;) {
      if (::poll(polled_.data(), polled_.size(), -1) < 0) give_up(std::strerror(errno));
      for (std::size_t i = 0; i < voters_.size(); ++i)
        if (polled_[i].revents != 0 && voters_[i]->answered()) ++votes;
    }
  }

 private:
  struct voter {
    resp_socket server;
    std::string expected{};  // of earlier calls, too

    explicit voter(const std::string& where) : server{where} {}

    /// Takes what has come. \return whether that was all.
    bool answered() {
      std::array<char, 512> part{};
      const std::string_view got{part.data(), server.receive(part.data(), part.size())};
      if (!expected.starts_with(got)) give_up("the server answered " + std::string{got});
      expected.erase(0, got.size());
      return expected.empty();
    }
  };

  std::vector<std::unique_ptr<voter>> voters_;
  std::vector<pollfd> polled_;
};

void quorum(const std::string& places, long count, const std::string& tag) {
  electorate servers{places};
  const pair_commands commands{"{" + tag + "}floor/quorum", servers.load()};
  const auto one_pair = [&] {
    servers.call(commands.acquire, granted);
    servers.call(commands.release, released);
  };
  print("quorum", store, measure_pairs(1000, count, one_pair));
}

/// Each name goes from SET to EVALSHA and back as its replies come; what that makes is sent together.
class pipeline {
 public:
  pipeline(const std::string& where, std::size_t width, const std::string& tag) : server_{where} {
    const auto digest = load_release(server_);
    for (std::size_t i = 0; i < width; ++i)
      names_.emplace_back("{" + tag + "}floor/" + std::to_string(i), digest);
  }

  void run(long pairs) {
    to_begin_ = pairs;
    for (auto& each : names_) begin(each);
    std::array<char, 1 << 16> part{};
    while (!in_flight_.empty()) {
      server_.send(out_);
      out_.clear();
      in_.append(part.data(), server_.receive(part.data(), part.size()));
      std::size_t read = 0;
      while (!in_flight_.empty() && take_reply(read)) {
      }
      in_.erase(0, read);
    }
  }

 private:
  struct step {
    const pair_commands* name;
    bool acquiring;
  };

  void begin(const pair_commands& name) {
    if (to_begin_-- <= 0) return;
    out_ += name.acquire;
    in_flight_.push_back({&name, true});
  }

  /// The oldest step's reply, if it is there; then that name's next step.
  bool take_reply(std::size_t& read) {
    const auto [name, acquiring] = in_flight_.front();
    const auto reply = acquiring ? granted : released;
    const auto rest = std::string_view{in_}.substr(read);
    if (!rest.starts_with(reply)) {
      if (!reply.starts_with(rest))
        give_up("the server answered " + std::string{rest.substr(0, rest.find('\r'))});
      return false;
    }
    read += reply.size();
    in_flight_.pop_front();
    if (acquiring) {
      out_ += name->release;
      in_flight_.push_back({name, false});
    } else {
      begin(*name);
    }
    return true;
  }

  resp_socket server_;
  std::vector<pair_commands> names_;
  std::deque<step> in_flight_;
  std::string out_;
  std::string in_;
  long to_begin_ = 0;
};

void pipelined(const std::string& where, long count, const std::string& tag) {
  constexpr std::size_t width = 256;
  pipeline names{where, width, tag};
  names.run(1000);
  const auto begin = clock_type::now();
  names.run(count);
  std::printf(
      "{\"scenario\": \"spread\", \"store\": \"%s\", \"count\": %ld, \"concurrency\": %zu, \"per_s\": "
      "%.0f}\n",
      store, count, width, static_cast<double>(count) / (us_since(begin) / 1e6));
}

/// PUBLISH, or what stands for it in a cluster.
struct broadcast {
  std::string_view publish = "PUBLISH";
  std::string_view subscribe = "SUBSCRIBE";
  std::string subscribed = "$9\r\nsubscribe\r\n";
  std::string message = "$7\r\nmessage\r\n";
  std::string prefix = "floor/";
};

/// One of two processes that send each other the time, by PUBLISH.
class player {
 public:
  player(const std::string& where, const broadcast& by, const std::string& hears, const std::string& speaks)
      : ears_{where}, mouth_{where}, publish_{by.publish}, speaks_{by.prefix + speaks} {
    // The channels' names have one length, and so has a time: a message's length is known.
    const std::string channel = by.prefix + hears;
    const std::string named = '$' + std::to_string(channel.size()) + "\r\n" + channel + "\r\n";
    message_ = "*3\r\n" + by.message + named + "$19\r\n";
    ears_.call(command({by.subscribe, channel}), "*3\r\n" + by.subscribed + named + ":1\r\n");
  }

  /// Until somebody hears it, when the other is not there yet.
  void speak() const {
    std::string heard_by;
    do {
      std::array<char, 20> now{};
      std::snprintf(now.data(), now.size(), "%019lld", static_cast<long long>(now_ns()));
      mouth_.send(command({publish_, speaks_, now.data()}));
      heard_by = mouth_.receive_exactly(4);
    } while (heard_by == ":0\r\n");
  }

  /// \return how long the message took.
  double hear() const {
    ears_.expect(message_);
    return us_since_sent(ears_.receive_exactly(19 + 2));
  }

 private:
  resp_socket ears_;
  resp_socket mouth_;
  std::string_view publish_;
  std::string speaks_;
  std::string message_;
};

void hop(const std::string& where, long count, const broadcast& by) {
  constexpr long warm_up = 500;
  const pid_t other = second_process();
  if (other == 0) {
    const player us{where, by, "a", "b"};
    for (long i = 0; i < warm_up + count; ++i) {
      us.hear();
      us.speak();
    }
    std::_Exit(0);
  }
  const player us{where, by, "b", "a"};
  const auto hops = measure_hops(warm_up, count, [&] {
    us.speak();
    return us.hear();
  });
  ::waitpid(other, nullptr, 0);
  print("hop", store, hops);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string scenario = argument(argc, argv, 2);
  const long count = number(argc, argv, 3, 20000);
  const std::string tag = argc > 4 ? argv[4] : "floor";
  if (count >= 1 && scenario == "pair") {
    pair(argv[1], count, tag);
  } else if (count >= 1 && scenario == "pipelined") {
    pipelined(argv[1], count, tag);
  } else if (count >= 1 && scenario == "quorum") {
    quorum(argv[1], count, tag);
  } else if (count >= 1 && scenario == "hop") {
    hop(argv[1], count, {});
  } else if (count >= 1 && scenario == "sharded") {
    hop(argv[1], count,
        {.publish = "SPUBLISH",
         .subscribe = "SSUBSCRIBE",
         .subscribed = "$10\r\nssubscribe\r\n",
         .message = "$8\r\nsmessage\r\n",
         .prefix = "{" + tag + "}floor/"});
  } else {
    return usage("HOST:PORT|PATH pair|pipelined|hop|sharded|quorum [COUNT [TAG]]");
  }
  return 0;
}
