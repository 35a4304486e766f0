#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

#include "stores/redis/protocol/server_facts.hpp"
#include "stores/redis/protocol/shell_words.hpp"

namespace holdfast::redis {

namespace {

using grade = finding::grade;
using key_kind = key_sample::kind;

/// What the side keys that were looked at say of their clients.
class examination {
 public:
  examination(const server_facts& facts, const dialect& in, std::vector<finding>& to)
      : facts_{facts}, sample_{*facts.side_keys}, in_{in}, to_{to} {}

  void run() {
    if (!sample_.refusal.empty()) {
      return add("fences", grade::unknown, "its keys cannot be looked at: " + sample_.refusal,
                 "whether tokens are kept, and keys of other layouts are left, was not examined",
                 "if the user may not: ACL SETUSER " + facts_.user + " +scan +eval +get +pttl");
    }
    examine_fences();
    examine_layout();
  }

 private:
  void add(std::string condition, grade result, std::string observed, std::string meaning = {},
           std::string remedy = {}) {
    to_.push_back({facts_.place, std::move(condition), result, std::move(observed), std::move(meaning),
                   std::move(remedy)});
  }
  [[nodiscard]] std::string range() const { return sample_.is_whole ? "" : " among the first keys"; }

  void examine_fences() {
    std::size_t all = 0;
    std::size_t endless = 0;
    const key_sample::entry* without_end = nullptr;
    const key_sample::entry* short_lived = nullptr;
    for (const key_sample::entry& each : sample_.entries) {
      if (each.purpose != key_kind::fence || each.left_ms < -1) continue;
      ++all;
      if (each.left_ms == -1) {
        ++endless;
        without_end = &each;
      } else if (each.is_held && each.left_ms < in_.keep.count() / 2) {
        short_lived = &each;
      }
    }
    if (without_end != nullptr) {
      const std::string name = key_sample::name_of(*without_end, in_.prefix);
      add("fences", grade::warning,
          "fences" + range() + " without an end: " + std::to_string(endless) + " of " + std::to_string(all) +
              ", that of '" + name + "' for one",
          "somebody else has removed it: such a key stays for ever, and takes memory",
          // A name that looks like an option is none that a command line takes there.
          name.starts_with('-')
              ? "the next grant of that name gives it an end"
              : "the next grant gives it an end: holdfast run " + word_for_shell(name) + " -- true");
    }
    if (short_lived != nullptr) add_short_lived(*short_lived);
    if (without_end != nullptr || short_lived != nullptr) return;
    add("fences", grade::kept,
        all == 0 ? "there are none" + range()
                 : "fences" + range() + ", each with an end: " + std::to_string(all));
  }

  /// A holder gives it `keep_idle` or two ttls, whichever is more, with each renewal, and renews in time. So
  /// at least a half is left while it holds. How long an idle name's fence has lived is not known.
  void add_short_lived(const key_sample::entry& fence) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(std::chrono::milliseconds{fence.left_ms});
    const auto keep = std::chrono::ceil<std::chrono::seconds>(in_.keep);
    add("fences", grade::warning,
        "the fence of '" + key_sample::name_of(fence, in_.prefix) + "', which is held, ends in " +
            std::to_string(left.count()) + " s, and keep_idle of this URL is " +
            std::to_string(keep.count()) + " s",
        "its holder has a shorter keep_idle: when it has released, the last token is forgotten sooner, and "
        "tokens fall if the server's clock was set back meanwhile",
        "the same keep_idle in the URLs of all clients");
  }

  void examine_layout() {
    const auto of_kind = [](key_kind purpose) {
      return [purpose](const auto& each) { return each.purpose == purpose && each.left_ms >= -1; };
    };
    const auto& all = sample_.entries;
    const auto older = std::ranges::find_if(all, of_kind(key_kind::older));
    const auto foreign = std::ranges::find_if(all, of_kind(key_kind::foreign));
    if (older != all.end()) {
      const auto endless = std::ranges::find_if(
          all, [](const auto& each) { return each.purpose == key_kind::older && each.left_ms == -1; });
      add("layout", grade::warning,
          "keys of Holdfast 0.1 that are left" + range() + ": " +
              std::to_string(std::ranges::count_if(all, of_kind(key_kind::older))),
          "a client of 0.1 is in use, or was lately: it has a queue of its own, and no common order",
          endless == all.end()
              ? std::string{"update all clients; these keys then end by themselves, within keep_idle"}
              : "update all clients; this key has no end: redis-cli DEL " + key_for_shell(endless->key));
    }
    if (foreign != all.end()) {
      add("layout", grade::warning,
          "keys below the prefix" + range() + " of no layout that this version knows: " +
              std::to_string(std::ranges::count_if(all, of_kind(key_kind::foreign))),
          "a newer Holdfast, or another program, uses the prefix: what it does to the locks is not known",
          "look at one: redis-cli TYPE " + key_for_shell(foreign->key));
    }
    if (older == all.end() && foreign == all.end())
      add("layout", grade::kept, "the side keys" + range() + " are of this version's layout");
  }

  const server_facts& facts_;
  const key_sample& sample_;
  const dialect& in_;
  std::vector<finding>& to_;
};

}  // namespace

void examine_keys(const server_facts& facts, const dialect& in, std::vector<finding>& to) {
  if (facts.side_keys) examination{facts, in, to}.run();
}

}  // namespace holdfast::redis
