# Finds an OpenSHMEM through its compiler wrapper, as mpi.cmake finds an MPI; shakedown_shmem_program() makes a program of it.
# Order: SHAKEDOWN_OSHCXX where it is set; oshc++ and its other names on PATH; the compiler itself, where it is a wrapper
# (Cray's CC with cray-openshmemx). Where there is none, the reason is recorded, and the rest is built.
include_guard(GLOBAL)
include(${CMAKE_CURRENT_LIST_DIR}/mpi.cmake)

shakedown_choice(SHAKEDOWN_OSHCXX "the OpenSHMEM compiler wrapper to build with; empty: look for one; off: none")

# Compile and link a small program, and learn from shmem.h what it keeps to.
function(shakedown_try_shmem compile link out_works out_version out_flavour)
  set(folder ${CMAKE_BINARY_DIR}/shmem-trial)
  file(WRITE ${folder}/trial.cpp [=[
#include <shmem.h>
#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)
#if defined(OSHMEM_MAJOR_VERSION)
#define FLAVOUR "Open MPI"
#else
#define FLAVOUR "other"
#endif
extern const char kName[] = "SHAKEDOWN[" TEXT(SHMEM_MAJOR_VERSION) "." TEXT(SHMEM_MINOR_VERSION) "|" FLAVOUR "]";
int main(int argc, char**) {
  shmem_init();
  static long long word = 0;
  shmem_longlong_atomic_fetch_add(&word, 1, 0);  // 1.4: these names
  shmem_finalize();
  return kName[argc % 2] == 0;
}
]=])
  shakedown_trial(${folder} "${compile}" "${link}" works version flavour)
  set(${out_works} ${works} PARENT_SCOPE)
  set(${out_version} "${version}" PARENT_SCOPE)
  set(${out_flavour} "${flavour}" PARENT_SCOPE)
endfunction()

set(SHAKEDOWN_SHMEM_FOUND FALSE)
set(candidates "")
if(SHAKEDOWN_OSHCXX STREQUAL "off")
elseif(SHAKEDOWN_OSHCXX)
  set(candidates ${SHAKEDOWN_OSHCXX})
else()
  shakedown_path(folders)
  shakedown_named_in(candidates "${folders}" oshc++ oshcxx oshCC oshcc)
  list(APPEND candidates ${CMAKE_CXX_COMPILER})
endif()
foreach(wrapper ${candidates})
  if(wrapper STREQUAL CMAKE_CXX_COMPILER)
    set(compile "")
    set(link "")
  else()
    shakedown_wrapper_flags(${wrapper} compile link)
  endif()
  shakedown_try_shmem("${compile}" "${link}" works version flavour)
  if(works)
    set(SHAKEDOWN_SHMEM_FOUND TRUE)
    set(chosen ${wrapper})
    break()
  endif()
endforeach()

if(SHAKEDOWN_SHMEM_FOUND)
  shakedown_library_folders("${link}" SHAKEDOWN_SHMEM_RPATH)
  shakedown_wrapped_library(shakedown_shmem "${compile}" "${link}")
  set(entry "{}")
  foreach(key version flavour)
    string(JSON entry SET "${entry}" ${key} "\"${${key}}\"")
  endforeach()
  string(JSON entry SET "${entry}" wrapper "\"${chosen}\"")
  shakedown_build_entry(openshmem "${entry}")
  message(STATUS "OpenSHMEM: ${version} (${chosen})")
else()
  set(tried ${candidates})
  list(REMOVE_ITEM tried ${CMAKE_CXX_COMPILER})
  string(REPLACE ";" ", " tried "${tried}")
  if(tried)
    set(tried " (tried: ${tried})")
  endif()
  set(SHAKEDOWN_SHMEM_ABSENT "no OpenSHMEM 1.4 or newer to build with${tried}. Load the site's module, or install Open MPI's \
(libopenmpi-dev), then build again; SHAKEDOWN_OSHCXX names its oshc++")
  message(STATUS "OpenSHMEM: ${SHAKEDOWN_SHMEM_ABSENT}")
endif()

# shakedown_shmem_program(name source...): a program that uses OpenSHMEM and no MPI.
function(shakedown_shmem_program name)
  if(NOT SHAKEDOWN_SHMEM_FOUND)
    shakedown_json_text(text "${SHAKEDOWN_SHMEM_ABSENT}")
    shakedown_build_entry(${name}_absent "${text}")
    return()
  endif()
  shakedown_program(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE shakedown_shmem)
  set_target_properties(${name} PROPERTIES BUILD_RPATH "${SHAKEDOWN_SHMEM_RPATH}" INSTALL_RPATH "${SHAKEDOWN_SHMEM_RPATH}")
endfunction()
