# Writes a C++ source with a file's bytes, which FUNCTION returns; HEADER declares it.
#   cmake -DINPUT=… -DOUTPUT=… -DHEADER=… -DFUNCTION=… -P embed.cmake
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT}
"// Made by cmake/embed.cmake.
#include \"${HEADER}\"

namespace whetstone {
namespace {

constexpr unsigned char k${FUNCTION}[] = {${bytes}};

}  // namespace

absl::string_view ${FUNCTION}() {
  return {reinterpret_cast<const char*>(k${FUNCTION}), sizeof(k${FUNCTION})};
}

}  // namespace whetstone
")
