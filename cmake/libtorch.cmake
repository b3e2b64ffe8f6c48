# LibTorch from the PyPI wheel, as the target whetstone::torch.
#
# The wheel ships its own google/protobuf and fmt headers, so its include folders come last
# (-idirafter): the distribution's headers, which gRPC was built with, must win.
file(GLOB TORCH_DIR ${WHETSTONE_VENV}/lib/python3*/site-packages/torch)
if(NOT TORCH_DIR)
  message(FATAL_ERROR "LibTorch not found under ${WHETSTONE_VENV}. Run deploy/setup.sh, "
                      "or pass -DWHETSTONE_VENV=DIR of a virtual environment with torch==2.11.0.")
endif()
get_filename_component(TORCH_SITE ${TORCH_DIR} DIRECTORY)
file(GLOB NVIDIA_LIB_DIRS ${TORCH_SITE}/nvidia/*/lib)

add_library(whetstone_torch INTERFACE)
add_library(whetstone::torch ALIAS whetstone_torch)
target_compile_options(whetstone_torch INTERFACE
  "SHELL:-idirafter ${TORCH_DIR}/include"
  "SHELL:-idirafter ${TORCH_DIR}/include/torch/csrc/api/include")
target_compile_definitions(whetstone_torch INTERFACE USE_DISTRIBUTED USE_C10D_GLOO)
target_link_libraries(whetstone_torch INTERFACE
  ${TORCH_DIR}/lib/libtorch_cpu.so ${TORCH_DIR}/lib/libc10.so)
# libtorch_cpu.so needs libcudart and libcupti from the nvidia packages beside it.
foreach(dir ${NVIDIA_LIB_DIRS})
  target_link_options(whetstone_torch INTERFACE -Wl,-rpath-link,${dir})
endforeach()

# CUDA: kernels are compiled where nvcc is; the CUDA half of LibTorch is linked where its libraries are.
set(WHETSTONE_HAVE_CUDA OFF)
if(NOT WHETSTONE_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 90)
  endif()
  check_language(CUDA)
  file(GLOB TORCH_CUBLAS ${TORCH_SITE}/nvidia/*/lib/libcublas.so.*)
  if(CMAKE_CUDA_COMPILER AND TORCH_CUBLAS)
    enable_language(CUDA)
    set(WHETSTONE_HAVE_CUDA ON)
  elseif(WHETSTONE_CUDA STREQUAL "ON")
    message(FATAL_ERROR "WHETSTONE_CUDA=ON, but nvcc or the wheel's CUDA libraries are missing")
  endif()
endif()
if(WHETSTONE_HAVE_CUDA)
  find_package(CUDAToolkit REQUIRED)
  target_compile_definitions(whetstone_torch INTERFACE WHETSTONE_HAVE_CUDA USE_C10D_NCCL)
  file(GLOB NCCL_INCLUDE ${TORCH_SITE}/nvidia/nccl/include)
  target_compile_options(whetstone_torch INTERFACE
    "SHELL:-idirafter ${NCCL_INCLUDE}" "SHELL:-idirafter ${CUDAToolkit_INCLUDE_DIRS}")
  target_link_libraries(whetstone_torch INTERFACE
    -Wl,--no-as-needed ${TORCH_DIR}/lib/libtorch_cuda.so ${TORCH_DIR}/lib/libc10_cuda.so
    -Wl,--as-needed)
endif()
message(STATUS "LibTorch: ${TORCH_DIR}, CUDA: ${WHETSTONE_HAVE_CUDA}")
