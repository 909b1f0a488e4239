// Keeps failed results failed. MXNet forgets a failure once it has reported it: later reads of the array, or of arrays
// computed from it, return stale values.
#pragma once

#include <cstddef>
#include <exception>
#include <string>
#include <vector>

#include "layout.h"

namespace pykernels::mxnet {

// The reason why one of our calls failed. Guarded by the mutex of the broken arrays.
struct Failure : dmlc::Error {
  explicit Failure(const std::string& text);
  const void* owner;  // distinguishes the failures of other registrars in the process
  mutable size_t reported = 0;  // its number among all reported failures, from 1; 0 before it is reported
};

// Makes every read of a broken array fail until the array is written again, and likewise for every new array computed
// from it. Does nothing for MXNet's engine without threads, where calls fail immediately.
void WatchEngine(Engine* engine);
void UnwatchEngine(Engine* engine);

// Marks `arrays` as broken: the operation that writes them fails with `failure`, which holds a `Failure`.
void MarkBroken(const std::vector<const void*>& arrays, const std::exception_ptr& failure);

// Exists while a Python operator may write `arrays`. MXNet gives the operator other arrays that share their memory.
class ResultScope {
 public:
  explicit ResultScope(const std::vector<void*>& arrays);
  ResultScope(const ResultScope&) = delete;
  ResultScope& operator=(const ResultScope&) = delete;
  ~ResultScope();

 private:
  std::vector<const void*> data_;
};

// Marks the arrays of a `ResultScope` with this memory as broken, and returns whether all of them were found. If so,
// the next wait for one of them or for all of MXNet reports the failure, and the operation need not fail in MXNet,
// which would copy the failure and lose track of whether it was reported.
bool MarkResultsBroken(const std::vector<const void*>& data, const std::exception_ptr& failure);

// Exists while a Python operator runs on this thread and writes the arrays of a `ResultScope` with this memory. The
// operator must not wait for results that exist only after it ends.
class ClassScope {
 public:
  explicit ClassScope(const std::vector<const void*>& data);
  ClassScope(const ClassScope&) = delete;
  ClassScope& operator=(const ClassScope&) = delete;
  ~ClassScope();

 private:
  std::vector<const ThreadedVar*> written_;
  const std::vector<const ThreadedVar*>* const outer_;
};

// Returns whether a `ClassScope` exists on this thread.
bool IsInClass();

// Exists while a kernel runs on a thread of the engine. The kernel must not wait for the engine, which waits for it.
class KernelScope {
 public:
  KernelScope();
  KernelScope(const KernelScope&) = delete;
  KernelScope& operator=(const KernelScope&) = delete;
  ~KernelScope();
};

}  // namespace pykernels::mxnet
