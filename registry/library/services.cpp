// Provides the services that Python otherwise provides to registrars, from the tables of the library.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "../host/dtype.h"
#include "../host/error.h"
#include "../host/tensors.h"
#include "library.h"

namespace pykernels::library {
namespace {

struct Kernel : pk_kernel {
  int32_t op;  // as in KernelEntry
};

bool Serves(const TensorEntry& entry, const pk_tensor& tensor) {
  return entry.dtype == tensor.dtype && (entry.ndim < 0 || entry.ndim == tensor.ndim) &&
         entry.index == tensor.index && std::strcmp(entry.argument, tensor.argument) == 0;
}

bool ServesTensors(const KernelEntry& entry, const pk_instance& instance) {
  if (entry.n_inputs != instance.n_inputs || entry.n_outputs != instance.n_outputs) return false;
  const auto serve = [](const TensorEntry& entry, const pk_tensor& tensor) { return Serves(entry, tensor); };
  const TensorEntry* outputs = entry.tensors + entry.n_inputs;
  return std::equal(entry.tensors, outputs, instance.inputs, serve) &&
         std::equal(outputs, outputs + entry.n_outputs, instance.outputs, serve);
}

bool ServesAttributes(const KernelEntry& entry, const pk_instance& instance) {
  return std::all_of(entry.constants, entry.constants + entry.n_constants, [&](const pk_attr& constant) {
    return std::any_of(instance.attrs, instance.attrs + instance.n_attrs, [&](const pk_attr& given) {
      return std::strcmp(given.name, constant.name) == 0 && SameValue(given, constant);
    });
  });
}

// Returns "float32 of 2 axes".
std::string DescribeType(int32_t dtype, int32_t ndim) {
  if (ndim < 0) return DtypeName(dtype) + " of any number of axes";
  return Join(DtypeName(dtype), " of ", ndim, ndim == 1 ? " axis" : " axes");
}

// Returns "axis=-1", for attributes that are integers.
std::string DescribeValue(const pk_attr& value) {
  const bool is_whole = value.type == PK_ATTR_INT32 || value.type == PK_ATTR_INT64 || value.type == PK_ATTR_BOOL;
  return is_whole ? Join(value.name, "=", value.integer) : std::string(value.name);
}

std::string DescribeInputs(const KernelEntry& entry) {
  std::string text;
  for (int32_t i = 0; i < entry.n_inputs; ++i) {
    const TensorEntry& tensor = entry.tensors[i];
    text += Join(i ? ", " : "", tensor.argument, ": ", DescribeType(tensor.dtype, tensor.ndim));
  }
  for (int32_t i = 0; i < entry.n_constants; ++i) text += ", " + DescribeValue(entry.constants[i]);
  return text;
}

[[noreturn]] void FailResolve(int64_t kernel_id, const pk_instance& instance) {
  std::string given;
  for (int32_t i = 0; i < instance.n_inputs; ++i) {
    const pk_tensor& tensor = instance.inputs[i];
    given += Join(i ? ", " : "", tensor.argument, ": ", DescribeType(tensor.dtype, tensor.ndim));
  }
  std::string known;
  bool fits = false;
  for (const KernelEntry* entry = kernels; entry != kernels + n_kernels; ++entry) {
    if (entry->op != kernel_id) continue;
    fits = fits || ServesTensors(*entry, instance);
    known += "\n  " + DescribeInputs(*entry);
  }
  Fail(kCallError, "op '", instance.name, "': this library has no kernel for ", given,
       fits ? " with these values of its attributes" : "", ". It has been built for:", known);
}

const pk_kernel* Resolve(int64_t kernel_id, const pk_instance* instance, char* error, size_t size) {
  try {
    for (const KernelEntry* entry = kernels; entry != kernels + n_kernels; ++entry) {
      if (entry->op != kernel_id || !ServesTensors(*entry, *instance) || !ServesAttributes(*entry, *instance)) continue;
      // Never deleted, like the library. An op requests this once for each combination of ranks.
      auto* ranks = new std::vector<int32_t>;
      for (int32_t i = 0; i < instance->n_inputs; ++i) ranks->push_back(instance->inputs[i].ndim);
      for (int32_t i = 0; i < instance->n_outputs; ++i) ranks->push_back(instance->outputs[i].ndim);
      return new Kernel{{entry->run, entry->flags, entry->n_scalars, entry->scalars, ranks->data()}, entry->op};
    }
    FailResolve(kernel_id, *instance);
  } catch (const std::exception& problem) {
    WriteText(problem.what(), error, size);
    return nullptr;
  }
}

void Explain(const pk_kernel* kernel, const pk_instance* instance, int32_t status, void* const*, const int64_t*,
             const pk_scalar*, const int64_t* detail, char* text, size_t size) {
  try {
    const std::string op = Join("op '", instance->name, "': ", ops[static_cast<const Kernel*>(kernel)->op].where, ": ");
    if (status != PK_WRONG_SHAPE) {
      return WriteText(op + "the kernel raised an exception; run the op in Python to see which", text, size);
    }
    const pk_tensor& wanted = instance->outputs[detail[0]];
    pk_tensor returned = wanted;
    returned.ndim = static_cast<int32_t>(detail[1]);
    std::copy(detail + 2, detail + 2 + returned.ndim, returned.dims);
    WriteText(Join(op, "the kernel returned ", Describe(returned), " for its output '", wanted.argument,
               "', but the definition infers ", Describe(wanted)),
          text, size);
  } catch (const std::exception& problem) {
    WriteText(problem.what(), text, size);
  }
}

const pk_services the_services{Resolve, Explain};

}  // namespace

std::shared_ptr<const Op> MakeOp(int32_t number) {
  SetServices(&the_services, nullptr);
  char error[kErrorSize] = "";
  const pk_definition* definition = ops[number].definition(error, sizeof error);
  if (!definition) throw Error(kDefinitionError, error);
  return std::make_shared<const Op>(definition, ops[number].index, -1, number);
}

}  // namespace pykernels::library
