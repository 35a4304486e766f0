#include "stores/sqlite/link/link.hpp"

#include <algorithm>
#include <map>
#include <thread>
#include <utility>

#include "stores/sql/protocol/call.hpp"
#include "stores/sqlite/link/fork_guard.hpp"

namespace holdfast::sqlite {

namespace {

bool only_reads(const tickets::request& r) {
  return r.what == tickets::task::inspect || r.what == tickets::task::list;
}

store::noticed notice_of(std::int64_t token) {
  const auto what = token > 0 ? store::notice::granted : store::notice::revoked;
  return {what, fencing_token{static_cast<std::uint64_t>(token > 0 ? token : -token)}};
}

}  // namespace

link::link(runtime::event_loop& on, const database::settings& s, std::function<void()> prepare)
    : batching_link{on},
      settings_{s},
      prepare_{std::move(prepare)},
      database_{(fork_guard::close_inherited(), database::find(s))},
      mailbox_{on, s.path,
               [this](const std::vector<letter>& letters) {
                 std::vector<word> words;
                 words.reserve(letters.size());
                 for (const letter& l : letters) words.push_back({l.owner, notice_of(l.token)});
                 say_now(words);
               }},
      watchers_{on} {
  if (database_) prepare_ = nullptr;
  fork_guard::add(*this);
  start();
}

link::~link() { fork_guard::remove(*this); }

void link::shut() {
  batching_link::shut();
  mailbox_.close();
  changes_.reset();
}

std::shared_ptr<void> link::watch(std::function<void()> changed) {
  if (!changes_)
    changes_ = std::make_unique<change_watch>(owner(), settings_.path, [this] { watchers_.ring(); });
  return watchers_.add(std::move(changed));
}

/// Leaves null where there is nothing, and nobody claims anything.
void link::open_for(const std::vector<job>& batch) {
  claims_ = claims_ || std::any_of(batch.begin(), batch.end(),
                                   [](const job& j) { return j.request.what == tickets::task::acquire; });
  if (!database_ || !database_->is_in_place()) {
    database_.reset();
    if (claims_ && prepare_) {
      prepare_();
      prepare_ = nullptr;  // a folder that goes while there are claims is not made again
    }
    // Others who keep it busy are waited for outside, where each request has its own limit.
    database::settings hasty = settings_;
    hasty.opening_limit = std::min<duration>(hasty.opening_limit, std::chrono::milliseconds{100});
    database_ = claims_ ? std::make_unique<database>(hasty) : database::find(hasty);
  }
  if (claims_) mailbox_.open();
}

bool link::execute(std::vector<job>& batch, bool last_try) {
  const auto fail_all = [&](const store::trouble& why) {
    for (job& j : batch) j.result = why;
    return true;
  };
  std::vector<told> words;
  try {
    open_for(batch);
    if (!database_) {
      for (job& j : batch) j.result = sql::reply_of_nothing(j.request);
      return true;
    }
    const bool reads =
        std::all_of(batch.begin(), batch.end(), [](const job& j) { return only_reads(j.request); });
    if (!begin(reads ? database::access::read : database::access::write)) {
      return last_try &&
             fail_all({{errc::unavailable,
                        settings_.path +
                            ": another process keeps it busy; look for one that holds a transaction open"},
                       true,
                       false});
    }
    for (job& j : batch) j.result = database_->carry_out(j.request, mailbox_.address(), words);
    if (!reads) database_->sweep_if_due();
    database_->commit();
  } catch (const broken& b) {
    if (database_) database_->roll_back();
    if (b.why.what.code != errc::exhausted) database_.reset();
    return fail_all(b.why);
  } catch (const error& e) {
    return fail_all(
        {{e.code(), e.detail()}, e.code() == errc::unavailable || e.code() == errc::exhausted, false});
  }
  deliver(words);
  return true;
}

/// Others hold the file for microseconds as a rule: less than it takes to sleep.
bool link::begin(database::access mode) {
  constexpr int tries = 50;
  for (int i = 0; i < tries; ++i) {
    if (database_->begin(mode)) return true;
    std::this_thread::yield();
  }
  return false;
}

void link::deliver(const std::vector<told>& words) {
  std::map<owner_id, std::vector<letter>> away;
  for (const told& t : words) {
    if (t.client == mailbox_.address()) {
      say({t.owner, notice_of(t.token)});
    } else {
      away[t.client].push_back({t.owner, t.token});
    }
  }
  for (const auto& [client, letters] : away) mailbox_.send(client, letters);
}

}  // namespace holdfast::sqlite
