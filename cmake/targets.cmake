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
  # A program's files, its commands say, may have the same names in their own namespaces.
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
endfunction()

# whetstone_test(NAME SRCS a_test.cc… [DEPS target…] [LABEL suite] [TIMEOUT seconds])
# One GoogleTest program, registered with CTest as NAME. LABEL is the suite that tests/run_all.sh
# times and reports it under (unit unless said).
function(whetstone_test name)
  if(NOT WHETSTONE_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "SRCS;DEPS" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(${name} ${ARG_SRCS})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE
    ${ARG_DEPS} whetstone_tree GTest::gmock GTest::gtest GTest::gtest_main)
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)  # likewise
  add_test(NAME ${name}
    COMMAND ${name} --gtest_output=xml:${CMAKE_BINARY_DIR}/test-results/${name}.xml)
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT})
endfunction()
