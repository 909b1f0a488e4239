/* The op that `.Tangent` stands for. */
#pragma once

#include "derivative_op.h"

namespace pykernels {

/* Adds the op that `.Tangent("x, y, tx -> ty")` of a forward op stands for. Frameworks find it by its name, and know by
 * the names of its arguments what they are: `tx` is the tangent of `x`. */
class TypedTangent : DerivativeOp {
 public:
  TypedTangent(Registry* registry, const OpRecord& of) : DerivativeOp("Tangent", of, of.tangent.front()) {
    if (of.tangent.size() > 1 && of.backward.empty()) {
      throw Wrong(Joined({"the second line is that of the backward op, and op ", of_.name, " has no Backward"}));
    }
    OpRecord& op = registry->AddOp(NameBefore("_tangent"), line_.at);
    for (const std::string& name : wanted_) { op.Add(&op.declaration.inputs, Renamed(*Find(name), name)); }
    for (const std::string& name : computed_) {
      const ArgumentDecl* output = FindBehind('t', of_.outputs, name);
      if (output == nullptr) {
        throw Wrong(Joined({"'", name, "' is not the tangent of an output of op ", of_.name, ", which has: ",
                            Names(of_.outputs)}));
      }
      ArgumentDecl tangent = Renamed(*output, name);
      tangent.like = output->name;
      op.Add(&op.declaration.outputs, tangent);
    }
    Complete(&op, of);
  }

 private:
  const ArgumentDecl* Find(const std::string& name) const {
    for (const ArgumentDecl* found :
         {FindNamed(of_.inputs, name), FindNamed(of_.outputs, name), FindBehind('t', of_.inputs, name)}) {
      if (found != nullptr) { return found; }
    }
    throw Wrong(Joined({"'", name, "' is no input or output of op ", of_.name,
                        ", and not the tangent of an input; inputs: ", Names(of_.inputs), "; outputs: ",
                        Names(of_.outputs)}));
  }
};

}  // namespace pykernels
