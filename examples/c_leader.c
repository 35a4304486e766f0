// SPDX-License-Identifier: Apache-2.0
/* An election from C: this process leads until it is told to stop, with one poll() for its work, for the loss
   of the leadership, and for requests to resign. Here the process asks itself to resign. */

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>

#include <holdfast/holdfast.h>

static int complain(char* message) {
  fprintf(stderr, "%s\n", message != NULL ? message : "out of memory");
  holdfast_free(message);
  return 1;
}

/* Until somebody asks the leader to resign, or it has lost. */
static int lead(holdfast_lease* term) {
  struct pollfd events[2] = {{.events = POLLIN}, {.events = POLLIN}}; /* and those of your work */
  char* message;
  if (holdfast_lease_lost_fd(term, &events[0].fd, &message) != HOLDFAST_OK ||
      holdfast_lease_release_request_fd(term, &events[1].fd, &message) != HOLDFAST_OK)
    return complain(message);
  if (poll(events, 2, 60 * 1000) < 1) return 1;

  if (events[0].revents != 0) {
    fprintf(stderr, "lost: %s\n", holdfast_loss_text(holdfast_lease_loss(term, 0)));
    return 1;
  }
  char* reason;
  if (holdfast_lease_release_request(term, &reason, &message) != HOLDFAST_OK) return complain(message);
  printf("asked to resign: %s\n", reason);
  holdfast_free(reason);
  if (holdfast_lease_release(term, &message) != HOLDFAST_OK) return complain(message);
  return 0;
}

/* What everybody sees of the leader. */
static int show(holdfast_client* locks) {
  holdfast_state* state;
  char* message;
  if (holdfast_inspect_election(locks, "scheduler", &state, &message) != HOLDFAST_OK)
    return complain(message);
  for (size_t i = 0; i < state->holder_count; ++i) {
    const holdfast_claim* leader = state->holders[i];
    printf("%.*s leads, pid %" PRId64 " on %s\n", (int)leader->value_size, (const char*)leader->value,
           leader->pid, leader->host);
  }
  holdfast_state_free(state);
  return 0;
}

int main(void) {
  holdfast_client* locks;
  holdfast_lease* term;
  char* message;
  if (holdfast_client_open(NULL, NULL, &locks, &message) != HOLDFAST_OK) return complain(message);

  const holdfast_spec scheduler = {"scheduler", HOLDFAST_EXCLUSIVE, 0, 0};
  const holdfast_request request = HOLDFAST_REQUEST_INIT(&scheduler, 1);
  const char address[] = "10.0.0.7:8080";
  int status = 0;
  if (holdfast_campaign(locks, &request, address, sizeof address - 1, &term, &message) != HOLDFAST_OK) {
    status = complain(message);
  } else {
    status = show(locks);
    if (status == 0 &&
        holdfast_request_release(locks, "scheduler", 0, "an upgrade", NULL, &message) != HOLDFAST_OK)
      status = complain(message);
    if (status == 0) status = lead(term);
    holdfast_lease_free(term);
  }
  holdfast_client_free(locks);
  return status;
}
