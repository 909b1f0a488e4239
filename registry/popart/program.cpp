// The steps that functions of Poplar and its libraries add to programs.
#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <popops/ElementWise.hpp>
#include <poputil/exceptions.hpp>

#include <cstring>

#include "../host/error.h"
#include "functions.h"
#include "plan.h"
#include "view.h"

namespace popart_cpu {

std::shared_ptr<const Step> MakeStep(const std::shared_ptr<const Term>& term, std::vector<poplar::Tensor> inputs,
                                     poplar::Tensor output) {
  std::vector<poplar::Type> types;
  for (const poplar::Tensor& each : inputs) types.push_back(each.elementType());
  return std::make_shared<Step>(Step{Compile(*term, types), std::move(inputs), std::move(output)});
}

namespace {

poplar::Tensor NewVariable(poplar::Type type, std::vector<std::size_t> shape) {
  auto variable = std::make_shared<Variable>();
  variable->type = type;
  variable->n_elements = Product(shape);
  return TensorOf(std::move(variable), std::move(shape));
}

// Stores a number as an element of a tensor.
void StoreNumber(char* to, poplar::Type type, double value) {
  const auto copy = [to](auto stored) { std::memcpy(to, &stored, sizeof stored); };
  if (type == poplar::HALF) return copy(FloatToHalf(static_cast<float>(value)));
  ForType<TakesAll>(type, [&](auto element) { copy(ConstantAs<decltype(element)>(value)); });
}

}  // namespace
}  // namespace popart_cpu

namespace poplar {

using popart_cpu::Product;

Tensor Graph::addVariable(Type type, ArrayRef<std::size_t> shape, const DebugContext&) {
  return popart_cpu::NewVariable(type, shape);
}

std::size_t Graph::Count(ArrayRef<std::size_t> shape) { return Product(shape); }

Tensor Graph::Constant(Type type, ArrayRef<std::size_t> shape, const std::vector<double>& values) {
  if (type == Type()) throw poplar_error("addConstant(): the type is missing");
  auto variable = std::make_shared<popart_cpu::Variable>();
  variable->type = type;
  variable->n_elements = values.size();
  variable->is_constant = true;
  variable->constant.resize(values.size() * type.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    popart_cpu::StoreNumber(variable->constant.data() + i * type.size(), type, values[i]);
  }
  if (values.size() == Product(shape)) return popart_cpu::TensorOf(std::move(variable), shape);
  return popart_cpu::BroadcastTo(popart_cpu::TensorOf(std::move(variable), {}), shape);
}

Tensor Graph::AllOf(Type type, ArrayRef<std::size_t> shape, const std::vector<double>& values) {
  if (values.size() != Product(shape)) {
    throw poplar_error(pykernels::Join("addConstant(): ", values.size(), " values for a tensor of shape ",
                                       popart_cpu::ShapeText(shape)));
  }
  return Constant(type, shape, values);
}

namespace program {

void Sequence::add(const Program& program) {
  // Copy the steps first: a program may be added to itself.
  const auto steps = program.steps();
  steps_.insert(steps_.end(), steps.begin(), steps.end());
}

Copy::Copy(Tensor source, Tensor destination, bool, const DebugContext&) {
  if (source.numElements() != destination.numElements() || source.elementType() != destination.elementType()) {
    throw poplar_error(pykernels::Join("Copy from ", source, " to ", destination,
                                       ": they need the same element type and as many elements"));
  }
  steps_.push_back(
      popart_cpu::MakeStep(popops::expr::_1.term(), {source.reshape(destination.shape())}, destination));
}

}  // namespace program
}  // namespace poplar

namespace popops {
namespace {

// Runs `body` and adds the user's name for the step to any error.
template <typename Body>
void Named(const char* function, const poplar::DebugContext& context, const Body& body) {
  try {
    body();
  } catch (const std::exception& error) {
    const std::string& name = context.getPathName();
    throw poputil::poplibs_error(pykernels::Join(function, name.empty() ? "" : " '" + name + "'", ": ", error.what()));
  }
}

void Add(const expr::Expr& expr, const std::vector<poplar::Tensor>& ts, const poplar::Tensor& out,
         poplar::program::Sequence& prog) {
  std::vector<poplar::Tensor> inputs;
  for (const poplar::Tensor& each : ts) inputs.push_back(popart_cpu::BroadcastTo(each, out.shape()));
  auto step = popart_cpu::MakeStep(expr.term(), std::move(inputs), out);
  if (step->formula.type != out.elementType()) {
    throw poputil::poplibs_error(
        pykernels::Join("the expression is ", step->formula.type, ", but the tensor for it is ", out.elementType()));
  }
  prog.add(std::move(step));
}

}  // namespace

poplar::Tensor map(poplar::Graph& graph, const expr::Expr& expr, const std::vector<poplar::Tensor>& ts,
                   poplar::program::Sequence& prog, const poplar::DebugContext& context, const poplar::OptionFlags&) {
  poplar::Tensor out;
  Named("popops::map", context, [&] {
    std::vector<poplar::Type> types;
    for (const poplar::Tensor& each : ts) types.push_back(each.elementType());
    const poplar::Type type = popart_cpu::Compile(*expr.term(), types).type;
    out = graph.addVariable(type, popart_cpu::BroadcastShape(ts), context);
    Add(expr, ts, out, prog);
  });
  return out;
}

void mapInPlace(poplar::Graph&, const expr::Expr& expr, const std::vector<poplar::Tensor>& ts,
                poplar::program::Sequence& prog, const poplar::DebugContext& context, const poplar::OptionFlags&) {
  Named("popops::mapInPlace", context, [&] {
    if (ts.empty()) throw poputil::poplibs_error("the list of tensors is empty");
    Add(expr, ts, ts[0], prog);
  });
}

void mapWithOutput(poplar::Graph&, const expr::Expr& expr, const std::vector<poplar::Tensor>& ts,
                   const poplar::Tensor& out, poplar::program::Sequence& prog, const poplar::DebugContext& context,
                   const poplar::OptionFlags&) {
  Named("popops::mapWithOutput", context, [&] { Add(expr, ts, out, prog); });
}

}  // namespace popops
