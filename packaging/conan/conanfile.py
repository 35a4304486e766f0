"""Holdfast for Conan 2, built from the tree that this file lies in:

    conan create packaging/conan --build=missing
    conan create packaging/conan -o '&:shared=True' -o '&:command=True' -o '&:mariadb=False'

Libraries of the system serve as dependencies with the profile beside this file: --profile:host=packaging/conan/debian
"""
import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir
from conan.tools.gnu import PkgConfigDeps

STORES = {  # an option each
    "sqlite": ["sqlite3/[>=3.35 <4]"],
    "redis": ["openssl/[>=1.1.1 <4]"],
    "zookeeper": [],  # the system's zookeeper_st: Conan's package of the client has only the library with threads
    "postgresql": ["libpq/[>=14]"],
    "mariadb": ["mariadb-connector-c/[>=3.1 <4]"],
}


class Holdfast(ConanFile):
    name = "holdfast"
    license = "Apache-2.0"
    description = "The standard library's synchronization types, across processes"
    topics = ("locks", "distributed", "redis", "zookeeper", "postgresql", "mariadb", "sqlite")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "command": [True, False], **{store: [True, False] for store in STORES}}
    default_options = {"shared": False, "command": False, **{store: store != "zookeeper" for store in STORES}}

    @property
    def tree(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        self.version = load(self, os.path.join(self.tree, "VERSION")).strip()

    def export_sources(self):
        # A pattern's * matches slashes, too: "*.md" would take those of .deps/ and build/.
        for pattern in ("CMakeLists.txt", "VERSION", "README.md", "SECURITY.md", "CHANGELOG.md", "LICENSE", "cmake/*", "include/*",
                        "src/*", "cli/*", "docs/*", "examples/*", "packaging/*"):
            copy(self, pattern, self.tree, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("Holdfast is for Linux")

    def requirements(self):
        self.requires("boost/[>=1.74 <2]", headers=True, libs=False, visible=False)
        for store, references in STORES.items():
            if self.options.get_safe(store):
                for reference in references:
                    self.requires(reference)
        if self.options.command:
            for reference in ("cli11/[>=2.2 <3]", "fmt/[>=9]", "nlohmann_json/[>=3.11 <4]"):
                self.requires(reference, visible=False)
            if not self.options.redis:
                self.requires(*STORES["redis"])

    def generate(self):
        toolchain = CMakeToolchain(self)
        for store in STORES:
            toolchain.cache_variables[f"HOLDFAST_{store.upper()}"] = bool(self.options.get_safe(store))
        toolchain.cache_variables["HOLDFAST_CLI"] = bool(self.options.command)
        for part in ("TESTS", "BENCH", "EXAMPLES"):
            toolchain.cache_variables[f"HOLDFAST_{part}"] = False
        boost = [each for each in self.dependencies.values() if each.ref.name == "boost" and each.package_folder]
        if boost:
            toolchain.cache_variables["HOLDFAST_BOOST_INCLUDE_DIR"] = boost[0].cpp_info.includedirs[0]
        toolchain.generate()
        CMakeDeps(self).generate()
        PkgConfigDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        rmdir(self, os.path.join(self.package_folder, "share", "doc"))

    def package_info(self):
        # holdfast's own CMake package, with its components; it finds the stores' clients, libpq and libmariadb by pkg-config.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "holdfast")]
        self.cpp_info.libs = ["holdfast"]
        if not self.options.shared:
            self.cpp_info.system_libs = ["m", "pthread"]
