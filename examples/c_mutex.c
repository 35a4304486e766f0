// SPDX-License-Identifier: Apache-2.0
/* A lock from C: what may be had for 2 s at most, the token for the resource, a look at the deadline before
   each step. The store is HOLDFAST_STORE, else a file of this user. */

#include <inttypes.h>
#include <stdio.h>

#include <holdfast/holdfast.h>

/* Stands for your work: one step of it, and the resource that refuses a smaller token than it has seen. */
static int remaining_steps = 3;
static void write_step(uint64_t token) {
  printf("step %d, with token %" PRIu64 "\n", remaining_steps, token);
  --remaining_steps;
}

static int complain(char* message) {
  fprintf(stderr, "%s\n", message != NULL ? message : "out of memory");
  holdfast_free(message);
  return 1;
}

int main(void) {
  holdfast_client* locks;
  holdfast_lease* lease;
  char* message;
  if (holdfast_client_open(NULL, NULL, &locks, &message) != HOLDFAST_OK) return complain(message);

  const holdfast_spec stock = {"stock/sku-42", HOLDFAST_EXCLUSIVE, 0, 0};
  holdfast_request request = HOLDFAST_REQUEST_INIT(&stock, 1);
  request.wait_ms = 2000;
  int status = 0;
  if (holdfast_acquire(locks, &request, &lease, &message) == HOLDFAST_OK) {
    while (holdfast_lease_is_held(lease) && remaining_steps > 0) write_step(holdfast_lease_token(lease, 0));
    if (holdfast_lease_release(lease, &message) != HOLDFAST_OK) status = complain(message);
    holdfast_lease_free(lease);
  } else {
    status = complain(message); /* the code says whether others held it or the store does not answer */
  }

  holdfast_client_free(locks);
  return status == 0 && remaining_steps == 0 ? 0 : 1;
}
