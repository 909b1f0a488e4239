// The ops that loaded libraries have registered.
#pragma once

#include <popart/opmanager.hpp>
#include <popart/popx/opxmanager.hpp>

#include <string>
#include <vector>

namespace popart_cpu {

// An op as its library registered it.
struct RegisteredOp {
  popart::OperatorIdentifier opid;
  popart::OpDefinition definition;
  popart::OpManager::OpFactoryFunc make;
  std::string library;  // the real path of its file
};

// Returns the ops of a library, given as in RegisteredOp; they live as long as the process. Throws the library's
// errors.
std::vector<const RegisteredOp*> OpsOf(const std::string& library);

// Returns the Opx for an op, preferably from the op's own library; throws if there is none.
popart::popx::OpxManager::OpxFactoryFunc FindOpx(const popart::OperatorIdentifier& opid, const std::string& library);

// Returns the library that contains an address.
std::string LibraryOf(const void* address);
std::string RealPath(const std::string& path);

}  // namespace popart_cpu
