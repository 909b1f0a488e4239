#include "interface.h"

#include <cstring>
#include <mutex>
#include <sstream>

#include "dtype.h"
#include "kept.h"
#include "node_types.h"

namespace popart_cpu {
namespace {

std::mutex the_mutex;
// Never deleted: nodes may be made of them as long as the process lives.
auto& the_kept = *new std::map<int64_t, Kept>;

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') quoted += '\\';
    if (static_cast<unsigned char>(letter) >= 0x20) quoted += letter;
  }
  return quoted + '"';
}

// The attributes of an op as the members of a JSON object.
class JsonSerialiser final : public popart::OpSerialiserBase {
 public:
  std::string text() const { return "{" + text_ + "}"; }

 private:
  void Append(const std::string& key, const std::string& value) override {
    text_ += (text_.empty() ? "" : ", ") + Quoted(key) + ": " + value;
  }
  void AppendText(const std::string& key, const std::string& text) override { Append(key, Quoted(text)); }

  std::string text_;
};

std::string NameAsJson(const popart::OperatorIdentifier& id) {
  std::ostringstream text;
  text << "\"domain\": " << Quoted(id.domain) << ", \"type\": " << Quoted(id.type) << ", \"version\": " << id.version;
  return text.str();
}

// Writes what `body` gives, or throws, into `text`.
template <typename Body>
int Tell(char* text, std::size_t size, const Body& body) {
  std::string told;
  int result = 0;
  try {
    told = body();
    if (told.size() >= size) throw popart::error("there is no room for the {} bytes of the answer", told.size());
  } catch (const std::exception& error) {
    told = error.what();
    result = -1;
  } catch (...) {
    told = "an exception was thrown that is no std::exception";
    result = -1;
  }
  std::strncpy(text, told.c_str(), size - 1);
  text[size - 1] = '\0';
  return result;
}

// What an op throws, with its name.
template <typename Body>
auto Named(const popart::Op& op, const Body& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    throw popart::error("{}: {}", op.opid, std::string(error.what()));
  }
}

const char* NameOf(popart::GradOpInType type) {
  switch (type) {
    case popart::GradOpInType::In: return "In";
    case popart::GradOpInType::Out: return "Out";
    default: return "GradOut";
  }
}

std::string GradientAsJson(std::unique_ptr<popart::Op> gradient, const std::string& library) {
  std::ostringstream text;
  text << "{" << NameAsJson(gradient->opid) << ", \"inputs\": [";
  const char* separator = "";
  for (const auto& each : gradient->gradInputInfo()) {
    text << separator << "[" << each.iGrad << ", \"" << NameOf(each.type) << "\", " << each.iNonGrad << "]";
    separator = ", ";
  }
  text << "], \"outputs\": [";
  separator = "";
  for (const auto& each : gradient->gradOutToNonGradIn()) {
    text << separator << "[" << each.first << ", " << each.second << "]";
    separator = ", ";
  }
  text << "], \"op\": " << Keep(std::move(gradient), library) << "}";
  return text.str();
}

}  // namespace

Kept& FindKept(int64_t number) {
  std::lock_guard<std::mutex> lock(the_mutex);
  const auto found = the_kept.find(number);
  if (found == the_kept.end()) throw popart::error("there is no op {} in this process", number);
  return found->second;
}

int64_t Keep(std::unique_ptr<popart::Op> op, std::string library) {
  std::shared_ptr<popart::Op> own = Clone(*op);
  std::lock_guard<std::mutex> lock(the_mutex);
  const auto number = static_cast<int64_t>(the_kept.size()) + 1;
  the_kept[number] = {{std::move(op), std::move(library)}, std::move(own), {}, {}};
  return number;
}

// Of a library of the user's: see parameterizedopbinder.hpp.
int64_t keep(std::unique_ptr<popart::Op> op) { return Keep(std::move(op), LibraryOf(__builtin_return_address(0))); }

}  // namespace popart_cpu

using namespace popart_cpu;

int popart_cpu_infer(int64_t op, int32_t n, const int32_t* dtypes, const int32_t* ranks, const int64_t* dims,
                     char* text, size_t size) {
  return Tell(text, size, [&] {
    Kept& kept = FindKept(op);
    return Named(*kept.op, [&] {
      Infos inputs(static_cast<std::size_t>(n));
      for (int32_t i = 0; i < n; dims += ranks[i++]) {
        if (dtypes[i] != 0) inputs[i].set(FromOnnxNumber(dtypes[i]), popart::Shape(dims, dims + ranks[i]));
      }
      kept.outputs = Setup(kept.op.get(), inputs);
      kept.inputs = std::move(inputs);
      FindOpx(kept.op->opid, kept.instance.library);
      JsonSerialiser attributes;
      kept.op->appendAttributes(attributes);
      std::ostringstream told;
      told << "{" << NameAsJson(kept.op->opid) << ", \"attributes\": " << attributes.text() << ", \"outputs\": [";
      const char* separator = "";
      for (const auto& each : kept.outputs) {
        told << separator << "[" << OnnxNumber(each.dataType()) << ", [";
        separator = "";
        for (int64_t dim : each.shape()) {
          told << separator << dim;
          separator = ", ";
        }
        told << "]]";
        separator = ", ";
      }
      told << "]}";
      return told.str();
    });
  });
}

int popart_cpu_gradients(int64_t op, char* text, size_t size) {
  return Tell(text, size, [&] {
    Kept& kept = FindKept(op);
    return Named(*kept.op, [&] {
      std::string told;
      for (auto& each : kept.op->getGradOps()) {
        told += (told.empty() ? "" : ", ") + GradientAsJson(std::move(each), kept.instance.library);
      }
      return "[" + told + "]";
    });
  });
}

int popart_cpu_offer_ops(const int64_t* ops, int32_t n, char* text, size_t size) {
  return Tell(text, size, [&] {
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
  return Tell(text, size, [&] {
    std::vector<const Variant*> variants;
    std::string told;
    for (int32_t i = 0; i < n; ++i) {
      for (const RegisteredOp* op : OpsOf(RealPath(paths[i]))) {
        const auto of_op = VariantsOf(*op);
        variants.insert(variants.end(), of_op.begin(), of_op.end());
        std::string names;
        for (const auto& each : op->definition.attributes) names += (names.empty() ? "" : ", ") + Quoted(each.first);
        told += (told.empty() ? "{" : ", {") + NameAsJson(op->opid) + ", \"attributes\": [" + names + "]}";
      }
    }
    Offer(std::move(variants));
    return "[" + told + "]";
  });
}
