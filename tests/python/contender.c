// SPDX-License-Identifier: Apache-2.0
// As contender.cpp, by the functions of C. It visits the witness as other libraries' clients do, in plain
// steps (tests/interop/witness.py), and checks the token besides.

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <holdfast/holdfast.h>

enum { WRITERS = 0, READERS = 8, LAST_TOKEN = 24, FRAGILE_COUNT = 32, COUNT = 40, OVERLAPS = 48 };

static int file;
static int64_t get(off_t place) {
  int64_t value = 0;
  if (pread(file, &value, sizeof value, place) != sizeof value) exit(2);
  return value;
}
static void put(off_t place, int64_t value) {
  if (pwrite(file, &value, sizeof value, place) != sizeof value) exit(2);
}

static void rest(long milliseconds) {
  const struct timespec time = {0, milliseconds * 1000000};
  nanosleep(&time, NULL);
}

static void visit(uint64_t token) {
  if (get(WRITERS) != 0 || get(READERS) != 0 || (uint64_t)get(LAST_TOKEN) >= token) {
    put(OVERLAPS, get(OVERLAPS) + 1);
  }
  put(LAST_TOKEN, (int64_t)token);
  put(READERS, get(READERS) + 1);
  const int64_t seen = get(FRAGILE_COUNT);
  rest(1);
  put(FRAGILE_COUNT, seen + 1);
  put(COUNT, get(COUNT) + 1);
  if (get(WRITERS) != 0 || get(READERS) != 1) put(OVERLAPS, get(OVERLAPS) + 1);
  put(READERS, get(READERS) - 1);
}

static int64_t now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void check(int code, char* message) {
  if (code == HOLDFAST_OK) return;
  fprintf(stderr, "%s\n", message);
  exit(1);
}

int main(int count, char** arguments) {
  if (count != 6) return 2;
  holdfast_client* locks;
  char* message;
  check(holdfast_client_open(arguments[1], NULL, &locks, &message), message);
  const holdfast_spec spec = {arguments[2], HOLDFAST_EXCLUSIVE, 0, 0};
  const holdfast_request request = HOLDFAST_REQUEST_INIT(&spec, 1);
  file = open(arguments[3], O_RDWR);
  const bool campaigns = strcmp(arguments[4], "election") == 0;
  const int64_t end = now_ms() + atoi(arguments[5]);
  int turns = 0;
  for (; turns < 3 || now_ms() < end; ++turns) {
    holdfast_lease* lease;
    if (campaigns) {
      check(holdfast_campaign(locks, &request, "C", 1, &lease, &message), message);
    } else {
      check(holdfast_acquire(locks, &request, &lease, &message), message);
    }
    visit(holdfast_lease_token(lease, 0));
    check(holdfast_lease_release(lease, &message), message);
    holdfast_lease_free(lease);
    rest(5);
  }
  holdfast_client_free(locks);
  printf("%d\n", turns);
  return 0;
}
