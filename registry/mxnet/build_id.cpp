#include "build_id.h"

#include <link.h>

#include <cstring>

namespace pykernels::mxnet {
namespace {

struct Search {
  uintptr_t address;
  std::string build;
};

std::string ReadBuildId(const char* note, size_t size) {
  const char* end = note + size;
  while (note + sizeof(ElfW(Nhdr)) <= end) {
    const auto* header = reinterpret_cast<const ElfW(Nhdr)*>(note);
    const char* name = note + sizeof *header;
    const char* content = name + (header->n_namesz + 3) / 4 * 4;
    if (header->n_type == NT_GNU_BUILD_ID && header->n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
      std::string text;
      for (size_t i = 0; i < header->n_descsz; ++i) {
        const unsigned byte = static_cast<unsigned char>(content[i]);
        text += "0123456789abcdef"[byte / 16];
        text += "0123456789abcdef"[byte % 16];
      }
      return text;
    }
    note = content + (header->n_descsz + 3) / 4 * 4;
  }
  return "";
}

bool Holds(const dl_phdr_info& library, uintptr_t address) {
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = library.dlpi_phdr[i];
    const uintptr_t begin = library.dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD && address >= begin && address < begin + header.p_memsz) return true;
  }
  return false;
}

int VisitLibrary(dl_phdr_info* library, size_t /*size*/, void* data) {
  auto* search = static_cast<Search*>(data);
  if (!Holds(*library, search->address)) return 0;
  for (int i = 0; i < library->dlpi_phnum && search->build.empty(); ++i) {
    const ElfW(Phdr)& header = library->dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    search->build = ReadBuildId(reinterpret_cast<const char*>(library->dlpi_addr + header.p_vaddr), header.p_memsz);
  }
  return 1;
}

}  // namespace

std::string FindBuildId(const void* address) {
  Search search{reinterpret_cast<uintptr_t>(address), ""};
  dl_iterate_phdr(VisitLibrary, &search);
  return search.build;
}

}  // namespace pykernels::mxnet
