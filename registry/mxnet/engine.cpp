#include "engine.h"

#include <link.h>

#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <typeinfo>

#include "../host/error.h"
#include "operator.h"
#include "property.h"

namespace pykernels::mxnet {
namespace {

// -- The layout of libmxnet 1.9.1 as it is on PyPI for Linux on x86-64 ------------------------------------------------
//
// That library was built by GCC 4.8 with its old strings. What is mirrored here lies the same for every compiler with
// the Itanium ABI and libstdc++; only hash tables do not, so that what lies behind one is found by its offset.

constexpr const char* kKnownBuild = "472988f6268780302be9ee15d6c53d9a07b534f5";

struct OpState {
  void* variable;
  void* state;
};

struct OpStatePtr {
  OpState* state;
  void* owner;
};

struct OpContext {
  bool need_grad;
  bool is_train;
};

// What CreateOperator and CreateProperty have filled in, held by MXNet.
struct CustomParam {
  const char* op_type;
  size_t num_args, num_outs, num_auxs;
  const int *dependencies, *dependencies_end, *dependencies_capacity;
  const MXCallbackList* info;
  void* owner;
};

struct NodeAttrs {
  char op_name_and_dict[64];
  void* parsed_type;
  const CustomParam* parsed;
};

struct ArrayVector {
  const char *begin, *end, *capacity;
};

struct RequestVector {
  const int *begin, *end, *capacity;
};

struct Any {
  struct Type {
    void (*destroy)(void*);
    void (*create_from_data)(void*, const void*);
    const std::type_info* info;
  };
  const Type* type;
  const void* heap;
};

template <typename Function>
struct OpMap {
  struct Entry {
    Function function;
    int level;
  };
  const char* attribute;
  Entry *begin, *end, *capacity;
};

struct Op {
  const char* name;
  char others[144];
  uint32_t index;
};

// A std::string of that library, for reading.
class OldString {
 public:
  explicit OldString(const char* text) {
    body_.length = body_.capacity = std::strlen(text);
    std::strncpy(body_.text, text, sizeof body_.text - 1);
  }

