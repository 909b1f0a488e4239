// Defines a Python module that creates a ParameterizedOp.
#pragma once

#include <map>
#include <memory>
#include <string>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <popart/op/custom/parameterizedop.hpp>

namespace popart_cpu {

// Returns the number of an op for the functions of interface.h; throws the op's errors.
int64_t keep(std::unique_ptr<popart::Op> op);

// The class that Python uses.
template <typename OP>
struct Binding {};

}  // namespace popart_cpu

namespace popart {
namespace ir {
namespace op {

template <typename OP>
void makeParameterizedOpBindings(pybind11::module m, const char* name) {
  namespace py = pybind11;
  using Params = typename OP::ParamsType;
  using Ids = std::map<int, TensorId>;

  const auto create = [](py::object graph, const Ids& inputs, const Ids& outputs, py::object opid, const Params& params,
                         py::object settings) {
    OperatorIdentifier id = OP::defaultOperatorId();
    if (!opid.is_none()) {
      id.domain = py::cast<std::string>(opid.attr("domain"));
      id.type = py::cast<std::string>(opid.attr("type"));
      id.version = py::cast<unsigned>(opid.attr("version"));
    }
    const int64_t number = popart_cpu::keep(std::unique_ptr<Op>(new OP(id, params, Op::Settings())));
    const py::object append = py::module_::import("pykernels.vendors.popxl.cpp_op").attr("create");
    return append(graph, number, inputs, outputs, settings);
  };
  // Local, because old and new modules of the same op do not know of each other.
  py::class_<popart_cpu::Binding<OP>> binding(m, name, py::module_local());
  binding.def_static("create_op_in_graph", create, py::arg("graph"), py::arg("inputs"), py::arg("outputs"),
                     py::arg("opid"), py::arg("params"), py::arg("settings"));
  binding.def_static(
      "create_op_in_graph",
      [create](py::object graph, const Ids& inputs, const Ids& outputs, const Params& params, py::object settings) {
        return create(graph, inputs, outputs, py::none(), params, settings);
      },
      py::arg("graph"), py::arg("inputs"), py::arg("outputs"), py::arg("params"), py::arg("settings"));
  binding.def_static("default_opid", [] {
    const OperatorIdentifier id = OP::defaultOperatorId();
    return py::module::import("types").attr("SimpleNamespace")(
        py::arg("domain") = id.domain, py::arg("type") = id.type, py::arg("version") = id.version);
  });
}

}  // namespace op
}  // namespace ir
}  // namespace popart
