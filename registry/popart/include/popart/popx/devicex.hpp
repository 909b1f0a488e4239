// The device of an Opx, which knows what its inputs are.
#pragma once

namespace popart {
namespace popx {

class Devicex;

}  // namespace popx
}  // namespace popart
