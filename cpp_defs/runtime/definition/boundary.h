/* The C boundary of a definition: pykernels_definition() and the functions that it exposes. None of them throws. */
#pragma once

#include "gradient_plan.h"
#include "typed_ops.h"

namespace pykernels {

inline void WriteError(const char* text, char* error, size_t size) {
  if (error == nullptr || size == 0) { return; }
  const size_t length = std::min(std::strlen(text), size - 1);
  std::memcpy(error, text, length);
  error[length] = '\0';
}

template<typename Function>
int32_t Guarded(char* error, size_t size, const Function& function) {
  try {
    function();
    return 0;
  } catch (const Fault& fault) {
    WriteError(fault.what(), error, size);
    return 2;
  } catch (const std::exception& exception) { WriteError(exception.what(), error, size); } catch (...) {
    WriteError("the definition threw something that is not a std::exception", error, size);
  }
  return 1;
}

template<typename T>
const T& NumberAmong(const std::list<T>& items, int32_t number, const char* what) {
  int32_t left = number;
  for (const T& item : items) {
    if (left-- == 0) { return item; }
  }
  throw Failure(Joined({"the definition has no ", what, " number ", std::to_string(number)}));
}

/* Checks what was inferred for one output and copies it to `output`. */
inline void WriteOutput(const OpRecord& op, const TensorDesc& inferred, ::oneflow::DataType otherwise,
                        pk_tensor* output) {
  const Where where = op.declaration.where;
  const std::string what = Joined({"op ", op.declaration.name, " infers for ", inferred.label(), " "});
  if (!inferred.has_shape()) {
    throw Fault(where, Joined({"op ", op.declaration.name, " leaves the shape of ", inferred.label(), " unset"}));
  }
  const ::oneflow::Shape& shape = inferred.shape();
  if (shape.size() > PK_MAX_NDIM) {
    throw Fault(where, Joined({what, std::to_string(shape.size()), " axes; the maximum is ",
                               std::to_string(PK_MAX_NDIM)}));
  }
  for (int64_t dim : shape) {
    if (dim >= 0) { continue; }
    throw Fault(where, Joined({what, "the shape ", shape.ToString(), ", which has a negative length"}));
  }
  output->ndim = static_cast<int32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), output->dims);
  output->is_dynamic = inferred.is_dynamic();
  output->dtype = inferred.data_type() == ::oneflow::kInvalidDataType ? otherwise : inferred.data_type();
}

/* Functions that do not look at data types accept complex numbers, with which a gradient for real ones is wrong. */
inline void RefuseComplex(Instance* instance) {
  for (const TensorKey& key : instance->inputs()) {
    const ::oneflow::DataType type = instance->FindTensor(key.first, key.second)->data_type();
    if (!::oneflow::IsComplexDataType(type)) { continue; }
    throw Failure(Joined({key.first, " is ", ::oneflow::DataTypeName(type),
                          ", and the definition does not name complex dtypes. If the op and its gradient are right for "
                          "complex numbers, give its arguments types, such as \"complex[...]\", or ask for "
                          "IsComplexDataType in a function"}));
  }
}

inline void InferInstance(int32_t number, pk_instance* instance) {
  const OpRecord& op = NumberAmong(Registry::Get().ops(), number, "op");
  if ((op.flags & PK_OP_INFERS_SHAPE) == 0) {
    throw Fault(op.declaration.where, Joined({"op ", op.declaration.name, " has no function that infers shapes"}));
  }
  Instance local(op.declaration, *instance);
  local.CheckCounts();
  bool has_data_types = true;
  const TensorDesc* without_shape = nullptr;
  for (const TensorKey& key : local.inputs()) {
    const TensorDesc* input = local.FindTensor(key.first, key.second);
    has_data_types = has_data_types && input->data_type() != ::oneflow::kInvalidDataType;
    if (without_shape == nullptr && !input->has_shape()) { without_shape = input; }
  }
  const bool apart = (op.flags & PK_OP_INFERS_DTYPE) != 0 && has_data_types;
  if (without_shape != nullptr && !apart) { without_shape->shape(op.declaration.where); }
  op.Infer(&local, without_shape == nullptr, has_data_types);
  if (!op.takes_complex) { RefuseComplex(&local); }
  const auto first = instance->n_inputs > 0 ? static_cast<::oneflow::DataType>(instance->inputs[0].dtype)
                                            : ::oneflow::kInvalidDataType;
  for (int32_t i = 0; i < instance->n_outputs; ++i) {
    pk_tensor* output = &instance->outputs[i];
    const TensorDesc& inferred = *local.FindTensor(output->argument, output->index);
    if (without_shape != nullptr) {
      output->ndim = -1;
      output->dtype = inferred.data_type() == ::oneflow::kInvalidDataType ? first : inferred.data_type();
      continue;
    }
    WriteOutput(op, inferred, first, output);
    if (output->dtype == ::oneflow::kInvalidDataType && has_data_types) {
      throw Fault(op.declaration.where, Joined({"op ", op.declaration.name, " leaves the data type of ",
                                                inferred.label(), " unset, and has no input to take it from"}));
    }
  }
}

