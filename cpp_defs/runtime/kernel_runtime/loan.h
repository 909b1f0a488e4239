// The memory of an output, lent to a kernel for the array that it is going to return: that need not be copied then.
//
// The array is known by its size, and by how many others of that size are made before it; that is learnt from the call
// before. Whatever else is lent the memory is a temporary array like others: what is returned instead is copied.
#ifndef PYKERNELS_RUNTIME_KERNEL_RUNTIME_LOAN_H_
#define PYKERNELS_RUNTIME_KERNEL_RUNTIME_LOAN_H_

#include <atomic>
#include <cstddef>

namespace {

struct Loan {
  static constexpr int kMost = 16;
  char* memory;
  std::size_t bytes;  // 0 if nothing is lent
  bool is_taken;
  int count;          // of arrays of that size that have been made
  void* made[kMost];  // the first of these

  // The memory, if it is meant for an array of this size that is made now.
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
  // Of the arrays of that size, the number of the one that is returned; -1 if it is none of them.
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

#endif  // PYKERNELS_RUNTIME_KERNEL_RUNTIME_LOAN_H_
