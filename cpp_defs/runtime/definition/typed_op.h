/* Ops whose arguments have tensor types: shapes, dtypes and distribution follow from the types. */
#pragma once

#include "lengths.h"
#include "op_record.h"

namespace pykernels {

/* An argument of a typed op. */
struct TypedArgument {
  const ArgumentDecl* declared;
  TensorType type;
};

inline const TypedArgument& ArgumentNamed(const std::list<TypedArgument>& arguments, const std::string& name) {
  for (const TypedArgument& argument : arguments) {
    if (argument.declared->name == name) { return argument; }
  }
  throw Failure(Joined({"no argument '", name, "'"}));
}

inline bool IsNumber(const AttrVal& value) {
  return value.type >= ::oneflow::kAtInt32 && value.type <= ::oneflow::kAtDouble;
}
inline bool IsInteger(const AttrVal& value) {
  return value.type == ::oneflow::kAtInt32 || value.type == ::oneflow::kAtInt64;
}
inline bool IsListOfIntegers(const AttrVal& value) {
  return value.type == ::oneflow::kAtShape || value.type == ::oneflow::kAtListInt32
         || value.type == ::oneflow::kAtListInt64;
}

/* The name of a tensor, for messages. */
inline std::string NameOf(const TensorKey& key) {
  return key.second == 0 ? key.first : Joined({key.first, "[", std::to_string(key.second), "]"});
}

/* What the tensor types of an op's arguments say. */
class TypedOp {
 public:
  /* Throws a Failure for the first type, formula or name that is wrong. */
  explicit TypedOp(const OpRecord& op) : op_(op) {
    Parse(op.declaration.inputs, &inputs_);
    Parse(op.declaration.outputs, &outputs_);
    for (const TypedArgument& input : inputs_) { CheckNames(input); }
    for (const TypedArgument& output : outputs_) { CheckOutput(output); }
    for (const Line& line : op.requirements) {
      At(line.at, [&] { CheckFormula(line.text); });
    }
    for (const Line& line : op.split) {
      At(line.at, [&] { CheckSplit(line); });
    }
  }

  void InferShapes(Instance* instance) const {
    const Lengths lengths = ReadLengths(instance);
    for (const Line& line : op_.requirements) { Require(line, lengths); }
    for (const TensorKey& key : instance->inputs()) { CheckShape(key, instance, lengths); }
    for (const TensorKey& key : instance->outputs()) {
      At(ArgumentNamed(outputs_, key.first).declared->at, [&] {
        instance->FindTensor(key.first, key.second)->set_shape(OutputShape(key, instance, lengths));
      });
    }
  }

  void InferDataTypes(Instance* instance) const {
    std::vector<TensorKey> first;  // the first input of each word
    for (const TensorKey& key : instance->inputs()) {
      const TypedArgument& argument = ArgumentNamed(inputs_, key.first);
      CheckDataType(argument, key, instance, &first);
    }
    for (const TensorKey& key : instance->outputs()) {
      const TypedArgument& argument = ArgumentNamed(outputs_, key.first);
      const std::string& word = argument.type.dtype;
      ::oneflow::DataType type = DataTypeNamed(word);
      for (const TensorKey& each : first) {
        const ::oneflow::DataType given = instance->FindTensor(each.first, each.second)->data_type();
        const std::string& other = ArgumentNamed(inputs_, each.first).type.dtype;
        if (other == word) {
          type = given;
          break;
        }
        if (!HasPrecision(word) || !HasPrecision(other)) { continue; }
        type = ::oneflow::RealDataType(given);
        if (word == "complex") { type = ::oneflow::ComplexDataType(type); }
        if (type == ::oneflow::kInvalidDataType) {
          throw Failure(argument.declared->at,
                        Joined({"'", key.first, "' is complex, but there are no complex numbers with the precision of ",
                                NameOf(each), ", ", ::oneflow::DataTypeName(given)}));
        }
      }
      instance->FindTensor(key.first, key.second)->set_data_type(type);
    }
  }

