#include "interface.h"

#include <algorithm>

#include "../host/error.h"
#include "dtype.h"
#include "node_types.h"

namespace popart_cpu {
namespace {

using pykernels::Join;

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') quoted += '\\';
    if (static_cast<unsigned char>(letter) >= 0x20) quoted += letter;
  }
  return quoted + '"';
}

// Returns a JSON list of the texts that `write` returns for items.
template <typename Items, typename Write>
std::string List(Items&& items, const Write& write) {
  std::string text;
  for (auto& each : items) text += (text.empty() ? "" : ", ") + write(each);
  return "[" + text + "]";
}

// Writes the result of `body`, or the error that it throws, into `text`.
template <typename Body>
int Answer(char* text, std::size_t size, const Body& body) {
  std::string answer;
  const auto problem = ProblemOf([&] {
    answer = body();
    if (answer.size() >= size) throw popart::error("the answer of {} bytes is too long", answer.size());
  });
  pykernels::WriteText(problem.value_or(answer), text, size);
  return problem ? -1 : 0;
}

// Runs `body` and adds the op's name to any error.
template <typename Body>
auto Named(const popart::Op& op, const Body& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    throw popart::error("{}: {}", op.opid, std::string(error.what()));
  }
}

std::string GradientAsJson(std::unique_ptr<popart::Op> gradient, const std::string& library) {
  static const char* const kTypes[] = {"In", "Out", "GradOut"};
  const std::string inputs = List(gradient->gradInputInfo(), [](const popart::GradInOutMapper& each) {
    return Join("[", each.iGrad, ", \"", kTypes[static_cast<int>(each.type)], "\", ", each.iNonGrad, "]");
  });
  const std::string outputs = List(gradient->gradOutToNonGradIn(), [](const auto& each) {
    return Join("[", each.first, ", ", each.second, "]");
  });
  return Join("[", Keep(std::move(gradient), library), ", ", inputs, ", ", outputs, "]");
}

std::string TypeAsJson(const popart::TensorInfo& info) {
  const std::string shape = List(info.shape(), [](int64_t size) { return std::to_string(size); });
  return Join("[", OnnxNumber(info.dataType()), ", ", shape, "]");
}

}  // namespace

// Called by a user's library: see parameterizedopbinder.hpp.
int64_t keep(std::unique_ptr<popart::Op> op) { return Keep(std::move(op), LibraryOf(__builtin_return_address(0))); }

}  // namespace popart_cpu

using namespace popart_cpu;

int popart_cpu_infer(int64_t op, int32_t n, const int32_t* dtypes, const int32_t* ranks, const int64_t* dims,
                     char* text, size_t size) {
  return Answer(text, size, [&] {
    Kept& kept = FindKept(op);
    return Named(*kept.op, [&] {
      Infos inputs(static_cast<std::size_t>(n));
      for (int32_t i = 0; i < n; dims += ranks[i++]) {
        if (dtypes[i] != 0) inputs[i].set(FromOnnxNumber(dtypes[i]), popart::Shape(dims, dims + ranks[i]));
      }
      kept.outputs = Setup(kept.op.get(), inputs);
      kept.inputs = std::move(inputs);
      FindOpx(kept.op->opid, kept.instance.library);
      const popart::OperatorIdentifier& id = kept.op->opid;
      return Join("[", Quoted(id.domain), ", ", Quoted(id.type), ", ", List(kept.outputs, TypeAsJson), "]");
    });
  });
}

int popart_cpu_gradients(int64_t op, char* text, size_t size) {
  return Answer(text, size, [&] {
    const Kept& kept = FindKept(op);
    return Named(*kept.op, [&] {
      auto gradients = kept.op->getGradOps();
      return List(gradients, [&](auto& each) { return GradientAsJson(std::move(each), kept.instance.library); });
    });
  });
}

int popart_cpu_offer_ops(const int64_t* ops, int32_t n, char* text, size_t size) {
  return Answer(text, size, [&] {
    std::vector<const Variant*> variants;
    for (int32_t i = 0; i < n; ++i) {
      const Kept& kept = FindKept(ops[i]);
      const Variant* variant = VariantOf(kept.op->opid, kept.inputs, kept.outputs);
      if (std::find(variants.begin(), variants.end(), variant) == variants.end()) variants.push_back(variant);
    }
    Offer(std::move(variants));
    return std::string("[]");
  });
}

int popart_cpu_offer_libraries(const char* const* paths, int32_t n, char* text, size_t size) {
  return Answer(text, size, [&] {
    std::vector<const Variant*> variants;
    for (int32_t i = 0; i < n; ++i) {
      for (const RegisteredOp* op : OpsOf(RealPath(paths[i]))) {
        const auto of_op = VariantsOf(*op);
        variants.insert(variants.end(), of_op.begin(), of_op.end());
      }
    }
    Offer(std::move(variants));
    return std::string("[]");
  });
}
