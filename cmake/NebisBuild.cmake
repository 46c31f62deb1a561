# How everything is compiled. Nothing here leaks into the installed package: the flags travel on the interface
# target nebis_flags, which is linked as $<BUILD_INTERFACE:…>.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

if(PROJECT_IS_TOP_LEVEL)
    set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
    set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
    set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

    find_program(NEBIS_CCACHE ccache)
    if(NEBIS_CCACHE AND NOT NEBIS_COVERAGE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
        # nohashdir: two build folders of one tree share their objects.
        set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
                                        "${NEBIS_CCACHE}")
    endif()
    find_program(NEBIS_MOLD mold)
    if(NEBIS_MOLD)
        add_link_options(-fuse-ld=mold)
    endif()

    if(NEBIS_SANITIZE MATCHES "fuzzer")
        # Every file is instrumented, only the programs made by nebis_fuzz get libFuzzer's main.
        string(REPLACE "fuzzer" "fuzzer-no-link" _nebis_sanitize "${NEBIS_SANITIZE}")
    else()
        set(_nebis_sanitize "${NEBIS_SANITIZE}")
    endif()
    if(_nebis_sanitize)
        add_compile_options(-fsanitize=${_nebis_sanitize} -fno-omit-frame-pointer)
        add_link_options(-fsanitize=${_nebis_sanitize})
    endif()
    if(NEBIS_SANITIZE MATCHES "undefined")
        add_compile_options(-fno-sanitize-recover=all)
    endif()
    if(NEBIS_SANITIZE MATCHES "thread")
        # TSan knows no fences; Asio has a switch for that.
        add_compile_definitions(BOOST_ASIO_DISABLE_FENCED_BLOCK)
    endif()
    if(NEBIS_COVERAGE)
        add_compile_options(--coverage -fprofile-update=atomic)
        add_link_options(--coverage)
    endif()
endif()

add_library(nebis_flags INTERFACE)
target_compile_features(nebis_flags INTERFACE cxx_std_20)
target_compile_options(nebis_flags INTERFACE -Wall -Wextra -Wpedantic -Wno-mismatched-new-delete)
if(NEBIS_WERROR)
    target_compile_options(nebis_flags INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 reports std::string's own operator+ (GCC PR 105651).
    target_compile_options(nebis_flags INTERFACE -Wno-restrict)
    if(NEBIS_SANITIZE OR NEBIS_COVERAGE)
        # Instrumented code confuses the flow analysis; the plain builds keep these warnings.
        target_compile_options(nebis_flags INTERFACE -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-tsan)
    endif()
endif()
