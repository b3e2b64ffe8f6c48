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
# NOMINMAX: gRPC's pkg-config file defines it, and the precompiled header must match.
target_compile_definitions(whetstone_torch INTERFACE USE_DISTRIBUTED USE_C10D_GLOO NOMINMAX)
target_link_libraries(whetstone_torch INTERFACE
  ${TORCH_DIR}/lib/libtorch_cpu.so ${TORCH_DIR}/lib/libc10.so)
# libtorch_cpu.so needs libcudart and libcupti from the nvidia packages beside it.
foreach(dir ${NVIDIA_LIB_DIRS})
  target_link_options(whetstone_torch INTERFACE -Wl,-rpath-link,${dir})
endforeach()

# CUDA, in two parts, where a GPU is or WHETSTONE_CUDA=ON asks for it: LibTorch's own CUDA half
# (WHETSTONE_HAVE_CUDA) is linked if the wheel brought it, own kernels (WHETSTONE_HAVE_NVCC) are
# compiled if nvcc is there too.
file(GLOB TORCH_CUBLAS ${TORCH_SITE}/nvidia/*/lib/libcublas.so.*)
set(WHETSTONE_HAVE_CUDA OFF)
file(GLOB GPU_DEVICES /dev/nvidiactl /dev/nvidia[0-9]* /dev/dxg)
if(TORCH_CUBLAS AND (WHETSTONE_CUDA STREQUAL "ON" OR (WHETSTONE_CUDA STREQUAL "AUTO" AND GPU_DEVICES)))
  set(WHETSTONE_HAVE_CUDA ON)
endif()
include(cuda)
if(WHETSTONE_HAVE_CUDA)
  target_link_libraries(whetstone_torch INTERFACE
    -Wl,--no-as-needed ${TORCH_DIR}/lib/libtorch_cuda.so ${TORCH_DIR}/lib/libc10_cuda.so
    -Wl,--as-needed)
endif()
message(STATUS "LibTorch: ${TORCH_DIR}, CUDA: ${WHETSTONE_HAVE_CUDA}, own kernels: ${WHETSTONE_HAVE_NVCC}")
