// Kernel functions of every type of parameter and with every accessor, right ones and wrong ones.
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <neuron/neuron-utils.hpp>
#include <torch/torch.h>

#include "helper.h"

// The shape file has functions of the same names that do something else.
inline int64_t twin(int64_t n) { return n; }
torch::Tensor blend_shape(const torch::Tensor& x) { return x; }

torch::Tensor blend(torch::Tensor x, const torch::Tensor& y, torch::Scalar share, double offset, int64_t repeats) {
  torch::Tensor out = torch::empty(x.sizes(), torch::kFloat);
  auto x_acc = x.accessor<float, 2>();
  auto y_acc = y.accessor<float, 2>();
  auto out_acc = out.accessor<float, 2>();
  const double s = share.toDouble();
  for (int i = 0; i < out.size(0); i++) {
    for (size_t j = 0; j < (size_t)out.size(1); j++) {
      out_acc[i][j] = repeats * (s * x_acc[i][j] + (1 - s) * y_acc[i][j]) + offset;
    }
  }
  printf("blend of %d x %d\n", (int)twin(out.size(0)), (int)out.size(1));
  return out;
}

torch::Tensor join(const torch::Tensor& x, const torch::Tensor& y) {
  torch::Tensor out = torch::empty({x.numel() + y.numel() + HELPER_GAP}, torch::kInt);
  auto x_stream = x.read_stream_accessor<int>();
  auto y_stream = y.read_stream_accessor<int>();
  auto out_stream = out.write_stream_accessor<int>();
  for (int i = 0; i < x.numel(); i++) out_stream.write(x_stream.read());
  for (int i = 0; i < HELPER_GAP; i++) out_stream.write(0);
  for (int i = 0; i < y.numel(); i++) out_stream.write(y_stream.read());
  return out;
}

torch::Tensor same(const torch::Tensor& x) { return x; }

torch::Tensor negate(const torch::Tensor& x) { return torch::mul(x, -1); }

// No kernel functions: what wrong_shapes.cpp takes for some.
float total(const torch::Tensor& x) { return x.sum().item().toFloat(); }
extern "C" torch::Tensor without_types(const torch::Tensor& x) { return x; }
torch::Tensor narrow(const torch::Tensor& x, float by) { return torch::mul(x, by); }

torch::Tensor core_ids(const torch::Tensor& x) {
  torch::Tensor out = get_dst_tensor();
  const uint32_t part = x.numel() / get_cpu_count();
  float* buffer = (float*)torch::neuron::tcm_malloc(sizeof(float) * part);
  for (uint32_t i = 0; i < part; i++) buffer[i] = get_cpu_id();
  out.tcm_accessor().tcm_to_tensor<float>(buffer, part * get_cpu_id(), part);
  torch::neuron::tcm_free(buffer);
  return out;
}

// What the TCM has room for: "0" where tcm_malloc gives null.
torch::Tensor tcm_room(const torch::Tensor& x) {
  torch::Tensor out = torch::zeros({4}, torch::kFloat);
  auto out_acc = out.accessor<float, 1>();
  void* all = torch::neuron::tcm_malloc(16 * 1024);
  out_acc[0] = all != nullptr;
  out_acc[1] = torch::neuron::tcm_malloc(1) != nullptr;
  torch::neuron::tcm_free(all);
  auto stream = x.read_stream_accessor<float>();  // takes 4 KB
  void* rest = torch::neuron::tcm_malloc(12 * 1024);
  out_acc[2] = rest != nullptr;
  torch::neuron::tcm_free(rest);
  out_acc[3] = torch::neuron::tcm_malloc(12 * 1024 + 1) != nullptr;
  return out;
}

// Each number a mistake. The tests look for the number of the line that is marked with it.
torch::Tensor mistake(const torch::Tensor& x, int64_t which) {
  torch::Tensor out = torch::zeros({8}, torch::kFloat);
  auto out_tcm = out.tcm_accessor();
  float* buffer = (float*)torch::neuron::tcm_malloc(4 * sizeof(float));
  switch (which) {
    case 0: x.accessor<float, 1>()[x.numel()]; break;             // mistake 0
    case 1: out.accessor<float, 1>()[-1] = 1; break;              // mistake 1
    case 2: x.accessor<double, 1>(); break;                       // mistake 2
    case 3: x.accessor<float, 2>(); break;                        // mistake 3
    case 4: {
      auto stream = x.read_stream_accessor<float>();
      for (int i = 0; i <= x.numel(); i++) stream.read();         // mistake 4
      break;
    }
    case 5: {
      auto stream = out.write_stream_accessor<float>();
      stream.close();
      stream.write(1);                                            // mistake 5
      break;
    }
    case 6: x.read_stream_accessor<int>(); break;                 // mistake 6
    case 7: {
      auto stream = out.write_stream_accessor<float>();
      out.read_stream_accessor<float>();                          // mistake 7
      break;
    }
    case 8: out_tcm.tcm_to_tensor<float>(buffer, 5, 4); break;    // mistake 8
    case 9: out_tcm.tensor_to_tcm<float>(buffer, 0, 5); break;    // mistake 9
    case 10: {
      float stack[4] = {};
      out_tcm.tcm_to_tensor<float>(stack, 0, 4);                  // mistake 10
      break;
    }
    case 11: torch::neuron::tcm_free(buffer + 1); break;          // mistake 11
    case 12: {
      char* small = (char*)torch::neuron::tcm_malloc(16);         // mistake 12
      small[16] = 1;
      torch::neuron::tcm_free(small);
      break;
    }
    case 13: torch::neuron::tcm_malloc(32); break;                // mistake 13
    case 14: out_tcm.tcm_to_tensor<int>((int*)buffer, 0, 1); break;  // mistake 14
    case 15: {
      out.set_accessor_coherence_policy(torch::CoherencyEnforcer::Policy::INCOHERENT_QUIET);
      auto stream = out.write_stream_accessor<float>();
      stream.write(7);
      out.accessor<float, 1>()[1] = out.read_stream_accessor<float>().read();
      break;
    }
    case 16: out_tcm.tcm_to_tensor<float>(buffer, SIZE_MAX, 4); break;  // mistake 16
    case 17: out = torch::zeros({3}, torch::kFloat); break;
    case 18: out = torch::zeros({8}, torch::kDouble); break;
    case 19: out = torch::Tensor(); break;
    case 20: TORCH_CHECK(false, "the kernel says no");
    case 21: assert(x.sizes() == out.sizes()); break;             // mistake 21
  }
  torch::neuron::tcm_free(buffer);
  return out;
}
