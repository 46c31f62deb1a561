# The words the rooms' CMakeLists.txt are written in. CONTRIBUTING.md shows each with an example.

set(NEBIS_CMAKE_DIR "${CMAKE_CURRENT_LIST_DIR}")
set(NEBIS_INSTALL_CMAKE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/Nebis")

# nebis_core_room(<name> SOURCES <cpp>... [LINK <library>...] [ROOMS <other room>...])
# Makes the OBJECT library nebis_<name>; all of them together become Nebis::core.
# LINK: outside libraries. ROOMS: other core rooms whose code this one calls; a test that links
# nebis_<name> alone gets their objects too.
function(nebis_core_room name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK;ROOMS")
    nebis_check_arguments_("nebis_core_room(${name})")
    set(target nebis_${name})
    add_library(${target} OBJECT ${arg_SOURCES})
    target_include_directories(${target} PUBLIC "${Nebis_SOURCE_DIR}/include" "${Nebis_SOURCE_DIR}/src")
    target_link_libraries(${target} PRIVATE nebis_flags PUBLIC Boost::json Threads::Threads ${arg_LINK})
    list(TRANSFORM arg_ROOMS PREPEND nebis_)
    set_property(TARGET ${target} PROPERTY NEBIS_ROOMS "${arg_ROOMS}")
    set_property(GLOBAL APPEND PROPERTY NEBIS_CORE_ROOMS ${target})
    set_property(GLOBAL APPEND PROPERTY NEBIS_CORE_LINK ${arg_LINK})
endfunction()

# nebis_core([SOURCES <cpp>...]): merges the rooms into the one library; called once, by src/CMakeLists.txt.
function(nebis_core)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "SOURCES")
    nebis_check_arguments_("nebis_core")
    add_library(nebis_core STATIC ${arg_SOURCES})
    add_library(Nebis::core ALIAS nebis_core)
    set_target_properties(nebis_core PROPERTIES EXPORT_NAME core)
    target_include_directories(nebis_core PUBLIC "$<BUILD_INTERFACE:${Nebis_SOURCE_DIR}/include>"
                                                 "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
                                          PRIVATE "${Nebis_SOURCE_DIR}/src")
    target_compile_features(nebis_core PUBLIC cxx_std_20)
    target_compile_definitions(nebis_core PRIVATE NEBIS_VERSION="${Nebis_VERSION}")
    get_property(rooms GLOBAL PROPERTY NEBIS_CORE_ROOMS)
    foreach(room IN LISTS rooms)
        target_sources(nebis_core PRIVATE $<TARGET_OBJECTS:${room}>)
    endforeach()
    get_property(libraries GLOBAL PROPERTY NEBIS_CORE_LINK)
    list(REMOVE_DUPLICATES libraries)
    list(REMOVE_ITEM libraries Boost::json Threads::Threads)
    target_link_libraries(nebis_core PRIVATE $<BUILD_INTERFACE:nebis_flags> ${libraries}
                                     PUBLIC Boost::json Threads::Threads)
    nebis_install_component_(core nebis_core "${Nebis_SOURCE_DIR}/include" ""
                             "Threads;Boost 1.81 CONFIG COMPONENTS json;OpenSSL;yaml-cpp CONFIG;prometheus-cpp CONFIG")
endfunction()

# nebis_driver(<name> EXPORT <component> SOURCES <cpp>... [LINK <library>...] [PRIVATE_LINK <library>...]
#              [NEEDS <component>...] [PACKAGES <find_package arguments, one quoted string each>...])
# Makes the static library nebis_<name>, exported as Nebis::<component>: a store, lock, transport, what several of
# them share (support/), the starter or the conformance suites. Its public headers lie in include/ beside its
# CMakeLists.txt. It links Nebis::core; NEEDS links other components too: for the starter, and support/ for drivers.
function(nebis_driver name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "EXPORT" "SOURCES;LINK;PRIVATE_LINK;NEEDS;PACKAGES")
    nebis_check_arguments_("nebis_driver(${name})")
    set(target nebis_${name})
    add_library(${target} STATIC ${arg_SOURCES})
    add_library(Nebis::${arg_EXPORT} ALIAS ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${arg_EXPORT})
    target_include_directories(${target} PUBLIC "$<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>"
                                                "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
                                         PRIVATE "${Nebis_SOURCE_DIR}/src" "${Nebis_SOURCE_DIR}/support"
                                                 "${CMAKE_CURRENT_SOURCE_DIR}")
    list(TRANSFORM arg_NEEDS PREPEND Nebis:: OUTPUT_VARIABLE needs)
    target_link_libraries(${target} PUBLIC nebis_core ${needs} ${arg_LINK}
                                    PRIVATE $<BUILD_INTERFACE:nebis_flags> ${arg_PRIVATE_LINK})
    nebis_install_component_(${arg_EXPORT} ${target} "${CMAKE_CURRENT_SOURCE_DIR}/include" "core;${arg_NEEDS}"
                             "${arg_PACKAGES}")
endfunction()

# nebis_program(<name> SOURCES <cpp>... [LINK <library>...]): a program in build/<preset>/bin/<name>.
function(nebis_program name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
    nebis_check_arguments_("nebis_program(${name})")
    add_executable(${name} ${arg_SOURCES})
    target_include_directories(${name} PRIVATE "${Nebis_SOURCE_DIR}/include" "${Nebis_SOURCE_DIR}/src")
    nebis_with_rooms_(libraries ${arg_LINK})
    target_link_libraries(${name} PRIVATE nebis_flags ${libraries})
endfunction()

# nebis_test(<name> SOURCES <cpp>... [LINK <library>...] LABELS <unit|race|kill|integration|regress|golden|long>...
#            [TIMEOUT <seconds of one case>] [SERIAL] [ENVIRONMENT <NAME=value>...])
# A GoogleTest program (its main comes from gmock_main) whose cases become tests named Suite.Case.
# Without NEBIS_BUILD_TESTS it does nothing.
function(nebis_test name)
    if(NOT NEBIS_BUILD_TESTS)
        return()
    endif()
    cmake_parse_arguments(PARSE_ARGV 1 arg "SERIAL" "TIMEOUT" "SOURCES;LINK;LABELS;ENVIRONMENT")
    nebis_check_arguments_("nebis_test(${name})")
    nebis_test_defaults_()
    nebis_program(${name} SOURCES ${arg_SOURCES} LINK ${arg_LINK} GTest::gmock_main GTest::gmock GTest::gtest)
    target_compile_definitions(${name} PRIVATE NEBIS_SOURCE_DIR="${Nebis_SOURCE_DIR}")
    set_property(GLOBAL APPEND PROPERTY NEBIS_ALL_TESTS ${name})
    foreach(label IN LISTS arg_LABELS)
        if(label MATCHES "^(unit|race|kill)$")
            set_property(GLOBAL APPEND PROPERTY NEBIS_SANITIZE_TESTS ${name})
        endif()
        if(label MATCHES "^(unit|regress)$")
            set_property(GLOBAL APPEND PROPERTY NEBIS_COVERAGE_TESTS ${name})
        endif()
    endforeach()
    # gtest_discover_tests loses the semicolons of a list in a property, so the properties are set by a file of ours
    # that ctest reads after the discovery.
    list(APPEND arg_ENVIRONMENT "NEBIS_SERVERS_CACHE=${PROJECT_BINARY_DIR}/server-cache")
    set(properties "TIMEOUT ${arg_TIMEOUT} LABELS [==[${arg_LABELS}]==] ENVIRONMENT [==[${arg_ENVIRONMENT}]==]")
    if(arg_SERIAL)
        string(APPEND properties " RUN_SERIAL TRUE")
    endif()
    gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60)
    set(file "${CMAKE_CURRENT_BINARY_DIR}/${name}_properties.cmake")
    file(WRITE "${file}" "if(${name}_TESTS)\n"
                         "    set_tests_properties(\${${name}_TESTS} PROPERTIES ${properties})\n"
                         "    unset(${name}_TESTS)\n"
                         "endif()\n")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${file}")
endfunction()

# nebis_script_test(<name> COMMAND <command> <argument>... LABELS <label>... [TIMEOUT <seconds>] [SERIAL]
#                   [ENVIRONMENT <NAME=value>...])
# Anything that passes by exiting with 0; runs in the build folder.
function(nebis_script_test name)
    if(NOT NEBIS_BUILD_TESTS)
        return()
    endif()
    cmake_parse_arguments(PARSE_ARGV 1 arg "SERIAL" "TIMEOUT" "COMMAND;LABELS;ENVIRONMENT")
    nebis_check_arguments_("nebis_script_test(${name})")
    nebis_test_defaults_()
    add_test(NAME ${name} COMMAND ${arg_COMMAND} WORKING_DIRECTORY "${CMAKE_BINARY_DIR}")
    set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}" ENVIRONMENT
                                            "${arg_ENVIRONMENT}")
    if(arg_SERIAL)
        set_tests_properties(${name} PROPERTIES RUN_SERIAL TRUE)
    endif()
