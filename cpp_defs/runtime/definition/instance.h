/* The view of a pk_instance that definitions use. */
#pragma once

#include "oneflow/core/framework/user_op_conf.h"
#include "op_use.h"

namespace pykernels {

using ::oneflow::user_op::TensorDesc;

class Instance {
 public:
  Instance(const Declaration& declaration, const pk_instance& instance)
      : declaration_(declaration), parallel_num_(instance.parallel_num < 1 ? 1 : instance.parallel_num) {
    use_.name = instance.name != nullptr ? instance.name : declaration.name;
    use_.type = declaration.name;
    use_.where = declaration.where;
    const bool without_tensors = instance.n_inputs == 0 && instance.n_outputs == 0;
    Bind("I/", declaration.inputs, without_tensors, &use_.inputs);
    Bind("O/", declaration.outputs, without_tensors, &use_.outputs);
    Read("input", "I/", instance.inputs, instance.n_inputs, &use_.inputs, &inputs_);
    Read("output", "O/", instance.outputs, instance.n_outputs, &use_.outputs, &outputs_);
    for (int32_t i = 0; i < instance.n_attrs; ++i) { ReadAttribute(instance.attrs[i]); }
  }
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  const Declaration& declaration() const { return declaration_; }
  const OpUse& use() const { return use_; }
  const std::vector<TensorKey>& inputs() const { return inputs_; }
  const std::vector<TensorKey>& outputs() const { return outputs_; }
  int64_t parallel_num() const { return parallel_num_; }

  /* Returns nullptr if this use of the op has no such tensor. */
  TensorDesc* FindTensor(const std::string& argument, int32_t index) {
    for (auto& tensor : tensors_) {
      if (tensor.first.second == index && tensor.first.first == argument) { return &tensor.second; }
    }
    return nullptr;
  }

  /* Whether a use of the op may leave out tensors of this argument. */
  bool MayLack(const std::string& argument) const {
    const ArgumentDecl* declared = FindNamed(declaration_.inputs, argument);
    if (declared == nullptr) { declared = FindNamed(declaration_.outputs, argument); }
    return declared != nullptr && !declared->IsFixed();
  }

  TensorDesc& Tensor(const std::string& argument, int32_t index, Where at) {
    if (TensorDesc* tensor = FindTensor(argument, index)) { return *tensor; }
    const bool is_output = FindNamed(use_.outputs, argument) != nullptr;
    if (!is_output && FindNamed(use_.inputs, argument) == nullptr) {
      throw Fault(at, Joined({"op ", use_.type, " has neither an input nor an output '", argument, "'; inputs: ",
                              Names(use_.inputs), "; outputs: ", Names(use_.outputs)}));
    }
    use_.Blob(is_output ? "output" : "input", is_output ? use_.outputs : use_.inputs, argument, index, at);
    throw Fault(at, Joined({"the shape of '", argument, "' ", kNotKnownYet}));
  }

  /* Fails unless every argument has the declared number of tensors. */
  void CheckCounts() const {
    CheckCounts("input", use_.inputs, declaration_.inputs);
    CheckCounts("output", use_.outputs, declaration_.outputs);
  }

  /* Resets the outputs before inference. */
  void UnsetOutputs() {
    for (const TensorKey& key : outputs_) {
      TensorDesc* tensor = FindTensor(key.first, key.second);
      *tensor = TensorDesc(tensor->label(), ::oneflow::Shape::Unset(), ::oneflow::kInvalidDataType, false);
    }
  }

 private:
  /* Without tensors, only arguments with a fixed number of tensors are known. */
  static void Bind(const std::string& prefix, const std::list<ArgumentDecl>& declared, bool without_tensors,
                   std::list<BoundArgument>* bound) {
    for (const ArgumentDecl& argument : declared) {
      BoundArgument one{argument.name, {}, !without_tensors || argument.IsFixed()};
      for (int32_t i = 0; without_tensors && argument.IsFixed() && i < argument.count; ++i) {
        one.blobs.push_back(Joined({prefix, argument.name, "/", std::to_string(i)}));
      }
      bound->push_back(one);
    }
  }

  void Read(const char* kind, const std::string& prefix, const pk_tensor* tensors, int32_t n,
            std::list<BoundArgument>* bound, std::vector<TensorKey>* keys) {
    for (int32_t i = 0; i < n; ++i) {
      const pk_tensor& tensor = tensors[i];
      const std::string argument = tensor.argument;
      auto* found = const_cast<BoundArgument*>(FindNamed(*bound, argument));
      if (found == nullptr) {
        throw Failure(Joined({"op ", use_.type, " has no ", kind, " '", argument, "'; it has: ", Names(*bound)}));
      }
      if (tensor.ndim > PK_MAX_NDIM) {
        throw Failure(Joined({kind, " '", argument, "' of op ", use_.type, " has ", std::to_string(tensor.ndim),
                              " axes; the maximum is ", std::to_string(PK_MAX_NDIM)}));
      }
      found->blobs.push_back(Joined({prefix, argument, "/", std::to_string(tensor.index)}));
      keys->emplace_back(argument, tensor.index);
      tensors_.emplace_back(keys->back(), Describe(kind, tensor));
    }
  }

  static TensorDesc Describe(const char* kind, const pk_tensor& tensor) {
    const std::string number = tensor.index > 0 ? Joined({" number ", std::to_string(tensor.index)}) : "";
    const std::string label = Joined({kind, " '", tensor.argument, "'", number});
    const int32_t ndim = tensor.ndim < 0 ? 0 : tensor.ndim;
    ::oneflow::Shape shape;
    for (int32_t i = 0; i < ndim; ++i) { shape.push_back(tensor.dims[i]); }
    TensorDesc result(label, shape,
                      static_cast<::oneflow::DataType>(tensor.dtype), tensor.is_dynamic != 0);
    if (tensor.ndim < 0) { result.ForgetShape(); }
    return result;
  }

  void CheckCounts(const std::string& kind, const std::list<BoundArgument>& bound,
                   const std::list<ArgumentDecl>& declared) const {
    for (const ArgumentDecl& argument : declared) {
      const auto count = static_cast<int32_t>(FindNamed(bound, argument.name)->blobs.size());
      if (argument.Takes(count)) { continue; }
      throw Failure(Joined({kind, " '", argument.name, "' of op ", use_.type, " takes ", argument.Wanted(),
                            " tensors, but has ", std::to_string(count)}));
    }
  }

  void ReadAttribute(const pk_attr& attr) {
    const AttributeDecl* declared = FindNamed(declaration_.attributes, attr.name);
    if (declared == nullptr) {
      throw Failure(Joined({"op ", use_.type, " has no attribute '", attr.name, "'; it has: ",
                            Names(declaration_.attributes)}));
    }
    if (attr.type != declared->initial.type) {
      throw Failure(Joined({"attribute '", declared->name, "' of op ", use_.type, " is of type ",
                            ::oneflow::AttrTypeName(declared->initial.type), ", but was given as ",
                            ::oneflow::AttrTypeName(attr.type)}));
    }
    use_.Add(attr.name, AttrVal(attr));
  }

  const Declaration& declaration_;
  int64_t parallel_num_;
  OpUse use_;
  std::vector<TensorKey> inputs_;
  std::vector<TensorKey> outputs_;
  std::list<std::pair<TensorKey, TensorDesc>> tensors_;
};

}  // namespace pykernels