  void ListSbp(::oneflow::user_op::SbpContext* ctx) const {
    Instance* instance = ctx->instance();
    const Lengths lengths = ReadLengths(instance);
    for (const Line& line : op_.split) {
      if (!line.condition.empty() && lengths.Evaluate(line.condition) == 0) { continue; }
      const size_t axes = line.text == TensorType::kSame        ? lengths.same().size()
                          : line.text == TensorType::kBroadcast ? lengths.broadcast().size()
                                                                : 1;
      for (size_t i = 0; i < axes; ++i) { Distribute(ctx, lengths, line.text, i); }
    }
  }

 private:
  /* Calls `function`, and adds the location to its Failure. */
  template<typename Function>
  static void At(Where at, const Function& function) {
    try {
      function();
    } catch (const Failure& failure) { throw Failure(at, failure.what()); }
  }

  static void Parse(const std::list<ArgumentDecl>& declared, std::list<TypedArgument>* arguments) {
    for (const ArgumentDecl& argument : declared) {
      At(argument.at, [&] {
        if (argument.type.empty()) {
          throw Failure(Joined({"'", argument.name,
                                "' has no type, unlike other arguments: write it after the name, as in \"",
                                argument.name, "\", \"floating[...]\""}));
        }
        arguments->push_back({&argument, TensorType(argument.type)});
      });
    }
  }

  /* ---- what is wrong with the definition */

  void CheckNames(const TypedArgument& argument) {
    At(argument.declared->at, [&] {
      const TensorType& type = argument.type;
      for (const std::string& item : type.axes) {
        if (item != TensorType::kSame && item != TensorType::kBroadcast) { CheckFormula(item); }
      }
      if (type.axis.empty()) { return; }
      const AttributeDecl* attribute = FindNamed(op_.declaration.attributes, type.axis);
      if (attribute == nullptr || !IsInteger(attribute->initial)) {
        throw Failure(Joined({"'", type.axis, "' in '", argument.declared->type,
                              "' must be an attribute of integer type"}));
      }
      if (!axis_.empty() && axis_ != type.axis) {
        throw Failure(Joined({"two attributes select an axis of '...': ", axis_, " and ", type.axis}));
      }
      axis_ = type.axis;
      if (!type.length.empty()) { CheckFormula(type.length); }
    });
  }

  void CheckOutput(const TypedArgument& output) {
    if (FindLike(output) != nullptr) { return; }
    CheckNames(output);
    At(output.declared->at, [&] {
      const TensorType& type = output.type;
      for (const char* item : {TensorType::kSame, TensorType::kBroadcast}) {
        bool is_given = !type.Has(item);
        for (const TypedArgument& input : inputs_) { is_given = is_given || input.type.Has(item); }
        if (!is_given) { throw Failure(Joined({"'", output.declared->name, "': no input has '", item, "'"})); }
      }
      if (type.Has(TensorType::kBroadcast) && !output.declared->like.empty()) {
        throw Failure(Joined({"the gradient of '", output.declared->like, "' has its shape, so it depends on it: add ",
                              output.declared->like, " before '->'"}));
      }
      bool is_known = FindDataTypeClass(type.dtype) == nullptr;
      for (const TypedArgument& input : inputs_) {
        is_known = is_known || input.type.dtype == type.dtype
                   || (type.dtype != "inexact" && HasPrecision(type.dtype) && HasPrecision(input.type.dtype));
      }
      if (!is_known) {
        throw Failure(Joined({"'", output.declared->name, "' is ", type.dtype,
                              ", which no input is: name its dtype"}));
      }
    });
  }

  void CheckFormula(const std::string& formula) const {
    for (const std::string& name : Formula::Names(formula)) {
      const size_t dot = name.find('.'), open = name.find('[');
      const std::string base = name.substr(0, std::min(dot, open));
      const AttributeDecl* attribute = FindNamed(op_.declaration.attributes, base);
      const bool is_input = FindNamed(op_.declaration.inputs, base) != nullptr;
      if (dot != std::string::npos ? is_input : IsLength(name)) { continue; }
      if (attribute != nullptr
          && (open != std::string::npos ? IsListOfIntegers(attribute->initial) : IsNumber(attribute->initial))) {
        continue;
      }
      throw Failure(Joined({"'", name, "' in '", formula, "' is neither an axis of an input nor an attribute"}));
    }
  }