endfunction()

# nebis_fuzz(<name> SOURCES <cpp with LLVMFuzzerTestOneInput>... [LINK <library>...] [CORPUS <folder>])
# With the preset fuzz: a libFuzzer program. With every other preset: a test (label unit) that feeds it the files of
# its corpus once, so that a crash file found by the fuzzer is a regression test as soon as it is committed.
function(nebis_fuzz name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "CORPUS" "SOURCES;LINK")
    nebis_check_arguments_("nebis_fuzz(${name})")
    if(NEBIS_SANITIZE MATCHES "fuzzer")
        nebis_program(${name} SOURCES ${arg_SOURCES} LINK ${arg_LINK})
        target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    else()
        nebis_program(${name} SOURCES ${arg_SOURCES} "${NEBIS_CMAKE_DIR}/fuzz_replay.cpp" LINK ${arg_LINK})
        if(NEBIS_BUILD_TESTS AND arg_CORPUS)
            cmake_path(ABSOLUTE_PATH arg_CORPUS)
            nebis_script_test(${name}.corpus COMMAND ${name} "${arg_CORPUS}" LABELS unit TIMEOUT 120)
            set_property(GLOBAL APPEND PROPERTY NEBIS_SANITIZE_TESTS ${name})
            set_property(GLOBAL APPEND PROPERTY NEBIS_COVERAGE_TESTS ${name})
        endif()
    endif()
