// NEURON_LIBRARY(name, m) { m.def("op", &shape_function, "kernel_function"); }
#pragma once

#include <torch/library.h>
#include <torch/types.h>

#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "torchneuron/library_table.h"
#include "torchneuron/operator.h"

namespace torchneuron {

// How many operators a library can have on a device.
constexpr int kMaxOperators = 10;

// The operators of a namespace, as NEURON_LIBRARY defines them.
class Library {
 public:
  explicit Library(torch::Library& library) : library_(library) {}

  // Defines torch.ops.<name>.<op>.
  //
  // `shape_function` returns a tensor of the output's sizes and dtype; the function named `kernel_function` in the
  // kernel files has the same parameters and computes the output.
  template <typename Result, typename... Parameters>
  void def(const char* op, Result (*shape_function)(Parameters...), const char* kernel_function,
           Place place = Place::here()) {
    const std::string title = std::string("operator '") + op + "': ";
    try {
      if constexpr (!std::is_same_v<Result, at::Tensor>) {
        fail(place, title + "the shape function returns " + type_name<Result>() + ", it must return torch::Tensor");
      } else {
        int number = 0;
        (check_type<Parameters>(++number, title, place), ...);
        if constexpr (((Parameter<Parameters>::name != nullptr) && ...)) {
          define<Parameters...>(op, shape_function, kernel_function, title, place);
        }
      }
    } catch (const std::runtime_error& error) {
      // Continue, to check the other operators too.
      is_right_ = false;
      torchneuron_refuse(error.what());
    }
  }

  bool is_right() const { return is_right_; }

 private:
  template <typename Type>
  static void check_type(int number, const std::string& title, Place place) {
    if (Parameter<Type>::name == nullptr) {
      fail(place, title + "parameter " + std::to_string(number) + " of the shape function is of type " +
                      type_name<Type>() + "; supported are torch::Tensor, torch::Scalar, double and int64_t");
    }
  }

  template <typename... Parameters>
  void define(const char* op, at::Tensor (*shape_function)(Parameters...), const char* kernel_function,
              const std::string& title, Place place) {
    using Types = Operator<Parameters...>;
    if (torchneuron_count_operator() > kMaxOperators) {
      fail(place, title + "a library holds at most " + std::to_string(kMaxOperators) + " operators");
    }
    auto address = find(kernel_function, joined({Parameter<Parameters>::name...}), title, place);
    const auto kernel = reinterpret_cast<typename Types::KernelFunction>(address);
    std::string schema = std::string(op) + "(";
    int number = 0;
    ((schema += std::string(number == 0 ? "" : ", ") + Parameter<Parameters>::schema + " _" + std::to_string(number),
      ++number),
     ...);
    schema += ") -> Tensor";
    const auto functor = [](auto made) { return torch::CppFunction::makeFromBoxedFunctor(std::move(made)); };
    try {
      library_.def(schema.c_str(), {at::Tag::pt2_compliant_tag});
      library_.impl(op, torch::dispatch(c10::DispatchKey::Meta,
                                        functor(std::make_unique<typename Types::Shape>(shape_function, place))));
      library_.impl(op, torch::dispatch(c10::DispatchKey::CPU, functor(std::make_unique<typename Types::Kernel>(
                                                                   kernel, shape_function, op, place))));
      library_.impl(op, torch::dispatch(c10::DispatchKey::ADInplaceOrView,
                                        functor(std::make_unique<RefuseTangents>(op, place))));
    } catch (const c10::Error& error) {
      fail(place, title + error.what_without_backtrace());
    } catch (const std::exception& error) {  // from a schema, for example because of an invalid name
      fail(place, title + error.what());
    }
  }

  static std::string joined(std::initializer_list<const char*> names) {
    std::string text;
    for (const char* name : names) { text += (text.empty() ? "" : ", ") + std::string(name); }
    return text;
  }

  // Returns the kernel function with this name and these parameters.
  static void (*find(const std::string& name, const std::string& parameters, const std::string& title, Place place))() {
    std::string others, all;
    for (const auto* each = torchneuron_kernel_functions(); each->name != nullptr; ++each) {
      all += std::string(all.empty() ? "" : ", ") + each->name;
      if (name != each->name) { continue; }
      if (each->result != nullptr) {
        fail(place, title + "the kernel function " + name + " returns " + each->result +
                        ", it must return torch::Tensor");
      }
      if (parameters == each->parameters) { return each->address; }
      others += std::string(others.empty() ? "(" : " or (") + each->parameters + ")";
    }
    if (!others.empty()) {
      fail(place, title + "the kernel function " + name + " takes " + others + ", but the shape function takes (" +
                      parameters + ")");
    }
    fail(place, title + "the kernel files define no function " + name + "; they define " +
                    (all.empty() ? "none" : all));
  }

  torch::Library& library_;
  bool is_right_ = true;
};

// Registers operators while the library is loaded. An exception would end the process, so errors are recorded for the
// loader.
class Registration {
 public:
  Registration(const char* name, void (*define)(Library&), const char* file, int line) {
    try {
      library_ = std::make_unique<torch::Library>(torch::Library::DEF, name, std::nullopt, file, line);
      Library library(*library_);
      define(library);
      if (library.is_right()) { return; }
    } catch (const c10::Error& error) {
      torchneuron_refuse(at_place({file, line}, error.what_without_backtrace()).c_str());
    } catch (const std::exception& error) {
      torchneuron_refuse(error.what());
    } catch (...) {
      torchneuron_refuse(at_place({file, line}, "registering the operators failed").c_str());
    }
    library_.reset();
  }

 private:
  std::unique_ptr<torch::Library> library_;
};

}  // namespace torchneuron

#define NEURON_LIBRARY(name, m)                                                                                 \
  static void torchneuron_define_##name(::torchneuron::Library&);                                               \
  static const ::torchneuron::Registration torchneuron_registration_##name(#name, &torchneuron_define_##name,   \
                                                                           __FILE__, __LINE__);                 \
  static void torchneuron_define_##name(::torchneuron::Library& m)
