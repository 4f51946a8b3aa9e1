# Finds an nvcc, once for all programs; shakedown_gpu_program() makes one. Order: SHAKEDOWN_NVCC where it is set; nvcc on
# PATH; CUDA_HOME, CUDA_PATH; /usr/local/cuda; that of PyPI's wheels in build/cuda (scripts/setup cuda), or beside the
# Python that builds. It must compile a small kernel: a compiler without its headers, or one that refuses this host's C++
# compiler, is common. Nothing of CUDA is linked: the kernels are embedded, driver and libraries are loaded at run time.
include_guard(GLOBAL)
include(${CMAKE_CURRENT_LIST_DIR}/choice.cmake)

shakedown_choice(SHAKEDOWN_NVCC "the nvcc to compile kernels with; empty: look for one; off: none")
shakedown_choice(SHAKEDOWN_CUDA_ARCHITECTURES
    "list of GPU architectures, such as 80;90; native: those of this machine's GPUs; empty, or native without a GPU: 80, 90 and 100 \
as the compiler knows them. PTX of the last goes with them")

function(shakedown_nvcc_candidates out)
  set(found "")
  string(REPLACE ":" ";" folders "$ENV{PATH}")
  foreach(name CUDA_HOME CUDA_PATH CUDA_ROOT)
    if(NOT "$ENV{${name}}" STREQUAL "")
      list(APPEND folders "$ENV{${name}}/bin")
    endif()
  endforeach()
  list(APPEND folders /usr/local/cuda/bin)
  set(wheels "${CMAKE_SOURCE_DIR}/build/cuda/lib/python3*/site-packages/nvidia/*/bin")
  foreach(name Python_EXECUTABLE Python3_EXECUTABLE PYTHON_EXECUTABLE)
    if(${name})
      get_filename_component(folder "${${name}}" DIRECTORY)
      list(APPEND wheels "${folder}/../lib/python3*/site-packages/nvidia/*/bin")
    endif()
  endforeach()
  file(GLOB wheel_folders ${wheels})
  foreach(folder ${folders} ${wheel_folders})
    if(EXISTS ${folder}/nvcc)
      list(APPEND found ${folder}/nvcc)
    endif()
  endforeach()
  list(REMOVE_DUPLICATES found)
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

# The architectures of this machine's GPUs, such as 80;90; empty where there is none, or no driver to ask.
function(shakedown_native_architectures out)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                  OUTPUT_VARIABLE capabilities ERROR_QUIET RESULT_VARIABLE failed)
  set(found "")
  if(NOT failed)
    string(REGEX MATCHALL "[0-9]+\\.[0-9]+" found "${capabilities}")
    list(TRANSFORM found REPLACE "\\." "")
    list(REMOVE_DUPLICATES found)
    list(SORT found COMPARE NATURAL)
  endif()
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

# The architectures wanted that a compiler knows, and the flags that make code for them. What was named is not looked into.
function(shakedown_nvcc_architectures nvcc out_list out_flags)
  execute_process(COMMAND ${nvcc} --list-gpu-code OUTPUT_VARIABLE known ERROR_QUIET RESULT_VARIABLE failed)
  set(wanted ${SHAKEDOWN_CUDA_ARCHITECTURES})
  if(NOT wanted OR wanted STREQUAL "native")
    set(all 80 90 100)
    set(native "")
    if(wanted)
      shakedown_native_architectures(native)
    endif()
    foreach(list native all)
      set(wanted ${${list}})
      foreach(one ${wanted})
        if(NOT failed AND NOT "${known}" MATCHES "sm_${one}[\r\n]")
          list(REMOVE_ITEM wanted ${one})
          message(STATUS "CUDA: ${nvcc} makes no code for sm_${one}")
        endif()
      endforeach()
      if(wanted)
        break()
      endif()
    endforeach()
  endif()
  set(flags "")
  foreach(one ${wanted})
    list(APPEND flags -gencode arch=compute_${one},code=sm_${one})
    set(last ${one})
  endforeach()
  list(APPEND flags -gencode arch=compute_${last},code=compute_${last})
  set(${out_list} "${wanted}" PARENT_SCOPE)
  set(${out_flags} "${flags}" PARENT_SCOPE)
endfunction()

