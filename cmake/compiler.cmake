# Language, warnings, sanitizers, compiler cache and output folders for every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

# Assertions stay on in every build type: they cost nothing that matters here.
set(CMAKE_CXX_FLAGS_RELEASE "-O3")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # At -O3, GCC 12 sees overlapping copies in `"text" + std::string` (bug 105651).
  string(APPEND CMAKE_CXX_FLAGS_RELEASE " -Wno-restrict")
endif()
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")

# Warnings are errors where the code is worked on. An operator's build does not end with the warning of
# a compiler that nobody has tried.
add_compile_options(-Wall -Wextra -Wpedantic)
if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")
  add_compile_options(-Werror)
endif()

# A clone of the tree elsewhere finds what another compiled, precompiled headers and their users too:
# no path of the tree is in what the compiler reads (__FILE__).
add_compile_options(-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CCACHE_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_LAUNCHER})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_LAUNCHER})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  else()
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  endif()
endif()

find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# A library's sources are compiled several at a time: what each would load, parse and instantiate for
# itself (LibTorch's templates above all) is most of a build. Files of a room therefore share one
# namespace: helpers in anonymous namespaces have names of their own.
option(WHETSTONE_UNITY "Compile the sources of a library several at a time" ON)
set(CMAKE_UNITY_BUILD ${WHETSTONE_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 16)

# Compilers warn falsely about instrumented code, so under a sanitizer warnings are only shown; the
# other presets compile the same sources with warnings as errors.
if(WHETSTONE_SANITIZER)
  add_compile_options(-Wno-error)
endif()
if(WHETSTONE_SANITIZER STREQUAL "address")
  # This preset builds most, and instrumented code compiles slowly: lightly optimised.
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined
                      -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(WHETSTONE_SANITIZER STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
elseif(WHETSTONE_SANITIZER)
  message(FATAL_ERROR "WHETSTONE_SANITIZER must be address, thread or empty, "
                      "not '${WHETSTONE_SANITIZER}'")
endif()
