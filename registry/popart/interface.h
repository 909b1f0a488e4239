// What Python calls in libpopart.so; pykernels/vendors/popart/ops.py wraps each of these.
//
// An op is told by a number: one that the C++ of a user has made, or a gradient of such an op. Numbers of dtypes are
// ONNX's (TensorProto.DataType). Functions return 0, or -1 after they have written into `text` what is wrong; those
// that tell something write it into `text` as JSON.
//
// In a module of makeParameterizedOpBindings<SomeOp>(m, "Some"), with a struct of parameters `SomeParams`:
//   Some.default_opid() has the attributes domain, type, version;
//   Some.create_op_in_graph(graph=g, inputs={0: "x"}, outputs={0: "y"}, [opid=o,] params=p, settings=s) makes the op
//   and returns g._popart_op_created(op, inputs, outputs, settings), where `op` is its number.
// Such an op in a model is a node of its domain and type with one attribute more, the integer `popart_op`, its number.
// The nodes of an op that is not `offer`ed are unknown to ONNX Runtime.
#ifndef PYKERNELS_REGISTRY_POPART_INTERFACE_H_
#define PYKERNELS_REGISTRY_POPART_INTERFACE_H_

#include <cstddef>
#include <cstdint>

extern "C" {

// Gives an op its inputs, of which one that is left out has dtype 0, and calls its setup(). `dims` holds the dimensions
// of all inputs, one input after the other. Text: {"domain": "custom.ops", "type": "LeakyRelu", "version": 1,
// "attributes": {"alpha": 0.01}, "outputs": [[1, [2, 3]], ...]}, where an output is a dtype and a shape.
int popart_cpu_infer(int64_t op, int32_t n, const int32_t* dtypes, const int32_t* ranks, const int64_t* dims,
                     char* text, size_t size);

// The gradients of an op that `infer` has been called for. Text: [{"op": 7, "domain": ..., "type": ..., "version": ...,
// "inputs": [[0, "GradOut", 0], [1, "In", 0]], "outputs": [[0, 0]]}, ...]. Input 0 is here the gradient of output 0 of
// the op, input 1 is its input 0 ("Out" would be an output); output 0 is the gradient of its input 0.
int popart_cpu_gradients(int64_t op, char* text, size_t size);

// Has the session options that are next given this library know nodes of these ops, for which `infer` has been called.
int popart_cpu_offer_ops(const int64_t* ops, int32_t n, char* text, size_t size);

// The same for all ops that these libraries register with popart::OpCreator. They have to be loaded. Text:
// [{"domain": ..., "type": ..., "version": ..., "attributes": ["alpha"]}, ...].
int popart_cpu_offer_libraries(const char* const* paths, int32_t n, char* text, size_t size);

}  // extern "C"

#endif  // PYKERNELS_REGISTRY_POPART_INTERFACE_H_
