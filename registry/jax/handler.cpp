// The handler that XLA calls for all ops: it makes a `Call` with the program and runs it with the program.
#include <string>
#include <utility>

#include "../host/error.h"
#include "call.h"

namespace pykernels::jax {
namespace {

ffi::Error AsXlaError(const std::exception& problem) {
  return ffi::Error(ffi::ErrorCode::kInternal, TextOf(problem));
}

std::vector<int32_t> Numbers(ffi::Span<const int32_t> span) { return {span.begin(), span.end()}; }

ffi::ErrorOr<std::unique_ptr<Call>> Instantiate(std::string_view op_type, ffi::Dictionary attributes,
                                                ffi::Span<const int32_t> input_counts,
                                                ffi::Span<const int32_t> output_counts, bool is_train) {
  try {
    Attributes::Strings texts;
    for (auto each = attributes.begin(); each != attributes.end(); ++each) {
      texts.emplace_back(*each, *attributes.get<std::string_view>(*each));
    }
    return std::make_unique<Call>(std::string(op_type), texts, Numbers(input_counts), Numbers(output_counts),
                                  is_train);
  } catch (const std::exception& problem) {
    return ffi::Unexpected(AsXlaError(problem));
  }
}

ffi::Error Execute(Call* call, ffi::ThreadPool threads, ffi::RemainingArgs args, ffi::RemainingRets results,
                   ffi::Dictionary /*attributes*/) {
  try {
    call->Run(args, results, threads);
    return ffi::Error::Success();
  } catch (const std::exception& problem) {
    return AsXlaError(problem);
  }
}

}  // namespace
}  // namespace pykernels::jax

#pragma GCC visibility push(default)

XLA_FFI_DEFINE_HANDLER_SYMBOL(pk_jax_instantiate, pykernels::jax::Instantiate,
                              xla::ffi::Ffi::BindInstantiate()
                                  .Attr<std::string_view>("op")
                                  .Attr<xla::ffi::Dictionary>("attributes")
                                  .Attr<xla::ffi::Span<const int32_t>>("input_counts")
                                  .Attr<xla::ffi::Span<const int32_t>>("output_counts")
                                  .Attr<bool>("is_train"));

XLA_FFI_DEFINE_HANDLER_SYMBOL(pk_jax_execute, pykernels::jax::Execute,
                              xla::ffi::Ffi::Bind()
                                  .Ctx<xla::ffi::State<pykernels::jax::Call>>()
                                  .Ctx<xla::ffi::ThreadPool>()
                                  .RemainingArgs()
                                  .RemainingRets()
                                  .Attrs());

#pragma GCC visibility pop
