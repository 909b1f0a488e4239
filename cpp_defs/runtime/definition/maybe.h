/* Bodies of oneflow/core/common/maybe.h. */
#pragma once

#include "oneflow/core/common/maybe.h"

namespace oneflow {

MaybeBase::MaybeBase(const MaybeBase&) = default;
MaybeBase& MaybeBase::operator=(const MaybeBase&) = default;
MaybeBase::~MaybeBase() = default;
MaybeBase::MaybeBase(const Error& error) : error_(error.msg()) {}

Error MaybeBase::error() const {
  CHECK(!IsOk()) << "this Maybe holds a value, not an error";
  return Error(pykernels::Message(pykernels::Failure(error_)));
}

void MaybeBase::ThrowIfError() const {
  if (!IsOk()) { throw pykernels::Failure(error_); }
}

}  // namespace oneflow
