/* oneflow::Maybe<T>: a value or an Error. JUST(maybe) returns the value or throws the error. */
#pragma once

#include <memory>

#include "oneflow/core/common/error.h"

namespace oneflow {

class MaybeBase {
 public:
  MaybeBase(const MaybeBase&);
  MaybeBase& operator=(const MaybeBase&);
  ~MaybeBase();

  bool IsOk() const { return error_.empty(); }
  Error error() const;
  void ThrowIfError() const;

 protected:
  MaybeBase() = default;
  explicit MaybeBase(const Error& error);

 private:
  std::string error_;  // its text; "" if there is a value
};

/* A value of class type is returned as a shared pointer, as in OneFlow: `*JUST(maybe)`. */
template<typename T, typename = void>
class Maybe final : public MaybeBase {
 public:
  Maybe(const T& value) : value_(std::make_shared<T>(value)) {}
  Maybe(std::shared_ptr<T> value) : value_(std::move(value)) {}
  Maybe(const Error& error) : MaybeBase(error) {}

  std::shared_ptr<T> Data() const {
    ThrowIfError();
    return value_;
  }

 private:
  std::shared_ptr<T> value_;
};

template<typename T>
class Maybe<T, std::enable_if_t<std::is_scalar_v<T>>> final : public MaybeBase {
 public:
  Maybe(T value) : value_(value) {}
  Maybe(const Error& error) : MaybeBase(error), value_() {}

  T Data() const {
    ThrowIfError();
    return value_;
  }

 private:
  T value_;
};

template<typename T>
class Maybe<T, std::enable_if_t<std::is_reference_v<T>>> final : public MaybeBase {
 public:
  Maybe(T value) : value_(&value) {}
  Maybe(const Error& error) : MaybeBase(error) {}

  T Data() const {
    ThrowIfError();
    return *value_;
  }

 private:
  std::remove_reference_t<T>* value_ = nullptr;
};

template<>
class Maybe<void> final : public MaybeBase {
 public:
  Maybe(const Error& error) : MaybeBase(error) {}
  static Maybe Ok() { return Maybe(); }

  void Data() const { ThrowIfError(); }

 private:
  Maybe() = default;
};

}  // namespace oneflow

namespace pykernels {

/* Calls `function` and converts the failure that it throws to the error of a Maybe. */
template<typename Function>
auto Try(const Function& function) -> decltype(function()) {
  try {
    return function();
  } catch (const Failure& failure) { return ::oneflow::Error(Message(failure)); }
}

}  // namespace pykernels

#define JUST(...) ((__VA_ARGS__).Data())
#define CHECK_JUST(...) ((__VA_ARGS__).Data())
#define TRY(...) ::pykernels::Try([&]() { return (__VA_ARGS__); })
