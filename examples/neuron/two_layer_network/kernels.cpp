// The layers of a network, forward and backward.
#include <torch/torch.h>

torch::Tensor dense_forward(const torch::Tensor& x, const torch::Tensor& weight) {
  const int64_t rows = x.size(0), inputs = x.size(1), outputs = weight.size(0);
  torch::Tensor y = torch::zeros({rows, outputs}, torch::kFloat);
  auto x_acc = x.accessor<float, 2>();
  auto weight_acc = weight.accessor<float, 2>();
  auto y_acc = y.accessor<float, 2>();
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < outputs; j++) {
      for (int64_t k = 0; k < inputs; k++) { y_acc[i][j] += x_acc[i][k] * weight_acc[j][k]; }
    }
  }
  return y;
}

torch::Tensor dense_backward_input(const torch::Tensor& dy, const torch::Tensor& weight) {
  const int64_t rows = dy.size(0), inputs = weight.size(1), outputs = weight.size(0);
  torch::Tensor dx = torch::zeros({rows, inputs}, torch::kFloat);
  auto dy_acc = dy.accessor<float, 2>();
  auto weight_acc = weight.accessor<float, 2>();
  auto dx_acc = dx.accessor<float, 2>();
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < outputs; j++) {
      for (int64_t k = 0; k < inputs; k++) { dx_acc[i][k] += dy_acc[i][j] * weight_acc[j][k]; }
    }
  }
  return dx;
}

torch::Tensor dense_backward_weight(const torch::Tensor& dy, const torch::Tensor& x) {
  const int64_t rows = dy.size(0), inputs = x.size(1), outputs = dy.size(1);
  torch::Tensor dweight = torch::zeros({outputs, inputs}, torch::kFloat);
  auto dy_acc = dy.accessor<float, 2>();
  auto x_acc = x.accessor<float, 2>();
  auto dweight_acc = dweight.accessor<float, 2>();
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < outputs; j++) {
      for (int64_t k = 0; k < inputs; k++) { dweight_acc[j][k] += dy_acc[i][j] * x_acc[i][k]; }
    }
  }
  return dweight;
}

torch::Tensor leaky_forward(const torch::Tensor& x, double slope) {
  torch::Tensor y = torch::empty(x.sizes(), torch::kFloat);
  auto x_acc = x.accessor<float, 2>();
  auto y_acc = y.accessor<float, 2>();
  for (int64_t i = 0; i < x.size(0); i++) {
    for (int64_t j = 0; j < x.size(1); j++) { y_acc[i][j] = x_acc[i][j] * (x_acc[i][j] > 0 ? 1 : slope); }
  }
  return y;
}

torch::Tensor leaky_backward(const torch::Tensor& dy, const torch::Tensor& x, double slope) {
  torch::Tensor dx = torch::empty(x.sizes(), torch::kFloat);
  auto dy_acc = dy.accessor<float, 2>();
  auto x_acc = x.accessor<float, 2>();
  auto dx_acc = dx.accessor<float, 2>();
  for (int64_t i = 0; i < x.size(0); i++) {
    for (int64_t j = 0; j < x.size(1); j++) { dx_acc[i][j] = dy_acc[i][j] * (x_acc[i][j] > 0 ? 1 : slope); }
  }
  return dx;
}
