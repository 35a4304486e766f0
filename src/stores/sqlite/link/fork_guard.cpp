#include "stores/sqlite/link/fork_guard.hpp"

#include <mutex>
#include <pthread.h>
#include <set>

#include "stores/sqlite/link/link.hpp"

namespace holdfast::sqlite {

namespace {

// Never destroyed: a fork may come as late as the program's last destructor.
std::mutex& mutex = *new std::mutex;
std::set<link*>& links = *new std::set<link*>;
std::set<link*>& inherited = *new std::set<link*>;

}  // namespace

void fork_guard::add(link& l) {
  [[maybe_unused]] static const int registered = ::pthread_atfork(before_fork, in_parent, in_child);
  const std::lock_guard hold{mutex};
  links.insert(&l);
}

void fork_guard::remove(link& l) noexcept {
  const std::lock_guard hold{mutex};
  links.erase(&l);
}

void fork_guard::before_fork() noexcept {
  mutex.lock();
  for (link* l : links) l->executing().lock();
}

void fork_guard::in_parent() noexcept {
  for (link* l : links) l->executing().unlock();
  mutex.unlock();
}

void fork_guard::in_child() noexcept {
  for (link* l : links) l->executing().unlock();
  inherited.merge(links);
  links.clear();
  mutex.unlock();
}

void fork_guard::close_inherited() {
  const std::lock_guard hold{mutex};
  for (link* l : inherited) l->database_.reset();
  inherited.clear();
}

}  // namespace holdfast::sqlite
