#include "stores/redis/link/unflushed_nodes.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::redis {

void unflushed_nodes::add(const node_ptr& server) {
  const annotated::lock held{mutex_};
  if (std::find(nodes_.begin(), nodes_.end(), server) == nodes_.end()) nodes_.push_back(server);
}

std::vector<unflushed_nodes::node_ptr> unflushed_nodes::take() {
  const annotated::lock held{mutex_};
  return std::exchange(nodes_, {});
}

void unflushed_nodes::help(store::caller& caller, runtime::connection_reader& reader) {
  const std::vector<node_ptr> nodes = take();
  for (const node_ptr& each : nodes) each->flush_unless_read();
  reader.serve(caller);
  for (const node_ptr& each : nodes) each->kick();
}

void unflushed_nodes::drive() {
  for (const node_ptr& each : take()) each->flush();
}

void unflushed_nodes::kick() {
  for (const node_ptr& each : take()) each->kick();
}

}  // namespace holdfast::redis
