// A program with places for all that it reads and writes, ready to run any number of times.
#ifndef PYKERNELS_REGISTRY_POPART_PLAN_H_
#define PYKERNELS_REGISTRY_POPART_PLAN_H_

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include <poplar/Program.hpp>
#include <poplar/Tensor.hpp>

#include "access.h"
#include "step.h"

namespace popart_cpu {

// Calls body(i) for every i of [0, n), maybe at the same time.
using ParallelFor = std::function<void(std::size_t n, const std::function<void(std::size_t)>& body)>;

class Plan {
 public:
  // `outputs` are the tensors of the op's outputs, each with the type that the output has.
  Plan(const poplar::program::Sequence& program,
       const std::vector<std::pair<poplar::Tensor, poplar::Type>>& outputs);

  // What inputs are in is only read. Several threads may run it at the same time.
  void Run(const std::vector<const void*>& inputs, const std::vector<void*>& outputs,
           const ParallelFor& parallel) const;

 private:
  // Memory of its own, of an input or of an output, or a constant.
  struct Storage {
    enum class Kind { kScratch, kInput, kOutput, kConstant } kind;
    std::size_t bytes;
    std::size_t place;  // in the scratch memory; the number of the input or output
    std::shared_ptr<const Variable> variable{};
    bool is_zeroed = false;
  };
  struct Operation {
    Formula formula;
    std::vector<Access> inputs;
    Access output;
    std::size_t n_elements;
  };

  void Add(const Step& step);
  void AddOperation(const Formula& formula, std::vector<Access> inputs, Access output, std::size_t n_elements);
  int NewScratch(std::size_t bytes);
  // Where a variable is now, and where it can be written to.
  int Find(const std::shared_ptr<const Variable>& variable);
  int FindWritable(const std::shared_ptr<const Variable>& variable);
  Access Resolve(const View& view, bool is_written);
  void SetOutput(std::size_t number, const poplar::Tensor& tensor, poplar::Type type);
  void RunOperation(const Operation& operation, const std::vector<char*>& places, const ParallelFor& parallel) const;

  std::vector<Storage> storages_;
  std::map<std::shared_ptr<const Variable>, int> current_;
  std::vector<Operation> operations_;
  std::size_t scratch_ = 0;
};

}  // namespace popart_cpu

#endif  // PYKERNELS_REGISTRY_POPART_PLAN_H_
