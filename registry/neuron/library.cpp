// Compiled into every library, followed by a table of its kernel functions that is written when it is linked.
#include "torchneuron/library_table.h"

#include <cstring>

#define EXPORTED __attribute__((visibility("default")))

namespace {

constinit char errors[16384] = "";
constinit int operators = 0;
constinit thread_local torchneuron::Call* call = nullptr;

}  // namespace

namespace torchneuron {

extern "C" {

int torchneuron_count_operator() { return ++operators; }

void torchneuron_refuse(const char* text) {
  const auto append = [](const char* part) { std::strncat(errors, part, sizeof(errors) - std::strlen(errors) - 1); };
  if (errors[0] != '\0') { append("\n"); }
  append(text);
}

Call** torchneuron_call() { return &call; }

// For Python: what is wrong, a line for each, or an empty text; and how many operators there are.
EXPORTED const char* torchneuron_errors() { return errors; }
EXPORTED int torchneuron_operators() { return operators; }
}

}  // namespace torchneuron
