/* Bodies of oneflow/core/common/maybe.h. */
#pragma once

#include "oneflow/core/common/maybe.h"

namespace oneflow {

MaybeBase::MaybeBase(const MaybeBase&) = default;
MaybeBase& MaybeBase::operator=(const MaybeBase&) = default;
MaybeBase::~MaybeBase() = default;
MaybeBase::MaybeBase(const Error& error) : error_(std::make_shared<const Error>(error)) {}

const Error& MaybeBase::error() const {
  CHECK(error_ != nullptr) << "this Maybe holds a value, not an error";
  return *error_;
}

void MaybeBase::ThrowIfError() const {
  if (error_ != nullptr) { throw pykernels::Failure(error_->msg()); }
}

}  // namespace oneflow
