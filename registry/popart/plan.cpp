#include "plan.h"

#include <poplar/exceptions.hpp>
#include <popops/Expr.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "functions.h"
#include "kernels.h"

namespace popart_cpu {
namespace {

// Elements computed at a time: everything that a formula needs for them stays in the first-level cache.
constexpr std::size_t kBlock = 512;
// Elements given to a thread at a time, which is also the minimum for using several threads.
constexpr std::size_t kPart = 64 * kBlock;
constexpr std::size_t kAlignment = 64;

std::size_t Aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<char, Free>;

Memory Allocate(std::size_t bytes) {
  auto* memory = static_cast<char*>(std::aligned_alloc(kAlignment, Aligned(std::max<std::size_t>(bytes, 1))));
  if (!memory) throw std::bad_alloc();
  return Memory(memory);
}

Formula Identity(poplar::Type from, poplar::Type to) {
  const auto term = from == to ? popops::expr::_1.term() : popops::expr::Cast(popops::expr::_1, to).term();
  return Compile(*term, {from});
}

// Returns whether a view is all of a variable, in order.
bool IsWhole(const View& view) {
  return view.variable && view.offset == 0 && IsDense(view) && view.n_elements() == view.variable->n_elements;
}

}  // namespace

Plan::Plan(const poplar::program::Sequence& program,
           const std::vector<std::pair<poplar::Tensor, poplar::Type>>& outputs) {
  for (const auto& step : program.steps()) Add(*step);
  for (std::size_t i = 0; i < outputs.size(); ++i) SetOutput(i, outputs[i].first, outputs[i].second);
  for (Storage& storage : storages_) {
    if (storage.kind != Storage::Kind::kScratch) continue;
    storage.place = scratch_;
    scratch_ += Aligned(storage.bytes);
  }
}

void Plan::Add(const Step& step) {
  const View& out = *step.output.view();
  const std::size_t n_elements = out.n_elements();
  std::vector<Access> inputs;
  for (const poplar::Tensor& each : step.inputs) inputs.push_back(Resolve(*each.view(), false));
  if (out.variable && out.variable->is_constant) throw poplar::poplar_error("a constant cannot be changed");
  // Write to new memory, because other views may still read the old contents.
  const int made = NewScratch(n_elements * out.type.size());
  operations_.push_back({step.formula, std::move(inputs), DenseAccess(out.type, made), n_elements});
  if (IsWhole(out)) {
    current_[out.variable] = made;
  } else {
    Access target = Resolve(out, true);  // may add operations
    operations_.push_back({Identity(out.type, out.type), {DenseAccess(out.type, made)}, std::move(target), n_elements});
  }
}

int Plan::NewScratch(std::size_t bytes) {
  storages_.push_back({Storage::Kind::kScratch, bytes, 0});
  return static_cast<int>(storages_.size()) - 1;
}

int Plan::Find(const std::shared_ptr<const Variable>& variable) {
  const auto found = current_.find(variable);
  if (found != current_.end()) return found->second;
  const std::size_t bytes = variable->n_elements * variable->type.size();
  Storage storage{Storage::Kind::kScratch, bytes, 0};
  if (variable->is_constant) {
    storage = {Storage::Kind::kConstant, bytes, 0, variable};
  } else if (variable->input >= 0) {
    storage = {Storage::Kind::kInput, bytes, static_cast<std::size_t>(variable->input)};
  } else {
    storage.is_zeroed = true;  // its contents are undefined
  }
  storages_.push_back(storage);
  return current_[variable] = static_cast<int>(storages_.size()) - 1;
}

int Plan::FindWritable(const std::shared_ptr<const Variable>& variable) {
  const int found = Find(variable);
  if (storages_[found].kind == Storage::Kind::kScratch) return found;
  if (storages_[found].kind == Storage::Kind::kConstant) throw poplar::poplar_error("a constant cannot be changed");
  const int made = NewScratch(storages_[found].bytes);
  operations_.push_back({Identity(variable->type, variable->type), {DenseAccess(variable->type, found)},
                         DenseAccess(variable->type, made), variable->n_elements});
  return current_[variable] = made;
}

Access Plan::Resolve(const View& view, bool is_written) {
  const auto find = [&](const auto& variable) { return is_written ? FindWritable(variable) : Find(variable); };
  if (view.variable) return AccessOf(view, find(view.variable));
  std::vector<int> storages;
  for (const auto& variable : view.table->variables) storages.push_back(find(variable));
  Access access{Access::Kind::kTable, view.type, 0, 0};
  for (int64_t index : Indices(view)) {
    const Table::Element& element = view.table->elements[index];
    access.elements.push_back({storages[element.variable], element.index});
  }
  return access;
}

void Plan::SetOutput(std::size_t number, const poplar::Tensor& tensor, poplar::Type type) {
  const View& view = *tensor.view();
  const std::size_t bytes = view.n_elements() * type.size();
  if (IsWhole(view) && view.type == type) {
    Storage& storage = storages_[Find(view.variable)];
    if (storage.kind == Storage::Kind::kScratch && !storage.is_zeroed) {
      storage.kind = Storage::Kind::kOutput;
      storage.place = number;
      return;
    }
  }
  Access access = Resolve(view, false);
  storages_.push_back({Storage::Kind::kOutput, bytes, number});
  operations_.push_back({Identity(view.type, type), {std::move(access)},
                         DenseAccess(type, static_cast<int>(storages_.size()) - 1), view.n_elements()});
}

void Plan::Run(const std::vector<const void*>& inputs, const std::vector<void*>& outputs,
               const ParallelFor& parallel) const {
  const Memory scratch = Allocate(scratch_);
  std::vector<Memory> others;
  std::vector<char*> places;
  for (const Storage& storage : storages_) {
    switch (storage.kind) {
      case Storage::Kind::kInput: places.push_back(static_cast<char*>(const_cast<void*>(inputs[storage.place]))); break;
      case Storage::Kind::kConstant: places.push_back(const_cast<char*>(storage.variable->constant.data())); break;
      case Storage::Kind::kScratch:
        places.push_back(scratch.get() + storage.place);
        if (storage.is_zeroed) std::memset(places.back(), 0, storage.bytes);
        break;
      case Storage::Kind::kOutput:
        places.push_back(static_cast<char*>(outputs[storage.place]));
        if (!places.back()) {  // the output is not requested
          others.push_back(Allocate(storage.bytes));
          places.back() = others.back().get();
        }
        break;
    }
  }
  for (const Operation& operation : operations_) RunOperation(operation, places, parallel);
}

namespace {

void FillConstant(const Formula::Constant& constant, void* block) {
  const bool is_half = constant.type == poplar::HALF;
  const long double value =
      is_half ? HalfToFloat(FloatToHalf(static_cast<float>(constant.value))) : constant.value;
  ForType<TakesAll>(constant.type, [&](auto element) {
    using T = decltype(element);
    std::fill_n(static_cast<T*>(block), kBlock, ConstantAs<T>(value));
  });
}

}  // namespace

void Plan::RunOperation(const Operation& operation, const std::vector<char*>& places,
                        const ParallelFor& parallel) const {
  const Formula& formula = operation.formula;
  const int n_operands = formula.n_operands;
  // Registers for operands that cannot be used in place, then those of the formula.
  std::vector<std::size_t> sizes;
  for (const Access& each : operation.inputs) sizes.push_back(SizeInBlock(each.type));
  sizes.insert(sizes.end(), formula.sizes.begin(), formula.sizes.end());
  std::vector<std::size_t> offsets;
  std::size_t bytes = 0;
  for (std::size_t size : sizes) {
    offsets.push_back(bytes);
    bytes += Aligned(size * kBlock);
  }
  const int last = formula.code.empty() ? -1 : formula.code.back().out;

  const auto run = [&](std::size_t first, std::size_t end) {
    const Memory memory = Allocate(bytes);
    std::vector<char*> own;
    for (std::size_t offset : offsets) own.push_back(memory.get() + offset);
    for (const Formula::Constant& each : formula.constants) FillConstant(each, own[each.out]);
    std::vector<char*> registers = own;
    for (std::size_t begin = first; begin < end; begin += kBlock) {
      const std::size_t n = std::min(kBlock, end - begin);
      for (int i = 0; i < n_operands; ++i) {
        const Access& access = operation.inputs[i];
        registers[i] = InPlace(access, places, begin);
        if (registers[i]) continue;
        registers[i] = own[i];
        if (access.kind != Access::Kind::kUniform) {
          Load(access, places, begin, n, own[i]);
        } else if (begin == first) {
          Load(access, places, begin, kBlock, own[i]);
        }
      }
      char* out = InPlace(operation.output, places, begin);
      for (const Formula::Instruction& each : formula.code) {
        const auto in = [&](int k) { return each.in[k] < 0 ? nullptr : registers[each.in[k]]; };
        const bool is_last = &each == &formula.code.back();
        each.kernel(is_last && out ? out : registers[each.out], in(0), in(1), in(2), n);
      }
      if (!out || last < 0) Store(operation.output, places, begin, n, registers[formula.result]);
    }
  };
  const std::size_t n_parts = (operation.n_elements + kPart - 1) / kPart;
  if (n_parts <= 1) return run(0, operation.n_elements);
  parallel(n_parts, [&](std::size_t i) { run(i * kPart, std::min((i + 1) * kPart, operation.n_elements)); });
}

}  // namespace popart_cpu
