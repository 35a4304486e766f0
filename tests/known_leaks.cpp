// SPDX-License-Identifier: Apache-2.0
// What is lost in others' libraries; LeakSanitizer calls this by its name. By the files of the libraries,
// which it knows where nothing tells it the names of functions.

extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions();

extern "C" const char* __lsan_default_suppressions() {
  // A client whose last user lets go in a callback is taken apart by a thread of its own, which the end of
  // the process may overtake. What OpenSSL keeps for that thread is then lost with it: its cleaner has gone
  // before.
  return "leak:libcrypto.so\n"
         // Apache's C client loses a few bytes of an answer that is cut off in its middle.
         "leak:libzookeeper_st\n";
}
