# What is compiled otherwise where GPUs are: sources that call CUDA's libraries (cuda_sources()), and
# kernels, by nvcc into plain objects (WHETSTONE_HAVE_NVCC, cuda_objects()).
#
# nvcc is that of the LibTorch environment (deploy/requirements-nvcc.txt), whose version is that of
# the CUDA libraries LibTorch was built with, or else the machine's. Without CMake's own CUDA
# language, whose checks want a whole toolkit with a driver's libraries: one compiler call for each
# source is all there is to it.
set(WHETSTONE_CUDA_ARCHITECTURES "80;90" CACHE STRING "Compute capabilities that kernels are compiled for")
set(WHETSTONE_HAVE_NVCC OFF)
if(WHETSTONE_HAVE_CUDA)
  find_program(WHETSTONE_NVCC nvcc
    HINTS ${TORCH_SITE}/nvidia/cu13/bin $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
  if(WHETSTONE_NVCC)
    set(WHETSTONE_HAVE_NVCC ON)
  endif()
endif()
if(WHETSTONE_CUDA STREQUAL "ON" AND NOT WHETSTONE_HAVE_NVCC)
  message(FATAL_ERROR "WHETSTONE_CUDA=ON, but nvcc or the wheel's CUDA libraries are missing; "
                      "deploy/setup.sh --cuda brings both")
endif()

# cuda_sources(a.cc…): sources of the current folder that call CUDA's libraries where they are. Only
# these know of it, with WHETSTONE_HAVE_CUDA and the wheel's own CUDA headers, those that LibTorch was built
# with: all others are compiled alike with and without, and a compiler cache finds them again.
function(cuda_sources)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  if(WHETSTONE_HAVE_CUDA)
    file(GLOB includes ${TORCH_SITE}/nvidia/nccl/include ${TORCH_SITE}/nvidia/cu[0-9]*/include)
    set(options)
    foreach(include ${includes})
      list(APPEND options -idirafter ${include})
    endforeach()
    set_source_files_properties(${ARGN} PROPERTIES
      COMPILE_DEFINITIONS "WHETSTONE_HAVE_CUDA;USE_C10D_NCCL" COMPILE_OPTIONS "${options}")
  endif()
endfunction()

# cuda_objects(VARIABLE a.cu…): objects of the current folder's sources, for all architectures.
# Whatever nvcc or the host's compiler warns of is an error, but in what an operator builds.
function(cuda_objects variable)
  set(architectures)
  foreach(architecture ${WHETSTONE_CUDA_ARCHITECTURES})
    list(APPEND architectures -gencode arch=compute_${architecture},code=sm_${architecture})
  endforeach()
  # The newest also as PTX, for what comes after it.
  list(GET WHETSTONE_CUDA_ARCHITECTURES -1 newest)
  list(APPEND architectures -gencode arch=compute_${newest},code=compute_${newest})
  set(warnings -Xcompiler=-Wall,-Wextra)
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    list(APPEND warnings -Werror all-warnings -Xcompiler=-Werror)
  endif()
  set(objects)
  foreach(source ${ARGN})
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${source}.o)
    add_custom_command(OUTPUT ${object}
      COMMAND ${WHETSTONE_NVCC} -std=c++20 -O3 -ccbin ${CMAKE_CXX_COMPILER} ${warnings} -Xcompiler=-fPIC
              ${architectures}
              -I ${CMAKE_SOURCE_DIR} -MD -MT ${object} -MF ${object}.d
              -c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${object}
      DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source} DEPFILE ${object}.d
      COMMENT "nvcc ${source}" VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  set(${variable} ${objects} PARENT_SCOPE)
endfunction()
