// What cluster_link does for a batch of renewals.

#include <optional>
#include <utility>

#include "stores/redis/link/cluster/cluster_link.hpp"
#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/moving_renewal.hpp"
#include "stores/redis/protocol/redirection.hpp"
#include "stores/redis/protocol/resp.hpp"
#include "stores/redis/protocol/split_renewal.hpp"

namespace holdfast::redis {

void cluster_link::send_split(const tickets::renew& whole, on_reply handler) {
  struct gathered {
    split_renewal parts;
    on_reply handler;
  };
  const auto all =
      std::make_shared<gathered>(gathered{split_renewal{whole, settings_.speech.prefix}, std::move(handler)});
  const std::size_t count = all->parts.parts().size();
  for (std::size_t i = 0; i < count; ++i) {
    const tickets::renew& part = all->parts.parts()[i].request;
    const std::uint16_t slot = settings_.speech.slot_of(part.holds.front().name);
    route(command_for(part,
                      [all, i](const outcome& of_part) {
                        if (auto whole_outcome = all->parts.take(i, of_part))
                          all->handler(std::move(*whole_outcome));
                      }),
          slot);
  }
}

/// The holds are renewed one key at a time.
void cluster_link::on_slot_between_servers(pending_command& refused) {
  if (tickets::is_too_late(refused.fsm->request(), loop().now())) return refused.complete();
  auto whole = std::get<tickets::renew>(refused.fsm->take_request());
  const store::time_point send_by = whole.send_by;
  const auto all = std::make_shared<moving_holds>(
      moving_holds{moving_renewal{std::move(whole), settings_.speech}, nullptr, send_by});
  for (const moving_renewal::step& each : all->renewal.begin())
    renew_by_key(all, each, map_.primary_or(slot_of(each.key), refused.server), false, 0);
  all->handler = std::exchange(refused.handler, nullptr);
  topology_.refresh();
}

void cluster_link::renew_by_key(const std::shared_ptr<moving_holds>& all, const moving_renewal::step& next,
                                const server_address& at, bool is_asking, unsigned redirections) {
  auto c = std::make_unique<pending_command>();
  if (is_asking) append(c->command, {"ASKING"});
  c->command += next.command;
  c->replies_due = is_asking ? 2 : 1;
  c->on_answer = [this, all, next, at, redirections](const value* reply) {
    const bool refused = reply != nullptr && reply->is(value::kind::error);
    const bool is_late = loop().now() >= all->send_by;
    if (const auto to = refused ? redirection_in(reply->text) : std::nullopt;
        to && !is_late && redirections < most_redirections) {
      server_address there = to->to;
      if (there.host.empty()) there.host = at.host;
      return renew_by_key(all, next, there, !to->for_good, redirections + 1);
    }
    auto more = all->renewal.take(next.hold, refused ? nullptr : reply);
    if (more && is_late) more = all->renewal.take(next.hold, nullptr);
    if (more) return renew_by_key(all, *more, map_.primary_or(slot_of(more->key), at), false, 0);
    if (auto result = all->renewal.result()) all->handler(tickets::reply{std::move(*result)});
  };
  push(at, std::move(c));
  kick_soon();
}

}  // namespace holdfast::redis
