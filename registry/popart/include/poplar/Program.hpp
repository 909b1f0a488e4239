// Programs: the steps of an op, in order.
#pragma once

#include <memory>
#include <vector>

#include <poplar/DebugContext.hpp>
#include <poplar/Tensor.hpp>

namespace popart_cpu {
struct Step;
}

namespace poplar {
namespace program {

class Program {
 public:
  Program() {}
  virtual ~Program() {}

  bool isEmpty() const { return steps_.empty(); }
  const std::vector<std::shared_ptr<const popart_cpu::Step>>& steps() const { return steps_; }

 protected:
  std::vector<std::shared_ptr<const popart_cpu::Step>> steps_;
};

class Sequence : public Program {
 public:
  Sequence(const DebugContext& = {}) {}
  Sequence(std::initializer_list<Program> programs, const DebugContext& = {}) {
    for (const Program& each : programs) add(each);
  }

  void add(const Program& program);
  void add(std::shared_ptr<const popart_cpu::Step> step) { steps_.push_back(std::move(step)); }
};

// Copies the elements of a tensor to another one with the same number of elements.
class Copy : public Program {
 public:
  Copy(Tensor source, Tensor destination, bool dontOutline = false, const DebugContext& = {});
};

// Makes the elements undefined from then on.
class WriteUndef : public Program {
 public:
  WriteUndef(Tensor, const DebugContext& = {}) {}
};

}  // namespace program
}  // namespace poplar
