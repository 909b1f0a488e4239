// Failed results that stay failed. MXNet forgets a failure as soon as it has told it once: whoever reads the array once
// more, or another one that was computed from it, finds old numbers.
#ifndef PYKERNELS_REGISTRY_MXNET_BROKEN_H_
#define PYKERNELS_REGISTRY_MXNET_BROKEN_H_

#include <cstddef>
#include <exception>
#include <string>
#include <vector>

#include "layout.h"

namespace pykernels::mxnet {

// Why a call of ours failed. Guarded by the mutex of the broken arrays.
struct Failure : dmlc::Error {
  explicit Failure(const std::string& text);
  const void* owner;  // another registrar in the process has failures of its own
  mutable size_t told = 0;  // which one of all that have been told, from 1 on
};

// From now on every read of a broken array fails, until the array is written anew, and so does every new array that is
// computed from one. Does nothing for MXNet's engine without threads, where calls fail at once.
void WatchEngine(Engine* engine);
void UnwatchEngine(Engine* engine);

// `arrays` are being written by an operation that fails with `failure`, which holds a `Failure`.
void MarkBroken(const std::vector<const void*>& arrays, const std::exception_ptr& failure);

// Lives while a Python operator, which MXNet hands arrays of its own for the same memory, may write `arrays`.
class ResultScope {
 public:
  explicit ResultScope(const std::vector<void*>& arrays);
  ResultScope(const ResultScope&) = delete;
  ResultScope& operator=(const ResultScope&) = delete;
  ~ResultScope();

 private:
  std::vector<const void*> data_;
};

// The same for the arrays of a `ResultScope` with this memory. Whether all of them were found: whoever waits for one, or
// for all of MXNet, will then be told, and the operation need not fail for MXNet, which would make a copy of the failure
// that does not know when it has been told.
bool MarkResultsBroken(const std::vector<const void*>& data, const std::exception_ptr& failure);

// Lives while a Python operator runs on this thread and writes the arrays of a `ResultScope` with this memory. It then
// must not wait for what is not there before it ends.
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

// Whether a `ClassScope` lives on this thread.
bool IsInClass();

// Lives while a kernel runs on a thread of the engine, which then must not wait for the engine: it would for itself.
class KernelScope {
 public:
  KernelScope();
  KernelScope(const KernelScope&) = delete;
  KernelScope& operator=(const KernelScope&) = delete;
  ~KernelScope();
};

}  // namespace pykernels::mxnet

#endif  // PYKERNELS_REGISTRY_MXNET_BROKEN_H_
