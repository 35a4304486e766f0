// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/link/fork_guard.hpp"

#include <pthread.h>
#include <set>

#include "base/annotated_mutex.hpp"
#include "stores/sqlite/link/link.hpp"

namespace holdfast::sqlite {

namespace {

// Never destroyed: a fork may come as late as the program's last destructor.
annotated::mutex& reader_mutex = *new annotated::mutex;
annotated::mutex& mutex = *new annotated::mutex;
std::set<link*>& links HOLDFAST_GUARDED_BY(mutex) = *new std::set<link*>;
std::set<link*>& inherited HOLDFAST_GUARDED_BY(mutex) = *new std::set<link*>;

}  // namespace

void fork_guard::watch_forks() {
  [[maybe_unused]] static const int registered = ::pthread_atfork(before_fork, in_parent, in_child);
}

void fork_guard::add(link& l) {
  watch_forks();
  const annotated::lock held{mutex};
  links.insert(&l);
}

void fork_guard::remove(link& l) noexcept {
  const annotated::lock held{mutex};
  links.erase(&l);
}

annotated::mutex& fork_guard::reading() {
  watch_forks();
  return reader_mutex;
}

// The three around a fork lock and unlock as many mutexes as there are links, which the analysis cannot
// follow.

void fork_guard::before_fork() noexcept HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
  reader_mutex.lock();
  mutex.lock();
  for (link* l : links) l->executing().lock();
}

void fork_guard::in_parent() noexcept HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
  for (link* l : links) l->executing().unlock();
  mutex.unlock();
  reader_mutex.unlock();
}

void fork_guard::in_child() noexcept HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
  for (link* l : links) l->executing().unlock();
  inherited.merge(links);
  links.clear();
  mutex.unlock();
  reader_mutex.unlock();
}

void fork_guard::close_replaced(const std::string& path) {
  const annotated::lock held{mutex};
  for (link* l : links) {
    if (l->settings_.path != path) continue;
    const annotated::lock at_rest{l->executing()};
    l->close_if_replaced();
  }
}

/// Only tries: a fork() holds the mutex while it waits for the link that calls this.
bool fork_guard::try_to_close_replaced(const link& opening) {
  if (!mutex.try_lock()) return false;
  const annotated::lock held{mutex, std::adopt_lock};
  bool all = true;
  for (link* l : links) {
    if (l == &opening || l->settings_.path != opening.settings_.path) continue;
    if (l->executing().try_lock()) {
      const annotated::lock at_rest{l->executing(), std::adopt_lock};
      l->close_if_replaced();
    } else {
      all = false;
    }
  }
  return all;
}

void fork_guard::close_inherited() {
  const annotated::lock held{mutex};
  for (link* l : inherited) {
    const annotated::lock at_rest{l->executing()};
    l->database_.reset();
  }
  inherited.clear();
}

}  // namespace holdfast::sqlite
