// Runs a model of one float32 input and output in ONNX Runtime, with a library of custom ops, and no Python.
// Arguments: the library, the model, numbers. Prints the output.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using Api = void* const*;
struct ApiBase {
  Api (*GetApi)(uint32_t version);
  const char* (*GetVersionString)();
};
using Status = void*;

Api api;

// A function of the table by its place there.
template <typename... Arguments>
void Call(int place, Arguments... arguments) {
  Status status = reinterpret_cast<Status (*)(Arguments...)>(api[place])(arguments...);
  if (!status) return;
  std::printf("error: %s\n", reinterpret_cast<const char* (*)(Status)>(api[2])(status));
  std::exit(1);
}

}  // namespace

extern "C" const ApiBase* OrtGetApiBase();

int main(int argc, char** argv) {
  api = OrtGetApiBase()->GetApi(17);
  void *environment, *options, *session, *memory, *input, *output = nullptr;
  Call(3, 2, "test", &environment);  // CreateEnv
  Call(10, &options);                // CreateSessionOptions
  Call(228, options, static_cast<const char*>(argv[1]));  // RegisterCustomOpsLibrary_V2
  Call(7, environment, static_cast<const char*>(argv[2]), options, &session);  // CreateSession
  std::vector<float> numbers;
  for (int i = 3; i < argc; ++i) numbers.push_back(std::strtof(argv[i], nullptr));
  const int64_t size = static_cast<int64_t>(numbers.size());
  Call(69, 0, 0, &memory);  // CreateCpuMemoryInfo
  Call(49, memory, numbers.data(), numbers.size() * sizeof(float), &size, size_t{1}, 1, &input);
  const char* input_name = "x0";
  const char* output_name = "y0";
  Call(9, session, static_cast<void*>(nullptr), &input_name, &input, size_t{1}, &output_name, size_t{1}, &output);
  float* results;
  Call(51, output, &results);  // GetTensorMutableData
  for (int64_t i = 0; i < size; ++i) std::printf("%g ", results[i]);
  std::printf("\n");
  return 0;
}