 private:
  struct Body {
    size_t length, capacity;
    int sharing = -1;  // whoever wants to keep it has to copy it
    alignas(size_t) char text[64] = {};
  };
  const char* text_ = body_.text;
  Body body_;
};

// All arguments are references, which every version of std::function hands over in the same way.
using ComputeFunction = std::function<void(const OpStatePtr&, const OpContext&, const ArrayVector&,
                                           const RequestVector&, const ArrayVector&)>;
using ExecTypeFunction = std::function<int(const NodeAttrs&)>;

constexpr int kExecSync = 0;

static_assert(sizeof(void*) == 8 && sizeof(ComputeFunction) == 32, "this is the layout of libstdc++ on 64 bits");

// -- Arrays -----------------------------------------------------------------------------------------------------------

EngineSymbols the_symbols;

enum class Use { kRead, kWrite };

Array ReadArray(const char* array, Use use) {
  // MXNet's C API does not write through a handle to read an array.
  Array read = ReadType(const_cast<char*>(array));
  if (read.type.dtype == PK_INVALID_DTYPE) return read;
  // MXNet hands inputs over in plain order, but a result may be added to what MKLDNN has left in an order of its own.
  if (use == Use::kWrite) the_symbols.Reorder2Default(*reinterpret_cast<void* const*>(array));
  SetData(*the_symbols.Data(array), &read);
  return read;
}

std::vector<const char*> Split(const ArrayVector& vector, size_t count) {
  const size_t bytes = vector.end - vector.begin;
  if (count == 0 ? bytes != 0 : bytes % count != 0) Fail("MXNet gives another number of arrays than was agreed");
  std::vector<const char*> arrays;
  for (size_t i = 0; i < count; ++i) arrays.push_back(vector.begin + i * (bytes / count));
  return arrays;
}

std::vector<Array> ReadAll(const ArrayVector& vector, size_t count) {
  std::vector<Array> arrays;
  for (const char* array : Split(vector, count)) arrays.push_back(ReadArray(array, Use::kRead));
  return arrays;
}

std::vector<Array> ReadTargets(const ArrayVector& vector, size_t count, const RequestVector& requests) {
  std::vector<Array> arrays;
  for (const char* array : Split(vector, count)) {
    const bool is_wanted = requests.begin[arrays.size()] != kReqNull;
    arrays.push_back(is_wanted ? ReadArray(array, Use::kWrite) : Array());
  }
  return arrays;
}

// -- What takes the place of MXNet's functions ------------------------------------------------------------------------

struct Hooks {
  ComputeFunction forward;
  ComputeFunction backward;
  ExecTypeFunction forward_type;
  ExecTypeFunction backward_type;
};

// What was there before. Never destroyed: MXNet's threads may outlive static objects.
Hooks* originals = nullptr;

const CustomParam& ParamOf(const OpStatePtr& state) { return *static_cast<const CustomParam*>(state.state->state); }

void Forward(const OpStatePtr& state, const OpContext& context, const ArrayVector& inputs,
             const RequestVector& requests, const ArrayVector& outputs) {
  const CustomParam& param = ParamOf(state);
  const Operator* op = AsOperator(*param.info);
  if (!op) return originals->forward(state, context, inputs, requests, outputs);
  Guard([&] {
    op->Forward(ReadAll(inputs, param.num_args), ReadTargets(outputs, param.num_outs, requests), requests.begin,
                context.is_train);
  });
}

void Backward(const OpStatePtr& state, const OpContext& context, const ArrayVector& inputs,
              const RequestVector& requests, const ArrayVector& outputs) {
  const CustomParam& param = ParamOf(state);
  const Operator* op = AsOperator(*param.info);
  if (!op) return originals->backward(state, context, inputs, requests, outputs);
  Guard([&] {
    // The tensors of the forward pass by the numbers under which DeclareBackwardDependency asked for them.
    std::vector<Array> forward(2 * param.num_outs + param.num_args);
    const std::vector<Array> given = ReadAll(inputs, param.dependencies_end - param.dependencies);
    for (size_t i = 0; i < given.size(); ++i) forward.at(param.dependencies[i]) = given[i];
    const auto values = forward.begin() + param.num_outs;
    const auto results = values + param.num_args;
    op->Backward({forward.begin(), values}, {values, results}, {results, forward.end()},
                 ReadTargets(outputs, param.num_args, requests), requests.begin, context.is_train);
  });
}

int ForwardExecType(const NodeAttrs& attributes) {
  return IsProperty(*attributes.parsed->info) ? kExecSync : originals->forward_type(attributes);
}

int BackwardExecType(const NodeAttrs& attributes) {
  return IsProperty(*attributes.parsed->info) ? kExecSync : originals->backward_type(attributes);
}

// -- Putting them there -----------------------------------------------------------------------------------------------

struct Search {
  uintptr_t address;
  std::string build;
};

std::string ReadBuildId(const char* note, size_t size) {
  const char* end = note + size;
  while (note + sizeof(ElfW(Nhdr)) <= end) {
    const auto* header = reinterpret_cast<const ElfW(Nhdr)*>(note);
    const char* name = note + sizeof *header;
    const char* content = name + (header->n_namesz + 3) / 4 * 4;
    if (header->n_type == NT_GNU_BUILD_ID && header->n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
      std::string text;
      for (size_t i = 0; i < header->n_descsz; ++i) {
        const unsigned byte = static_cast<unsigned char>(content[i]);
        text += "0123456789abcdef"[byte / 16];
        text += "0123456789abcdef"[byte % 16];
      }
      return text;
    }
    note = content + (header->n_descsz + 3) / 4 * 4;
  }
  return "";
}

int VisitLibrary(dl_phdr_info* library, size_t /*size*/, void* data) {
  auto* search = static_cast<Search*>(data);
  bool is_it = false;
  std::string build;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = library->dlpi_phdr[i];
    const uintptr_t begin = library->dlpi_addr + header.p_vaddr;
    is_it = is_it || (header.p_type == PT_LOAD && search->address >= begin && search->address < begin + header.p_memsz);
    if (header.p_type == PT_NOTE && build.empty()) {
      build = ReadBuildId(reinterpret_cast<const char*>(begin), header.p_memsz);
    }
  }
  if (is_it) search->build = build;
  return is_it;
}

// The build id of the library that `address` lies in.
std::string FindBuildId(const void* address) {
  Search search{reinterpret_cast<uintptr_t>(address), ""};
  dl_iterate_phdr(VisitLibrary, &search);
  return search.build;
}

void Require(bool condition, const char* what) {
  if (!condition) Fail("libmxnet is not laid out as expected: ", what);
}

const Op* FindOp(const char* name) {
  void* found = nullptr;
  Check(the_symbols.NNGetOpHandle(name, &found));
  const Op* op = static_cast<const Op*>(found);
  Require(std::strcmp(op->name, name) == 0, "the name of an operator");
  return op;
}

// Where MXNet keeps the function `attribute` of an operator.
template <typename Function>
Function* FindFunction(const char* attribute, const Op* op) {
  const OldString name(attribute);
  const auto* found = static_cast<const Any*>(the_symbols.GetAttrMap(&name));
  Require(found, "the attributes of operators");
  const char* type = found->type->info->name();
  Require(std::strncmp(type, "N4nnvm5OpMapISt8functionI", 25) == 0, "the type of an attribute");
  const auto* map = static_cast<const OpMap<Function>*>(found->heap);
  Require(std::strcmp(map->attribute, attribute) == 0, "the name of an attribute");
  Require(op->index < static_cast<size_t>(map->end - map->begin), "the number of an operator");
  Require(map->begin[op->index].level > 0 && map->begin[op->index].function, "the function of an operator");
  return &map->begin[op->index].function;
}

}  // namespace

void EnterEngine(const EngineSymbols& symbols) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  if (originals) return;
  const std::string build = FindBuildId(reinterpret_cast<const void*>(symbols.NNGetOpHandle));
  if (build != kKnownBuild) Fail("the libmxnet with build id '", build, "' is not the one of mxnet 1.9.1 on PyPI");
  the_symbols = symbols;
  const Op* custom = FindOp("Custom");
  const Op* backward = FindOp("_backward_Custom");
  auto* forward_slot = FindFunction<ComputeFunction>("FStatefulComputeEx<cpu>", custom);
  auto* backward_slot = FindFunction<ComputeFunction>("FStatefulComputeEx<cpu>", backward);
  auto* forward_type_slot = FindFunction<ExecTypeFunction>("FExecType", custom);
  auto* backward_type_slot = FindFunction<ExecTypeFunction>("FExecType", backward);
  originals = new Hooks{*forward_slot, *backward_slot, *forward_type_slot, *backward_type_slot};
  *forward_slot = Forward;
  *backward_slot = Backward;
  *forward_type_slot = ForwardExecType;
  *backward_type_slot = BackwardExecType;
}

}  // namespace pykernels::mxnet
