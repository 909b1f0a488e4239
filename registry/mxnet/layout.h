// The internals of libmxnet 1.9.1 from PyPI for Linux on x86-64 that the registrar uses.
//
// That library was compiled by GCC 4.8 with its old strings. The structures mirrored here have the same layout with
// every compiler that uses libstdc++. Only hash tables differ, so members that follow one are found by their offsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <typeinfo>
#include <vector>

#include "api.h"

namespace pykernels::mxnet {

struct OpState {
  void* variable;
  void* state;
};

using OpStatePtr = std::shared_ptr<OpState>;

struct OpContext {
  bool need_grad;
  bool is_train;
};

// The structures that CreateOperator and CreateProperty fill in and that MXNet keeps.
struct CustomParam {
  const char* op_type;
  size_t num_args, num_outs, num_auxs;
  const int *dependencies, *dependencies_end, *dependencies_capacity;
  const MXCallbackList* info;
  void* owner;
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
  void* heap;  // unless the value is small
  char others[16];
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

struct RegisteredOp {
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
    int sharing = -1;  // not shareable: code that keeps the string must copy it
    alignas(size_t) char text[64] = {};
  };
  const char* text_ = body_.text;
  Body body_;
};

// -- Graphs -----------------------------------------------------------------------------------------------------------

struct NodeAttrs {
  const RegisteredOp* op;  // null for a variable
  char name_and_dict[56];
  Any parsed;
  char subgraphs[24];
};

struct Node;
using NodePtr = std::shared_ptr<Node>;

// An output of a node.
struct NodeEntry {
  NodePtr node;
  uint32_t index;
  uint32_t version;
};

// MXNet creates and destroys all nodes.
struct Node {
  NodeAttrs attributes;
  std::vector<NodeEntry> inputs;
  std::vector<NodePtr> control_dependencies;
  Any info;
};

static_assert(offsetof(Node, inputs) == 120 && offsetof(Node, info) == 168);

// What autograd keeps as the info of a node.
struct AutogradInfo {
  char context_and_request[16];
  OpStatePtr state;
};

struct Symbol {
  std::vector<NodeEntry> outputs;
};

// -- The engine -------------------------------------------------------------------------------------------------------

struct OprBlock;

// An operation in the queue of a variable.
struct VarBlock {
  VarBlock* next;
  OprBlock* trigger;
};

// A failure, shared by all variables that it has broken. Once it has been reported, the inner pointer is null.
using FailureRef = std::shared_ptr<std::exception_ptr>;

inline bool IsPending(const FailureRef& failure) { return failure && *failure; }

// A variable of the engine, which orders the operations on an array.
struct ThreadedVar {
  const void* functions;
  size_t n_writes;
  FailureRef failure;
  char mutex[40];
  int n_reading;
  VarBlock* last;
  VarBlock* writing;  // null while nothing writes
};

struct ThreadedOpr {
  char function[32];
  std::vector<ThreadedVar*> read, written;
  int property;
  const char* name;  // an old string
  bool is_temporary, is_wait;
  FailureRef failure;
};

struct OprBlock {
  int n_awaited;
  ThreadedOpr* opr;
};

static_assert(offsetof(ThreadedVar, writing) == 88 && offsetof(ThreadedOpr, failure) == 104);

// The data that the views of an array share.
struct ArrayChunk {
  char storage[32];
  char auxiliary_storage[24];
  char mkldnn_memory[16];
  ThreadedVar* variable;
};

// FnProperty.
constexpr int kDeleteVar = 5;
constexpr int kNoSkip = 7;

struct Engine;

// The virtual functions of an engine with threads, from the one that its objects point to.
struct EngineFunctions {
  void* others[6];
  void (*Push)(Engine* engine, ThreadedOpr* opr, uint64_t context, int priority, bool is_profiled);
  void* another[2];
  void (*WaitForVar)(Engine* engine, ThreadedVar* variable);
  void (*WaitForAll)(Engine* engine);
  void* more[6];
  void (*PushToExecute)(Engine* engine, OprBlock* block, bool is_pusher);
};

// The layout in memory.
struct EngineTable {
  ptrdiff_t offset;
  const std::type_info* type;
  EngineFunctions functions;
};

struct Engine {
  const EngineFunctions* functions;
};

// -- Functions --------------------------------------------------------------------------------------------------------

// All arguments are references, which every version of std::function passes in the same way.
using ComputeFunction = std::function<void(const OpStatePtr&, const OpContext&, const ArrayVector&,
                                           const RequestVector&, const ArrayVector&)>;
using ExecTypeFunction = std::function<int(const NodeAttrs&)>;
using GradientFunction = std::function<std::vector<NodeEntry>(const NodePtr&, const std::vector<NodeEntry>&)>;

// ExecType.
constexpr int kExecSync = 0;

// Whether libmxnet is that library; set before the first op is registered.
inline bool is_known_build = false;

// Checks that this compiler uses the same layout.
#if defined(__GLIBCXX__) && defined(__x86_64__)
constexpr bool kIsSameLayout = sizeof(void*) == 8 && sizeof(ComputeFunction) == 32;
#else
constexpr bool kIsSameLayout = false;
#endif

}  // namespace pykernels::mxnet
