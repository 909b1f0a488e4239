// Lends the memory of an output to a kernel for the array that it will return, so that the array need not be copied.
//
// The array is recognized by its size and by the number of arrays of that size that the kernel allocates before it,
// which the previous call has shown. If a temporary array gets the memory instead, the returned array is copied.
#pragma once

#include <atomic>
#include <cstddef>

namespace {

struct Loan {
  static constexpr int kMost = 16;
  char* memory;
  std::size_t bytes;  // 0 if nothing is lent
  bool is_taken;
  int count;          // the number of arrays of that size allocated so far
  void* made[kMost];  // the first of these arrays

  // Returns the memory if it is meant for the array of this size that is being allocated.
  void* Take(std::size_t size, int wanted) {
    if (size != bytes || size == 0 || count != wanted || is_taken) return nullptr;
    is_taken = true;
    return memory;
  }
  void Note(std::size_t size, void* data) {
    if (size != bytes || size == 0) return;
    if (count < kMost) made[count] = data;
    ++count;
  }
  // Returns the position of the returned array among the arrays of that size; -1 if it is not among them.
  int Find(const void* data) const {
    for (int i = (count < kMost ? count : kMost) - 1; i >= 0; --i) {
      if (made[i] == data) return i;
    }
    return -1;
  }
};
thread_local Loan loan;
std::atomic<int> g_wanted{0};

void EndLoan(void* /*data*/, std::size_t /*size*/, void* /*info*/) { loan.is_taken = false; }

}  // namespace
