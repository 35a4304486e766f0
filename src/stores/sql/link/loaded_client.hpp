// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

// With HOLDFAST_LOADED_CLIENTS the library is not linked with the clients of databases. It loads one when a
// URL first asks for its store, so that a machine without such a database needs no client of it.

namespace holdfast::sql {

/// A function of a client, and where its address is put.
struct client_function {
  const char* name;
  void** address;
};

/// Loads a client's library, which stays loaded, and finds its functions.
/// \param file its name, as the loader knows it.
/// \param packages which ones of Debian, and of others, have it.
/// \throws error unavailable: it is not installed, or is too old to have all functions.
void load_client(const char* file, const char* packages, std::span<const client_function> functions);

}  // namespace holdfast::sql

// HOLDFAST_FORWARDED(NAME): defines the client's function, as a jump to the address that is found for it.
#if defined(__x86_64__)
#define HOLDFAST_JUMP(NAME) "endbr64\n jmp *holdfast_address_of_" #NAME "(%rip)\n"
#elif defined(__aarch64__)
#define HOLDFAST_JUMP(NAME)                                                                              \
  "hint #34\n adrp x16, holdfast_address_of_" #NAME "\n ldr x16, [x16, :lo12:holdfast_address_of_" #NAME \
  "]\n br x16\n"
#else
#error "HOLDFAST_LOADED_CLIENTS is for x86-64 and aarch64"
#endif
#define HOLDFAST_FORWARDED(NAME)                                                              \
  extern "C" {                                                                                \
  __attribute__((visibility("hidden"))) void* holdfast_address_of_##NAME = nullptr;           \
  }                                                                                           \
  asm(".pushsection .text\n .balign 16\n .globl " #NAME "\n .hidden " #NAME "\n .type " #NAME \
      ", %function\n" #NAME ":\n " HOLDFAST_JUMP(NAME) " .size " #NAME ", . - " #NAME "\n .popsection\n");
#define HOLDFAST_CLIENT_FUNCTION(NAME) {#NAME, &holdfast_address_of_##NAME},