endfunction()

# nebis_finish(): what needs to know all rooms; the last line of the root.
function(nebis_finish)
    foreach(kind IN ITEMS sanitize coverage)  # what the presets asan, tsan and coverage build
        string(TOUPPER ${kind} upper)
        get_property(tests GLOBAL PROPERTY NEBIS_${upper}_TESTS)
        list(REMOVE_DUPLICATES tests)
        if(PROJECT_IS_TOP_LEVEL)
            add_custom_target(${kind}_tests)
            if(tests)
                add_dependencies(${kind}_tests ${tests})
            endif()
        endif()
    endforeach()
    if(NOT NEBIS_INSTALL)
        return()
    endif()
    include(CMakePackageConfigHelpers)
    get_property(NEBIS_COMPONENTS GLOBAL PROPERTY NEBIS_COMPONENTS)
    configure_package_config_file("${NEBIS_CMAKE_DIR}/NebisConfig.cmake.in" "${Nebis_BINARY_DIR}/NebisConfig.cmake"
                                  INSTALL_DESTINATION "${NEBIS_INSTALL_CMAKE_DIR}" NO_SET_AND_CHECK_MACRO)
    write_basic_package_version_file("${Nebis_BINARY_DIR}/NebisConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
    install(FILES "${Nebis_BINARY_DIR}/NebisConfig.cmake" "${Nebis_BINARY_DIR}/NebisConfigVersion.cmake"
            DESTINATION "${NEBIS_INSTALL_CMAKE_DIR}" COMPONENT nebis)
    install(FILES "${Nebis_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT nebis)
endfunction()

# ---- the helpers' helpers ------------------------------------------------------------------------------------------

macro(nebis_check_arguments_ who)
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "${who}: what is '${arg_UNPARSED_ARGUMENTS}'?")
    endif()
    if(arg_KEYWORDS_MISSING_VALUES)
        message(FATAL_ERROR "${who}: nothing follows ${arg_KEYWORDS_MISSING_VALUES}")
    endif()
endmacro()

# Sanitized programs are slow, so the limits grow with them.
macro(nebis_test_defaults_)
    if(NOT arg_LABELS)
        message(FATAL_ERROR "${name}: a test needs LABELS")
    endif()
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 60)
    endif()
    if(NEBIS_SANITIZE)
        math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 4")
    endif()
endmacro()

# The objects of an OBJECT library don't travel, so name those of the rooms it needs. Nebis::core has them all.
function(nebis_with_rooms_ out)
    set(libraries ${ARGN})
    set(pending ${ARGN})
    while(pending)
        list(POP_FRONT pending one)
        if(TARGET ${one})
            get_target_property(rooms ${one} NEBIS_ROOMS)
            if(rooms)
                list(REMOVE_ITEM rooms ${libraries})
                list(APPEND libraries ${rooms})
                list(APPEND pending ${rooms})
            endif()
        endif()
    endwhile()
    list(REMOVE_DUPLICATES libraries)
    set(${out} "${libraries}" PARENT_SCOPE)
endfunction()

# One component of the installed package: library, headers, its export file, and the file that finds what it needs.
function(nebis_install_component_ component target headers needs packages)
    if(NOT NEBIS_INSTALL)
        return()
    endif()
    set_property(GLOBAL APPEND PROPERTY NEBIS_COMPONENTS ${component})
    install(TARGETS ${target} EXPORT Nebis-${component} ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT nebis)
    if(IS_DIRECTORY "${headers}")
        install(DIRECTORY "${headers}/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT nebis
                FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
    endif()
    install(EXPORT Nebis-${component} NAMESPACE Nebis:: FILE Nebis-${component}-targets.cmake
            DESTINATION "${NEBIS_INSTALL_CMAKE_DIR}" COMPONENT nebis)
    list(REMOVE_DUPLICATES needs)
    list(REMOVE_ITEM needs "")
    set(text "set(_nebis_needs ${needs})\n")
    foreach(package IN LISTS packages)
        string(APPEND text "find_dependency(${package})\n")
    endforeach()
    file(WRITE "${Nebis_BINARY_DIR}/components/Nebis-${component}-needs.cmake" "${text}")
    install(FILES "${Nebis_BINARY_DIR}/components/Nebis-${component}-needs.cmake"
            DESTINATION "${NEBIS_INSTALL_CMAKE_DIR}" COMPONENT nebis)
endfunction()