inline void SendGradient(int32_t number, const pk_instance& forward, const pk_plan_sink& sink) {
  const OpGradRegistry& gradient = NumberAmong(Registry::Get().gradients(), number, "gradient");
  const OpRecord* op = Registry::Get().FindOp(gradient.name);
  if (op == nullptr) {
    throw Fault(gradient.where, Joined({"the gradient is for op ", gradient.name,
                                        ", which this file does not register"}));
  }
  Instance instance(op->declaration, forward);
  GradientPlan plan(instance);
  const UserOpConfWrapper conf(Borrowed(instance.use()));
  ::oneflow::user_op::UserOpWrapper wrapper(&instance, &plan, op->ConstantInputs(conf));
  gradient.Plan(&wrapper, &plan);
  plan.Send(sink);
}

inline void SendSbp(int32_t number, const pk_instance& instance, pk_sbp_sink sink, void* user) {
  const OpRecord& op = NumberAmong(Registry::Get().ops(), number, "op");
  Instance local(op.declaration, instance);
  ::oneflow::user_op::SbpContext context(&local);
  op.GetSbp(&context);
  for (const SbpEntry& entry : context.Entries(op.declaration.where)) {
    sink(user, entry.signature, entry.tensor.first.c_str(), entry.tensor.second, entry.kind, entry.axis);
  }
}

inline int32_t Infer(int32_t op, pk_instance* instance, char* error, size_t size) {
  return Guarded(error, size, [&] { InferInstance(op, instance); });
}
inline int32_t PlanGradient(int32_t gradient, const pk_instance* forward, const pk_plan_sink* sink, char* error,
                            size_t size) {
  return Guarded(error, size, [&] { SendGradient(gradient, *forward, *sink); });
}
inline int32_t ListSbp(int32_t op, const pk_instance* instance, pk_sbp_sink sink, void* user, char* error,
                       size_t size) {
  return Guarded(error, size, [&] { SendSbp(op, *instance, sink, user); });
}

/* Returns an array of `T` with one element for each of `items`. */
template<typename T, typename Items, typename Convert>
T* NewArray(Items& items, const Convert& convert) {
  T* array = new T[items.size() + 1];
  size_t i = 0;
  for (auto& item : items) { array[i++] = convert(item); }
  return array;
}

/* The registry in the form of the C ABI. It is created once and lives as long as the shared object. */
inline pk_argument* ExportArguments(const std::list<ArgumentDecl>& arguments) {
  return NewArray<pk_argument>(arguments, [](const ArgumentDecl& argument) {
    return pk_argument{argument.name.c_str(), argument.count, argument.variadic, argument.optional,
                       argument.is_mutable};
  });
}

inline pk_op ExportOp(OpRecord& op) {
  op.MarkMutableInputs();
  Declaration* declaration = &op.declaration;
  const auto count = [](const auto& items) { return static_cast<int32_t>(items.size()); };
  return pk_op{declaration->name.c_str(),
               declaration->where.file,
               declaration->where.line,
               op.flags,
               count(declaration->inputs),
               count(declaration->outputs),
               count(declaration->attributes),
               ExportArguments(declaration->inputs),
               ExportArguments(declaration->outputs),
               NewArray<pk_attribute>(declaration->attributes, [](AttributeDecl& attribute) {
                 return pk_attribute{attribute.initial.View(attribute.name), attribute.has_default};
               })};
}

inline pk_definition ExportRegistry() {
  Registry& registry = Registry::Get();
  return pk_definition{PK_DEFINITION_ABI,
                       static_cast<int32_t>(registry.ops().size()),
                       static_cast<int32_t>(registry.gradients().size()),
                       NewArray<pk_op>(registry.ops(), ExportOp),
                       NewArray<pk_gradient>(registry.gradients(),
                                             [](const OpGradRegistry& gradient) {
                                               return pk_gradient{gradient.name.c_str(), gradient.where.file,
                                                                  gradient.where.line};
                                             }),
                       Infer,
                       PlanGradient,
                       ListSbp};
}

inline const pk_definition* Export() {
  [[maybe_unused]] static const bool is_complete = (CompleteTypedOps(&Registry::Get()), true);
  std::string text;
  for (const std::string& problem : Registry::Get().Problems()) { text += Joined({text.empty() ? "" : "\n", problem}); }
  if (!text.empty()) { throw Failure(text); }
  static const pk_definition definition = ExportRegistry();
  return &definition;
}

}  // namespace pykernels

extern "C" __attribute__((visibility("default"))) const pk_definition* pykernels_definition(char* error, size_t size) {
  const pk_definition* definition = nullptr;
  pykernels::Guarded(error, size, [&] { definition = pykernels::Export(); });
  return definition;
}
