// Infers shapes of outputs from symbolic sizes of inputs, as in torch.compile and torch.export with dynamic sizes.
//
// A shape function computes with numbers. It runs several times with different numbers in place of the symbols. A size
// of the output becomes a simple term of the symbols if the same term fits all runs. If no term fits, the symbols are
// fixed to the numbers of the example being traced.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace torchneuron {

// The sizes of the inputs with numbers in place of symbols; equal symbols have equal numbers. With `compare`, so do
// symbols that are equal in the example being traced, and the trace is valid only where they are equal.
class Trial {
 public:
  Trial(const std::vector<at::Tensor>& tensors, int number, bool compare) {
    // Different primes in each trial, above all constants that a shape function is likely to add or multiply by.
    static constexpr std::array<int64_t, 12> kPrimes = {11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};
    for (const at::Tensor& tensor : tensors) {
      sizes.emplace_back();
      for (const c10::SymInt& size : tensor.sym_sizes()) {
        if (const auto known = size.maybe_as_int()) {
          sizes.back().push_back(*known);
          continue;
        }
        const std::string name = size.toSymNode()->str();
        size_t symbol = 0;
        while (symbol < names_.size() && names_[symbol] != name &&
               !(compare && symbols[symbol].sym_eq(size).guard_bool(__FILE__, __LINE__))) {
          ++symbol;
        }
        if (symbol == names_.size()) {
          names_.push_back(name);
          symbols.push_back(size);
          numbers.push_back(kPrimes[(symbol * 5 + static_cast<size_t>(number) * 3) % kPrimes.size()]);
        }
        sizes.back().push_back(numbers[symbol]);
      }
    }
  }

  std::vector<std::vector<int64_t>> sizes;
  std::vector<c10::SymInt> symbols;
  std::vector<int64_t> numbers;

 private:
  std::vector<std::string> names_;
};

constexpr int kTrials = 6;

using Numbers = std::array<int64_t, kTrials>;

// Something that a size of an output may depend on, and its number in each trial.
struct Quantity {
  c10::SymInt term;
  Numbers numbers;
};

// Returns the symbols, and the number of elements of each input.
inline std::vector<Quantity> quantities(const std::vector<at::Tensor>& tensors, const std::vector<Trial>& trials) {
  std::vector<Quantity> result;
  const auto add = [&](c10::SymInt term, auto number) {
    Quantity each{std::move(term), {}};
    for (int t = 0; t < kTrials; ++t) { each.numbers[t] = number(trials[t]); }
    result.push_back(std::move(each));
  };
  for (size_t i = 0; i < trials[0].symbols.size(); ++i) {
    add(trials[0].symbols[i], [&](const Trial& trial) { return trial.numbers[i]; });
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    add(tensors[i].sym_numel(), [&](const Trial& trial) {
      int64_t count = 1;
      for (const int64_t size : trial.sizes[i]) { count *= size; }
      return count;
    });
  }
  return result;
}

// Returns whole numbers (factor, rest) such that `numbers` * factor + rest equals `size`; nullopt if there are none.
inline std::optional<std::pair<int64_t, int64_t>> fit(const Numbers& size, const Numbers& numbers) {
  const int64_t run = numbers[1] - numbers[0];
  const int64_t rise = size[1] - size[0];
  if (run == 0 || rise % run != 0) { return std::nullopt; }
  const int64_t factor = rise / run;
  const int64_t rest = size[0] - factor * numbers[0];
  for (int t = 0; t < kTrials; ++t) {
    if (size[t] != factor * numbers[t] + rest) { return std::nullopt; }
  }
  return std::pair(factor, rest);
}

// Finds a constant for a size, or a term q * factor + rest, where q is one quantity, or the sum or product of two.
inline std::optional<c10::SymInt> find_term(const Numbers& size, const std::vector<Quantity>& quantities) {
  if (std::all_of(size.begin(), size.end(), [&](int64_t each) { return each == size[0]; })) {
    return c10::SymInt(size[0]);
  }
  for (const Quantity& each : quantities) {
    if (const auto found = fit(size, each.numbers)) { return each.term * found->first + found->second; }
  }
  for (size_t i = 0; i < quantities.size(); ++i) {
    for (size_t j = i; j < quantities.size(); ++j) {
      const Quantity &a = quantities[i], &b = quantities[j];
      Numbers sum, product;
      for (int t = 0; t < kTrials; ++t) {
        sum[t] = a.numbers[t] + b.numbers[t];
        product[t] = a.numbers[t] * b.numbers[t];
      }
      if (const auto found = fit(size, sum)) { return (a.term + b.term) * found->first + found->second; }
      if (const auto found = fit(size, product)) { return a.term * b.term * found->first + found->second; }
    }
  }
  return std::nullopt;
}

// Returns an output with sizes as terms of the symbols, if there are such terms.
template <typename Infer>
std::optional<at::Tensor> infer_symbolic(const std::vector<at::Tensor>& tensors, bool compare, const Infer& infer_for) {
  std::vector<Trial> trials;
  for (int t = 0; t < kTrials; ++t) { trials.emplace_back(tensors, t, compare); }
  std::vector<at::Tensor> outputs;
  try {
    for (const Trial& trial : trials) { outputs.push_back(infer_for(trial.sizes)); }
  } catch (const std::exception&) {
    return std::nullopt;  // The function refuses sizes that do not fit together.
  }
  const std::vector<Quantity> candidates = quantities(tensors, trials);
  std::vector<c10::SymInt> sizes;
  for (const at::Tensor& each : outputs) {
    if (each.dim() != outputs[0].dim() || each.dtype() != outputs[0].dtype()) { return std::nullopt; }
  }
  for (int64_t d = 0; d < outputs[0].dim(); ++d) {
    Numbers size;
    for (int t = 0; t < kTrials; ++t) { size[t] = outputs[t].size(d); }
    auto term = find_term(size, candidates);
    if (!term) { return std::nullopt; }
    sizes.push_back(*std::move(term));
  }
  return at::empty_symint(sizes, outputs[0].options());
}

// Runs `infer` on tensors without data, which it finds in `places`, and returns the output's shape as such a tensor.
template <typename Infer>
at::Tensor infer_shape(const std::vector<at::Tensor*>& places, const Infer& infer) {
  std::vector<at::Tensor> tensors;
  bool symbolic = false;
  for (const at::Tensor* each : places) {
    tensors.push_back(*each);
    symbolic = symbolic || each->unsafeGetTensorImpl()->has_symbolic_sizes_strides();
  }
  const auto infer_for = [&](const std::vector<std::vector<int64_t>>& sizes) {
    for (size_t i = 0; i < places.size(); ++i) {
      *places[i] = at::detail::empty_meta(sizes[i], tensors[i].scalar_type());
    }
    return infer();
  };
  if (symbolic) {
    for (const bool compare : {false, true}) {
      if (auto output = infer_symbolic(tensors, compare, infer_for)) { return *std::move(output); }
    }
  }
  std::vector<std::vector<int64_t>> sizes;
  for (const at::Tensor& tensor : tensors) {
    sizes.emplace_back();
    for (const c10::SymInt& size : tensor.sym_sizes()) { sizes.back().push_back(size.guard_int(__FILE__, __LINE__)); }
  }
  return infer_for(sizes);
}

}  // namespace torchneuron
