// Ops with gradient ops: x y + bias, with an input that may be left out, and one whose gradient op is wrong.
#include <cmath>

#include <popart/op/custom/parameterizedop.hpp>

#include "test_op.hpp"

namespace pe = popops::expr;

namespace popart_cpu {
int64_t keep(std::unique_ptr<popart::Op> op);
}

namespace {

struct Params {
  float factor = 1;
  bool fast = true;
  std::string kind = "a \"kind\"";

  void appendAttributes(popart::OpSerialiserBase& os) const {
    os.appendAttribute("factor", factor);
    os.appendAttribute("fast", fast);
    os.appendAttribute("kind", kind);
    os.appendAttribute("sizes", std::vector<int64_t>{2, 3});
    os.appendAttribute("most", INFINITY);
  }
  static Params makeFromAttributes(const popart::Attributes& attributes) {
    Params params;
    params.factor = attributes.getAttribute<popart::Attributes::Float>("factor", params.factor);
    return params;
  }
};

class ProductGrad : public popart::ParameterizedOp<ProductGrad, Params> {
 public:
  using ParameterizedOp<ProductGrad, Params>::ParameterizedOp;
  static popart::OperatorIdentifier defaultOperatorId() { return {"test", "ProductGrad", 1}; }
  void setup() override {
    outInfo(0) = inInfo(1);
    outInfo(1) = inInfo(2);
  }
  const std::vector<popart::GradInOutMapper>& gradInputInfo() const override {
    using popart::GradOpInType;
    static const std::vector<popart::GradInOutMapper> mapping = {
        {0, 0, GradOpInType::GradOut}, {1, 0, GradOpInType::In}, {2, 1, GradOpInType::In}, {3, 0, GradOpInType::Out}};
    return mapping;
  }
  const std::map<int, int>& gradOutToNonGradIn() const override {
    static const std::map<int, int> mapping = {{0, 0}, {1, 1}};
    return mapping;
  }
};

class Product : public popart::ParameterizedOp<Product, Params> {
 public:
  using ParameterizedOp<Product, Params>::ParameterizedOp;
  static popart::OperatorIdentifier defaultOperatorId() { return {"test", "Product", 1, {2, 3}, 1}; }
  void setup() override { outInfo(0) = prettyNpOut(inInfo(0), inInfo(1)); }
  std::vector<std::unique_ptr<popart::Op>> getGradOps() override {
    if (params().factor < 0) throw popart::error("no gradient for {}", params().factor);
    std::vector<std::unique_ptr<popart::Op>> ops;
    ops.emplace_back(new ProductGrad(*this));
    return ops;
  }
};

class ProductOpx : public popart::popx::Opx {
 public:
  using Opx::Opx;
  void grow(poplar::program::Sequence& prog) const override {
    const float factor = getOp<Product>().params().factor;
    std::vector<poplar::Tensor> in{getInTensor(0), getInTensor(1)};
    if (!hasInput(2)) return setOutTensor(0, popops::map(graph(), factor * pe::_1 * pe::_2, in, prog));
    in.push_back(getInTensor(2));
    setOutTensor(0, popops::map(graph(), factor * pe::_1 * pe::_2 + pe::_3, in, prog));
  }
};

class ProductGradOpx : public popart::popx::Opx {
 public:
  using Opx::Opx;
  void grow(poplar::program::Sequence& prog) const override {
    const float factor = getOp<ProductGrad>().params().factor;
    for (int i = 0; i < 2; ++i) {
      setOutTensor(i, popops::map(graph(), factor * pe::_1 * pe::_2, {getInTensor(0), getInTensor(2 - i)}, prog));
    }
  }
};

const popart::popx::OpxCreator<ProductOpx> opx({Product::defaultOperatorId()});
const popart::popx::OpxCreator<ProductGradOpx> grad_opx({ProductGrad::defaultOperatorId()});

}  // namespace

extern "C" int64_t make_product(float factor) {
  Params params;
  params.factor = factor;
  return popart_cpu::keep(std::unique_ptr<popart::Op>(new Product(params, popart::Op::Settings())));
}
