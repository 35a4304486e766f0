// SPDX-License-Identifier: Apache-2.0
/* An election from C, in an event loop: one poll() for the campaign, the loss of the leadership, requests to
   resign, and your own work. Here the process asks itself to resign. */

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>

#include <holdfast/holdfast.h>

static int complain(char* message) {
  fprintf(stderr, "%s\n", message != NULL ? message : "out of memory");
  holdfast_free(message);
  return 1;
}

/* A text of another process, which may have chosen bytes that control a terminal. */
static void print_foreign(const char* text, size_t size) {
  for (size_t i = 0; i < size; ++i) putchar(text[i] >= ' ' && text[i] <= '~' ? text[i] : '?');
}

static int wait_for(struct pollfd* events, nfds_t count) {
  int ready;
  do ready = poll(events, count, -1);
  while (ready < 0 && errno == EINTR); /* a signal: a program of yours looks for it here */
  return ready;
}

/* The next end of a started operation. */
static holdfast_completion next_of(holdfast_queue* queue) {
  holdfast_completion end;
  struct pollfd event = {holdfast_queue_fd(queue), POLLIN, 0};
  while (!holdfast_queue_next(queue, &end)) wait_for(&event, 1);
  return end;
}

/* Until somebody asks the leader to resign, or it has lost. */
static int lead(holdfast_lease* term, holdfast_queue* queue) {
  struct pollfd events[2] = {{.events = POLLIN}, {.events = POLLIN}}; /* and those of your work */
  char* message;
  if (holdfast_lease_lost_fd(term, &events[0].fd, &message) != HOLDFAST_OK ||
      holdfast_lease_release_request_fd(term, &events[1].fd, &message) != HOLDFAST_OK)
    return complain(message);
  if (wait_for(events, 2) < 0) return 1;

  if (events[0].revents != 0) {
    fprintf(stderr, "lost: %s\n", holdfast_loss_text(holdfast_lease_loss(term, 0)));
    return 1;
  }
  puts("asked to resign");
  if (holdfast_lease_release_start(term, queue, 2, &message) != HOLDFAST_OK) return complain(message);
  const holdfast_completion resigned = next_of(queue);
  return resigned.code == HOLDFAST_OK ? 0 : complain(resigned.message);
}

/* What everybody sees of the leader. */
static int show(holdfast_client* locks) {
  holdfast_state* state;
  char* message;
  if (holdfast_inspect_election(locks, "scheduler", &state, &message) != HOLDFAST_OK)
    return complain(message);
  for (size_t i = 0; i < state->holder_count; ++i) {
    const holdfast_claim* leader = state->holders[i];
    print_foreign(leader->value, leader->value_size);
    printf(" leads, pid %" PRId64 "\n", leader->pid);
  }
  holdfast_state_free(state);
  return 0;
}

static int campaign(holdfast_client* locks, holdfast_queue* queue) {
  const holdfast_spec scheduler = {"scheduler", HOLDFAST_EXCLUSIVE, 0, 0};
  const holdfast_request request = HOLDFAST_REQUEST_INIT(&scheduler, 1);
  const char address[] = "10.0.0.7:8080";
  char* message;
  if (holdfast_campaign_start(locks, &request, address, sizeof address - 1, queue, 1, &message) !=
      HOLDFAST_OK)
    return complain(message);
  const holdfast_completion elected = next_of(queue);
  if (elected.code != HOLDFAST_OK) return complain(elected.message);

  int status = show(locks);
  if (status == 0 &&
      holdfast_request_release(locks, "scheduler", 0, "an upgrade", NULL, &message) != HOLDFAST_OK)
    status = complain(message);
  if (status == 0) status = lead(elected.lease, queue);
  holdfast_lease_free(elected.lease);
  return status;
}

int main(void) {
  holdfast_client* locks;
  holdfast_queue* queue;
  char* message;
  if (holdfast_client_open(NULL, NULL, &locks, &message) != HOLDFAST_OK) return complain(message);
  int status = 1;
  if (holdfast_queue_open(0, &queue, &message) == HOLDFAST_OK) {
    status = campaign(locks, queue);
    holdfast_queue_free(queue);
  } else {
    complain(message);
  }
  holdfast_client_free(locks);
  return status;
}