function(shakedown_try_nvcc nvcc flags out_works out_version)
  set(folder ${CMAKE_BINARY_DIR}/nvcc-trial)
  file(WRITE ${folder}/trial.cu "#include <cstddef>\nextern \"C\" __global__ void trial(double* a, size_t n) { if (threadIdx.x < n) a[threadIdx.x] = 1; }\n")
  execute_process(COMMAND ${nvcc} -ccbin ${CMAKE_CXX_COMPILER} -std=c++17 ${flags} -fatbin -o ${folder}/trial.fatbin ${folder}/trial.cu
                  OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE failed)
  file(WRITE ${folder}/trial.log "${said}")
  execute_process(COMMAND ${nvcc} --version OUTPUT_VARIABLE version ERROR_QUIET)
  string(REGEX MATCH "release ([0-9]+)\\.([0-9]+)" version "${version}")
  if(failed OR NOT version)
    set(${out_works} FALSE PARENT_SCOPE)
    return()
  endif()
  set(${out_works} TRUE PARENT_SCOPE)
  set(${out_version} "${CMAKE_MATCH_1};${CMAKE_MATCH_2}" PARENT_SCOPE)
endfunction()

set(SHAKEDOWN_NVCC_FOUND "")
set(shakedown_cuda_number 0)
set(tried "")
if(SHAKEDOWN_NVCC STREQUAL "off")
  set(candidates "")
elseif(SHAKEDOWN_NVCC)
  set(candidates ${SHAKEDOWN_NVCC})
else()
  shakedown_nvcc_candidates(candidates)
endif()
foreach(nvcc ${candidates})
  shakedown_nvcc_architectures(${nvcc} architectures flags)
  shakedown_try_nvcc(${nvcc} "${flags}" works version)
  if(works)
    set(SHAKEDOWN_NVCC_FOUND ${nvcc})
    set(SHAKEDOWN_NVCC_FLAGS ${flags})
    break()
  endif()
  list(APPEND tried ${nvcc})
endforeach()

if(SHAKEDOWN_NVCC_FOUND)
  list(GET version 0 major)
  list(GET version 1 minor)
  math(EXPR shakedown_cuda_number "${major} * 1000 + ${minor} * 10")
  if(SHAKEDOWN_NVCC_FOUND MATCHES "-packages/nvidia/")
    set(source wheel)
    set(shown "")
  else()
    set(source site)
    set(shown ${SHAKEDOWN_NVCC_FOUND})
  endif()
  string(REPLACE ";" " " architectures "${architectures}")
  set(entry "{}")
  string(JSON entry SET "${entry}" version "\"${major}.${minor}\"")
  string(JSON entry SET "${entry}" source "\"${source}\"")
  string(JSON entry SET "${entry}" nvcc "\"${shown}\"")
  string(JSON entry SET "${entry}" architectures "\"${architectures}\"")
  shakedown_build_entry(cuda "${entry}")
  message(STATUS "CUDA: ${major}.${minor} for ${architectures} (${source}: ${SHAKEDOWN_NVCC_FOUND})")
else()
  string(REPLACE ";" ", " tried "${tried}")
  if(SHAKEDOWN_NVCC STREQUAL "off")
    set(absent "built without kernels for CUDA, as asked (SHAKEDOWN_NVCC=off). Build again without it")
  elseif(tried)
    set(absent "no nvcc that works (tried: ${tried}). SHAKEDOWN_NVCC names another")
    message(STATUS "CUDA: what they said is in ${CMAKE_BINARY_DIR}/nvcc-trial/trial.log")
  else()
    set(absent "no nvcc to compile with. Load the site's CUDA module, or run scripts/setup cuda, which brings one from \
PyPI, then build again; SHAKEDOWN_NVCC names one")
  endif()
  shakedown_json_text(text "${absent}")
  shakedown_build_entry(cuda_absent "${text}")
  message(STATUS "CUDA: ${absent}")
endif()