  bool IsLength(const std::string& name) const {
    for (const TypedArgument& input : inputs_) {
      if (input.type.Names(name)) { return true; }
    }
    return false;
  }

  void CheckSplit(const Line& line) const {
    if (!IsLength(line.text)) { throw Failure(Joined({"Split: no input has the axis '", line.text, "'"})); }
    if (!line.condition.empty()) { CheckFormula(line.condition); }
  }

  /* ---- one use of the op */

  Lengths ReadLengths(Instance* instance) const {
    Lengths lengths(axis_, instance);
    for (const TensorKey& key : instance->inputs()) {
      const TypedArgument& input = ArgumentNamed(inputs_, key.first);
      const Shape& shape = instance->FindTensor(key.first, key.second)->shape(input.declared->at);
      At(input.declared->at, [&] { lengths.Read(input.type, NameOf(key), shape); });
    }
    return lengths;
  }

  static void Require(const Line& line, const Lengths& lengths) {
    At(line.at, [&] {
      if (lengths.Evaluate(line.text) != 0) { return; }
      std::string values;
      std::vector<std::string> named;
      for (const std::string& name : Formula::Names(line.text)) {
        if (Contains(named, name)) { continue; }
        named.push_back(name);
        values += Joined({values.empty() ? "" : " and ", name, " is "});
        AppendReal(&values, lengths.Value(name));
      }
      throw Failure(Joined({"the op requires ", line.text, ", but ", values}));
    });
  }

  void CheckShape(const TensorKey& key, Instance* instance, const Lengths& lengths) const {
    const TypedArgument& input = ArgumentNamed(inputs_, key.first);
    const Shape& shape = instance->FindTensor(key.first, key.second)->shape();
    At(input.declared->at, [&] {
      const Shape broadcast = input.type.Has(TensorType::kBroadcast) ? Middle(input.type, shape) : Shape();
      const Shape wanted = lengths.ShapeOf(input.type, &broadcast);
      if (shape == wanted) { return; }
      for (const TensorKey& other : instance->inputs()) {
        if (other == key) { break; }
        if (ArgumentNamed(inputs_, other.first).type.shape == input.type.shape) {
          throw Failure(Joined({NameOf(key), " must have the shape of ", NameOf(other), ", ", wanted.ToString(),
                                ", but has ", shape.ToString()}));
        }
      }
      throw Failure(Joined({NameOf(key), " must have the shape (", input.type.shape, "), here ", wanted.ToString(),
                            ", but has ", shape.ToString()}));
    });
  }

  Shape OutputShape(const TensorKey& key, Instance* instance, const Lengths& lengths) const {
    const TypedArgument& output = ArgumentNamed(outputs_, key.first);
    if (const TypedArgument* like = FindLike(output)) {
      return instance->Tensor(like->declared->name, key.second, output.declared->at).shape();
    }
    return lengths.ShapeOf(output.type);
  }

  /* The input whose shape a gradient has; nullptr if it is not an input of this op. */
  const TypedArgument* FindLike(const TypedArgument& output) const {
    for (const TypedArgument& input : inputs_) {
      if (input.declared->name == output.declared->like) { return &input; }
    }
    return nullptr;
  }

  void CheckDataType(const TypedArgument& argument, const TensorKey& key, Instance* instance,
                     std::vector<TensorKey>* first) const {
    At(argument.declared->at, [&] {
      const std::string& word = argument.type.dtype;
      const ::oneflow::DataType type = instance->FindTensor(key.first, key.second)->data_type();
      const DataTypeClass* several = FindDataTypeClass(word);
      const bool fits = several != nullptr ? several->includes(type) : type == DataTypeNamed(word);
      if (!fits) {
        throw Failure(Joined({NameOf(key), " must be ", (several != nullptr ? several->wanted : word), ", but is ",
                              ::oneflow::DataTypeName(type)}));
      }
      for (const TensorKey& each : *first) {
        const ::oneflow::DataType wanted = instance->FindTensor(each.first, each.second)->data_type();
        const std::string& other = ArgumentNamed(inputs_, each.first).type.dtype;
        const bool is_alike = other == word;
        if (is_alike && type == wanted) { return; }
        const bool is_as_precise = !HasPrecision(word) || !HasPrecision(other)
                                   || ::oneflow::RealDataType(type) == ::oneflow::RealDataType(wanted);
        if (!is_alike && is_as_precise) { continue; }
        throw Failure(Joined({NameOf(key), " must have the ", (is_alike ? "dtype" : "precision"), " of ",
                              NameOf(each), ", ", ::oneflow::DataTypeName(wanted), ", but is ",
                              ::oneflow::DataTypeName(type)}));
      }
      first->push_back(key);
    });
  }

