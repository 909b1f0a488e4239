/* A definition whose declarations are text, in place of code that a compiler would have to read.
 *
 * `pykernels/define/declarations.py` writes the text over `pk_declarations` in a copy of this library. */
namespace pykernels {

bool Register(const volatile char* text);

}  // namespace pykernels

// Volatile, since the text is not known here.
static volatile char pk_declarations[1 << 15] = "pykernels: the declarations follow\n";
[[maybe_unused]] static const bool kIsRegistered = pykernels::Register(pk_declarations);