# shakedown_gpu_kernels(name target file.cu): compile a file of kernels and embed it in a target of the program `name`.
# SHAKEDOWN_GPU_IMAGE(name) of native/gpu/image.hpp declares name_image(). Without a compiler the image is empty; in a build
# of the native tests, whose fake driver (native/testing/fake_cuda.cpp) looks at no image, it is a word.
function(shakedown_gpu_kernels name target file)
  get_filename_component(file ${file} ABSOLUTE)
  set(embed ${CMAKE_CURRENT_BINARY_DIR}/${name}_image.cpp)
  set(symbol shakedown_gpu_image_${name})
  if(SHAKEDOWN_NVCC_FOUND)
    set(fatbin ${CMAKE_CURRENT_BINARY_DIR}/${name}.fatbin)
    add_custom_command(
      OUTPUT ${fatbin}
      COMMAND ${SHAKEDOWN_NVCC_FOUND} -ccbin ${CMAKE_CXX_COMPILER} -std=c++17 -O3 -lineinfo
              "$<$<BOOL:${SHAKEDOWN_STRICT}>:-Werror=all-warnings>"
              ${SHAKEDOWN_NVCC_FLAGS} -I ${CMAKE_SOURCE_DIR}/native -MD -MF ${fatbin}.d -fatbin -o ${fatbin} ${file}
      DEPENDS ${file} DEPFILE ${fatbin}.d COMMENT "Compiling the CUDA kernels of ${name}"
      VERBATIM COMMAND_EXPAND_LISTS)
    set(content ".incbin \\\"${fatbin}\\\"")
  elseif(SHAKEDOWN_TESTS)
    set(content ".ascii \\\"no nvcc\\\"")
  else()
    set(content "")
  endif()
  file(CONFIGURE OUTPUT ${embed} @ONLY CONTENT [=[// Made by cmake/cuda.cmake.
__asm__(
    ".section .rodata\n"
    ".balign 64\n"
    ".globl @symbol@\n"
    "@symbol@:\n"
    "@content@\n"
    "@symbol@_end:\n"
    ".balign 8\n"
    ".globl @symbol@_bytes\n"
    "@symbol@_bytes:\n"
    ".quad @symbol@_end - @symbol@\n"
    ".text\n");
]=])
  if(SHAKEDOWN_NVCC_FOUND)
    set_source_files_properties(${embed} PROPERTIES OBJECT_DEPENDS ${fatbin})
  endif()
  target_sources(${target} PRIVATE ${embed})
endfunction()

# shakedown_gpu_program(name SOURCES ... [CORE ...] [KERNELS file.cu] [MPI] [RANKS]): a program on GPUs; see
# native/gpu/README.md. CORE: sources, with the kernels, that a test links too, as the library name_core. MPI: it uses MPI;
# RANKS: it does, and measures nothing with one rank.
function(shakedown_gpu_program name)
  cmake_parse_arguments(gpu "MPI;RANKS" "KERNELS" "SOURCES;CORE" ${ARGN})
  if(gpu_RANKS)
    shakedown_mpi_program(${name} RANKS ${gpu_SOURCES})
  elseif(gpu_MPI)
    shakedown_mpi_program(${name} ${gpu_SOURCES})
  else()
    shakedown_program(${name} ${gpu_SOURCES})
  endif()
  set(kernels_in ${name})
  if(gpu_CORE)
    set(kernels_in ${name}_core)
    add_library(${name}_core STATIC ${gpu_CORE})
    target_link_libraries(${name}_core PUBLIC shakedown_gpu)
    target_link_libraries(${name} PRIVATE ${name}_core)
  endif()
  if(TARGET ${name})
    target_link_libraries(${name} PRIVATE shakedown_gpu)
    if(gpu_KERNELS)
      shakedown_gpu_kernels(${name} ${kernels_in} ${gpu_KERNELS})
    endif()
  endif()
endfunction()

# shakedown_host_module(target program): the fake driver runs the kernels of `program` in this target by their host
# equivalents, which are shakedown::program::kModule.
function(shakedown_host_module target program)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${target}_host_module.cpp)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [=[// Made by cmake/cuda.cmake.
#include "testing/host_module.hpp"

namespace shakedown::@program@ {
extern const gpu::Module kModule;
}
const shakedown::gpu::Module* shakedown_host_module() { return &shakedown::@program@::kModule; }
]=])
  target_sources(${target} PRIVATE ${source})
  shakedown_export_host_module(${target})
endfunction()
function(shakedown_export_host_module target)
  target_link_options(${target} PRIVATE -Wl,--dynamic-list=${CMAKE_SOURCE_DIR}/native/testing/host_module.list)
endfunction()

# shakedown_gpu_test(name program SOURCES test.cpp... [FAKES ...]): a native test that runs `program` against the fake
# driver and the fake cuBLAS of native/testing. It gets FOLDER (of the program) and FAKES (what to say of both).
function(shakedown_gpu_test name program)
  if(NOT SHAKEDOWN_TESTS)
    return()
  endif()
  cmake_parse_arguments(gpu "" "" "SOURCES;FAKES" ${ARGN})
  shakedown_test(${name} ${gpu_SOURCES} FAKES fake_cuda fake_cublas ${gpu_FAKES})
  target_link_libraries(${name} PRIVATE shakedown_gpu)
  add_dependencies(${name} ${program})
  target_compile_definitions(${name} PRIVATE FOLDER="${CMAKE_CURRENT_BINARY_DIR}"
    FAKES="--driver $<TARGET_FILE:fake_cuda> --cublas $<TARGET_FILE:fake_cublas> ")
endfunction()