  /* ---- distribution: every function returns the axis of a tensor to split, or -1 */

  /* Adds one signature: tensors with axis `i` of those that `name` stands for are split along it; other inputs are
   * whole, other outputs are sums of parts. */
  void Distribute(::oneflow::user_op::SbpContext* ctx, const Lengths& lengths, const std::string& name,
                  size_t i) const {
    Instance* instance = ctx->instance();
    auto builder = ctx->NewBuilder();
    for (const TensorKey& key : instance->inputs()) {
      const Shape& shape = instance->FindTensor(key.first, key.second)->shape();
      const int64_t axis = AxisOf(ArgumentNamed(inputs_, key.first).type, shape, lengths, name, i);
      const ::oneflow::user_op::OpArg arg(key.first, key.second);
      axis < 0 ? builder.Broadcast(arg) : builder.Split(arg, axis);
    }
    for (const TensorKey& key : instance->outputs()) {
      const Shape shape = OutputShape(key, instance, lengths);
      const int64_t axis = AxisOf(ArgumentNamed(outputs_, key.first).type, shape, lengths, name, i);
      const ::oneflow::user_op::OpArg arg(key.first, key.second);
      axis < 0 ? builder.PartialSum(arg) : builder.Split(arg, axis);
    }
    builder.Build();
  }

  static Shape Middle(const TensorType& type, const Shape& shape) {
    const size_t any = type.Any();
    return Shape(shape.begin() + static_cast<long>(any), shape.end() - static_cast<long>(type.axes.size() - any - 1));
  }

  static int64_t AxisOf(const TensorType& type, const Shape& shape, const Lengths& lengths, const std::string& name,
                        size_t i) {
    if (name == TensorType::kSame) { return AxisOfSame(type, lengths, i); }
    if (name == TensorType::kBroadcast) { return AxisOfBroadcast(type, shape, lengths.broadcast(), i); }
    return AxisNamed(type, shape, name);
  }
  static int64_t AxisOfSame(const TensorType& type, const Lengths& lengths, size_t i) {
    if (!type.Has(TensorType::kSame)) { return -1; }
    const auto at = static_cast<int64_t>(i);
    const bool lacks_axis = !type.axis.empty() && type.length.empty();
    const bool follows = !lacks_axis && lengths.selected() >= 0 && at >= lengths.selected();
    return static_cast<int64_t>(type.Any()) + at + (follows ? 1 : 0);
  }
  static int64_t AxisOfBroadcast(const TensorType& type, const Shape& shape, const Shape& common, size_t i) {
    if (!type.Has(TensorType::kBroadcast)) { return -1; }
    const Shape part = Middle(type, shape);
    const auto at = static_cast<int64_t>(i + part.size()) - static_cast<int64_t>(common.size());
    if (at < 0 || part[static_cast<size_t>(at)] != common[i]) { return -1; }
    return static_cast<int64_t>(type.Any()) + at;
  }
  static int64_t AxisNamed(const TensorType& type, const Shape& shape, const std::string& name) {
    for (size_t i = 0; i < type.axes.size(); ++i) {
      if (type.axes[i] == name) {
        return static_cast<int64_t>(i < type.Any() ? i : shape.size() - (type.axes.size() - i));
      }
    }
    return -1;
  }

  const OpRecord& op_;
  std::list<TypedArgument> inputs_, outputs_;
  std::string axis_;  // the attribute that selects an axis of "..."
};

}  // namespace pykernels
