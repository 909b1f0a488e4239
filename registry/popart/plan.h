// The steps of programs, and plans: programs with storage for all their data, ready to run any number of times.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include <poplar/Program.hpp>
#include <poplar/Tensor.hpp>

#include "access.h"
#include "expression.h"

namespace popart_cpu {

// A step of a program: a formula for the elements of tensors, all of which have the shape of the output.
struct Step {
  Formula formula;
  std::vector<poplar::Tensor> inputs;
  poplar::Tensor output;
};

std::shared_ptr<const Step> MakeStep(const std::shared_ptr<const Term>& term, std::vector<poplar::Tensor> inputs,
                                     poplar::Tensor output);

// Calls body(i) for every i in [0, n), possibly in parallel.
using ParallelFor = std::function<void(std::size_t n, const std::function<void(std::size_t)>& body)>;

class Plan {
 public:
  // `outputs` are the tensors of the op's outputs, each with the output's type.
  Plan(const poplar::program::Sequence& program,
       const std::vector<std::pair<poplar::Tensor, poplar::Type>>& outputs);

  // Runs the program. It only reads the inputs. Several threads may run it at the same time.
  void Run(const std::vector<const void*>& inputs, const std::vector<void*>& outputs,
           const ParallelFor& parallel) const;

 private:
  // Scratch memory, an input, an output, or a constant.
  struct Storage {
    enum class Kind { kScratch, kInput, kOutput, kConstant } kind;
    std::size_t bytes;
    std::size_t place;  // offset in the scratch memory, or number of the input or output
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
  int NewScratch(std::size_t bytes);
  // Return where a variable is now, and where it can be written.
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
