/* The lengths of named axes in one use of an op whose arguments have tensor types. */
#pragma once

#include "instance.h"
#include "tensor_type.h"

namespace pykernels {

using ::oneflow::Shape;

/* The lengths of the axes that the types of an op name, in one use of the op. */
class Lengths : public Formula::Operands {
 public:
  Lengths(const std::string& axis, Instance* instance) : axis_(axis), instance_(instance) {}

  /* Reads the lengths of the named axes of an input. The first input that has an axis determines its length. */
  void Read(const TensorType& type, const std::string& name, const Shape& shape) {
    const size_t any = type.Any(), others = type.axes.size() - (type.HasAny() ? 1 : 0);
    if (type.HasAny() ? shape.size() < others : shape.size() != others) {
      throw Failure(Joined({name, " must have ", std::to_string(others), others == 1 ? " axis" : " axes",
                            type.HasAny() ? " or more (" : " (", type.shape, "), but its shape is ",
                            shape.ToString()}));
    }
    const size_t middle = shape.size() - others;
    for (size_t i = 0; i < type.axes.size(); ++i) {
      if (i != any) { Bind(type.axes[i], shape[i < any ? i : i - 1 + middle]); }
    }
    if (!type.HasAny()) { return; }
    const Shape part(shape.begin() + static_cast<long>(any), shape.begin() + static_cast<long>(any + middle));
    type.axes[any] == TensorType::kSame ? ReadSame(type, name, part, shape) : ReadBroadcast(name, part);
  }

  /* The shape of a tensor of this type. `broadcast`: what "broadcast" stands for, if not for the common shape. */
  Shape ShapeOf(const TensorType& type, const Shape* broadcast = nullptr) const {
    Shape shape;
    for (const std::string& item : type.axes) {
      if (item == TensorType::kSame) {
        for (int64_t length : Same(type)) { shape.push_back(length); }
      } else if (item == TensorType::kBroadcast) {
        const Shape& part = broadcast != nullptr ? *broadcast : broadcast_;
        for (int64_t length : part) { shape.push_back(length); }
      } else {
        shape.push_back(Length(item));
      }
    }
    return shape;
  }

  double Value(const std::string& name) const override {
    const size_t dot = name.find('.'), open = name.find('[');
    if (dot != std::string::npos) {
      return static_cast<double>(instance_->Tensor(name.substr(0, dot), 0, Where::Here()).shape().size());
    }
    const BoundAttribute* attribute = FindNamed(instance_->use().attributes, name.substr(0, open));
    if (attribute == nullptr) { return static_cast<double>(FindNamed(lengths_, name)->length); }
    const AttrVal& value = attribute->value;
    if (open == std::string::npos) {
      const bool is_real = value.type == ::oneflow::kAtFloat || value.type == ::oneflow::kAtDouble;
      return is_real ? value.real : static_cast<double>(value.integer);
    }
    const size_t index = std::strtoul(name.c_str() + open + 1, nullptr, 10);
    if (index < value.integers.size()) { return static_cast<double>(value.integers[index]); }
    throw Failure(Joined({attribute->name, " must have ", std::to_string(index + 1), " numbers or more, but has ",
                          std::to_string(value.integers.size())}));
  }
  double Evaluate(const std::string& formula) const {
    return Formula::Evaluate(formula, *this);
  }

  /* The axes that "..." stands for, without the axis that an attribute selects, and the common shape of "broadcast". */
  const Shape& same() const { return same_; }
  const Shape& broadcast() const { return broadcast_; }
  /* The position among the axes of "..." of the axis that an attribute selects; -1 if none does. */
  int64_t selected() const { return selected_; }

 private:
  struct Named {
    std::string name;
    int64_t length;
  };

  void Bind(const std::string& item, int64_t length) {
    const bool is_attribute = FindNamed(instance_->use().attributes, item) != nullptr;
    const bool is_new = !is_attribute && FindNamed(lengths_, item) == nullptr;
    if (Formula::IsName(item) && is_new) { lengths_.push_back({item, length}); }
  }

  void ReadSame(const TensorType& type, const std::string& name, Shape part, const Shape& shape) {
    int64_t selected = -1;
    if (!axis_.empty()) {
      const bool lacks_axis = !type.axis.empty() && type.length.empty();
      selected = Selected(name, static_cast<int64_t>(part.size()) + (lacks_axis ? 1 : 0), shape);
      if (!lacks_axis) {
        const int64_t length = part[static_cast<size_t>(selected)];
        part.erase(part.begin() + selected);
        Bind(type.length, length);
        if (along_ < 0) { along_ = length; }
      }
    }
    if (!has_same_) {
      same_ = part;
      selected_ = selected;
      has_same_ = true;
    }
  }

  int64_t Selected(const std::string& name, int64_t axes, const Shape& shape) const {
    const auto axis = static_cast<int64_t>(Value(axis_));
    if (axes == 0) { throw Failure(Joined({name, " must have one axis or more, but has none"})); }
    if (axis < -axes || axis >= axes) {
      throw Failure(Joined({axis_, " is ", std::to_string(axis), ", but ", name, " has ", std::to_string(shape.size()),
                            (shape.size() == 1 ? " axis" : " axes"), " (its shape is ", shape.ToString(), ")"}));
    }
    return axis < 0 ? axis + axes : axis;
  }

  void ReadBroadcast(const std::string& name, const Shape& part) {
    if (part.size() > broadcast_.size()) { broadcast_.insert(broadcast_.begin(), part.size() - broadcast_.size(), 1); }
    for (size_t i = 0; i < part.size(); ++i) {
      int64_t& length = broadcast_[broadcast_.size() - part.size() + i];
      if (part[i] != 1 && length != 1 && part[i] != length) {
        throw Failure(Joined({name, " has the shape ", part.ToString(), ", which cannot be broadcast together with ",
                              broadcast_.ToString()}));
      }
      if (length == 1) { length = part[i]; }
    }
  }

  Shape Same(const TensorType& type) const {
    Shape shape = same_;
    const bool lacks_axis = axis_.empty() || (!type.axis.empty() && type.length.empty());
    if (!lacks_axis) { shape.insert(shape.begin() + selected_, type.length.empty() ? along_ : Length(type.length)); }
    return shape;
  }

  int64_t Length(const std::string& formula) const {
    const auto length = static_cast<int64_t>(Evaluate(formula));
    if (length < 0) { throw Failure(Joined({"the length ", formula, " is ", std::to_string(length)})); }
    return length;
  }

  const std::string axis_;
  Instance* instance_;
  std::list<Named> lengths_;
  Shape same_, broadcast_;
  bool has_same_ = false;
  int64_t selected_ = -1, along_ = -1;
};

}  // namespace pykernels
