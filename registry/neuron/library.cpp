// Part of every library. Linking appends a table of the library's kernel functions.
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

// For Python: the errors, one per line, or an empty text; and the number of operators.
EXPORTED const char* torchneuron_errors() { return errors; }
EXPORTED int torchneuron_operators() { return operators; }
}

}  // namespace torchneuron
