# One way to declare a library, a binary and a test. Sources are listed by the folder that owns them.

# whetstone_library(NAME SRCS a.cc… [DEPS target…])
function(whetstone_library name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SRCS})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS})
endfunction()

# whetstone_binary(NAME SRCS a.cc… [DEPS target…])
function(whetstone_binary name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
endfunction()

# whetstone_pch(NAME HEADERS header… [DEPS target…])
# A header precompiled once, for target_precompile_headers(… REUSE_FROM NAME). It serves one setting of
# position independence, that of libraries: programs that use it are compiled so too (use_pch).
function(whetstone_pch name)
  cmake_parse_arguments(ARG "" "" "HEADERS;DEPS" ${ARGN})
  # CONFIGURE leaves an equal file alone, so that running CMake again compiles nothing again.
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc
    CONTENT "// Carries the precompiled ${ARG_HEADERS}.\n")
  add_library(${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
  target_link_libraries(${name} PUBLIC ${ARG_DEPS})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

# use_pch(PROGRAM PCH)
function(use_pch program pch)
  set_target_properties(${program} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${program} PRIVATE -fPIC)
  target_precompile_headers(${program} REUSE_FROM ${pch})
endfunction()

# whetstone_test(NAME SRCS a_test.cc… [DEPS target…] [LABEL suite] [TIMEOUT seconds] [PCH target]
#                [ALONE])
# One GoogleTest program, registered with CTest as NAME. LABEL is the suite that tests/run_all.sh
# times and reports it under (unit unless said). PCH is its precompiled header, GoogleTest's unless
# said. ALONE: it measures, so that nothing runs beside it.
function(whetstone_test name)
  if(NOT WHETSTONE_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "ALONE" "LABEL;TIMEOUT;PCH" "SRCS;DEPS" ${ARGN})
  if(NOT ARG_PCH)
    set(ARG_PCH whetstone_test_pch)
  endif()
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 900)
  endif()
  add_executable(${name} ${ARG_SRCS})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE
    ${ARG_DEPS} whetstone_tree GTest::gmock GTest::gtest GTest::gtest_main)
  use_pch(${name} ${ARG_PCH})
  # Of an inlined `"text" + std::string`, GCC 12 says that it writes out of bounds (bug 105651).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${name} PRIVATE
      -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
  add_test(NAME ${name}
    COMMAND ${name} --gtest_output=xml:${CMAKE_BINARY_DIR}/test-results/${name}.xml)
  set_tests_properties(${name} PROPERTIES
    LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT} RUN_SERIAL ${ARG_ALONE})
endfunction()
