// The ops that loaded libraries have registered.
#ifndef PYKERNELS_REGISTRY_POPART_REGISTRY_H_
#define PYKERNELS_REGISTRY_POPART_REGISTRY_H_

#include <popart/opmanager.hpp>
#include <popart/popx/opxmanager.hpp>

#include <string>
#include <vector>

namespace popart_cpu {

struct RegisteredOp {
  popart::OperatorIdentifier opid;
  popart::OpDefinition definition;
  popart::OpManager::OpFactoryFunc make;
  std::string library;  // the real path of its file
};

// The op lives as long as the process. `library` is as in RegisteredOp; throws what is wrong with it.
std::vector<const RegisteredOp*> OpsOf(const std::string& library);

// Preferred is the Opx of the op's own library; throws if there is none.
popart::popx::OpxManager::OpxFactoryFunc FindOpx(const popart::OperatorIdentifier& opid, const std::string& library);

// The library that an address is in.
std::string LibraryOf(const void* address);
std::string RealPath(const std::string& path);

}  // namespace popart_cpu

#endif  // PYKERNELS_REGISTRY_POPART_REGISTRY_H_
