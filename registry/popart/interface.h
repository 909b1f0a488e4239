// The functions of libpopart.so that Python calls; pykernels/vendors/popart/ops.py wraps each of them.
//
// A number identifies an op that a user's C++ has created, or a gradient of such an op. Dtypes are ONNX's numbers
// (TensorProto.DataType). Functions return 0, or write the error to `text` and return -1. Functions with a result write
// it to `text` as JSON.
//
// In a module of makeParameterizedOpBindings<SomeOp>(m, "Some"), with a struct of parameters `SomeParams`:
//   Some.default_opid() has the attributes domain, type, version;
//   Some.create_op_in_graph(graph=g, inputs={0: "x"}, outputs={0: "y"}, [opid=o,] params=p, settings=s) makes the op
//   and returns pykernels.vendors.popxl.cpp_op.create(g, op, inputs, outputs, settings), where `op` is its number.
// In a model, such an op is a node of its domain and type with an additional integer attribute `popart_op`, its number.
// ONNX Runtime knows only nodes of ops that were offered to it (see below).
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// Sets the inputs of an op and calls its setup(). An omitted input has dtype 0. `dims` holds the dimensions of all
// inputs, one input after the other. Text: ["custom.ops", "LeakyRelu", [[1, [2, 3]], ...]], the op's domain and type,
// and a dtype and a shape for each output.
int popart_cpu_infer(int64_t op, int32_t n, const int32_t* dtypes, const int32_t* ranks, const int64_t* dims,
                     char* text, size_t size);

// Lists the gradients of an op; call `infer` for the op first. Text: [[7, [[0, "GradOut", 0], [1, "In", 0]], [[0, 0]]],
// ...]. Here op 7 is a gradient whose input 0 is the gradient of the op's output 0, and whose input 1 is the op's input
// 0 ("Out" would be an output); its output 0 is the gradient of the op's input 0.
int popart_cpu_gradients(int64_t op, char* text, size_t size);

// Registers nodes of these ops with the session options that next load this library. Call `infer` for each op first.
int popart_cpu_offer_ops(const int64_t* ops, int32_t n, char* text, size_t size);

// Does the same for all ops that these loaded libraries register with popart::OpCreator.
int popart_cpu_offer_libraries(const char* const* paths, int32_t n, char* text, size_t size);

}  // extern "C"
