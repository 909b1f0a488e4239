/* One use of an op: the blobs bound to its arguments and the values of its attributes. */
#pragma once

#include <memory>

#include "declaration.h"

namespace pykernels {

using ::oneflow::user_op::AttrVal;

/* Part of every message about a shape or a number of tensors that is used before it is known. Readers search for it. */
inline const char* const kNotKnownYet = "is not known yet";

struct OpUse;

/* A pointer to a use that outlives it. */
inline std::shared_ptr<const OpUse> Borrowed(const OpUse& use) { return {std::shared_ptr<void>(), &use}; }

/* An argument and the blobs bound to it. */
struct BoundArgument {
  std::string name;
  std::vector<std::string> blobs;
  bool known = true;  // false if the number of blobs is not known until shapes are
};

struct BoundAttribute {
  std::string name;
  AttrVal value;
  mutable std::shared_ptr<const ::oneflow::user_op::TypedAttr> typed = nullptr;  // set on first read
};

struct OpUse {
  std::string name;
  std::string type;
  Where where;
  std::list<BoundArgument> inputs;
  std::list<BoundArgument> outputs;
  std::list<BoundAttribute> attributes;

  /* The number of blobs bound to an argument; 0 if there is no such argument. */
  int32_t Size(const std::list<BoundArgument>& arguments, const std::string& argument, Where at) const {
    const BoundArgument* found = FindNamed(arguments, argument);
    if (found == nullptr) { return 0; }
    CheckKnown(*found, at);
    return static_cast<int32_t>(found->blobs.size());
  }

  /* `kind` is "input" or "output". */
  const std::string& Blob(const char* kind, const std::list<BoundArgument>& arguments,
                          const std::string& argument, int32_t index, Where at) const {
    const BoundArgument* found = FindNamed(arguments, argument);
    if (found == nullptr) {
      throw Fault(at, Joined({"op ", type, " has no ", kind, " '", argument, "'; it has: ", Names(arguments)}));
    }
    CheckKnown(*found, at);
    if (index < 0 || static_cast<size_t>(index) >= found->blobs.size()) {
      throw Fault(at, Joined({kind, " '", argument, "' of op ", type, " has ", std::to_string(found->blobs.size()),
                              " tensors here; it has no number ", std::to_string(index)}));
    }
    return found->blobs[static_cast<size_t>(index)];
  }

  /* The name of the blob that this op computes for an output. */
  std::string OutputBlob(const std::string& output, int32_t index) const {
    return Joined({name, "/", output, "_", std::to_string(index)});
  }

  bool HasAttribute(const std::string& attribute) const { return FindNamed(attributes, attribute) != nullptr; }

  /* The value of an attribute as its C++ type. The pointer is valid as long as this object. */
  const void* Attribute(const std::string& attribute, ::oneflow::AttrType as, Where at) const {
    const BoundAttribute* found = FindNamed(attributes, attribute);
    if (found == nullptr) {
      throw Fault(at, Joined({"op ", type, " has no attribute '", attribute, "'; it has: ", Names(attributes)}));
    }
    if (found->value.type != as) {
      throw Fault(at, Joined({"attribute '", attribute, "' of op ", type, " is of type ",
                              ::oneflow::AttrTypeName(found->value.type), ", but is read as ",
                              ::oneflow::AttrTypeName(as)}));
    }
    if (found->typed == nullptr) { found->typed.reset(new ::oneflow::user_op::TypedAttr(found->value)); }
    return found->typed->value;
  }

  void Add(const std::string& attribute, const AttrVal& value) {
    const BoundAttribute added{attribute, value};
    attributes.push_back(added);
  }

  /* The blobs of an argument, which is added if it is new. */
  static std::vector<std::string>* Blobs(std::list<BoundArgument>* arguments, const std::string& name) {
    for (BoundArgument& argument : *arguments) {
      if (argument.name == name) { return &argument.blobs; }
    }
    const BoundArgument added{name, {}};
    arguments->push_back(added);
    return &arguments->back().blobs;
  }

 private:
  void CheckKnown(const BoundArgument& argument, Where at) const {
    if (!argument.known) {
      throw Failure(at, Joined({"how many tensors '", argument.name, "' of op ", type, " stands for ",
                                kNotKnownYet}));
    }
  }
};

}  // namespace pykernels
