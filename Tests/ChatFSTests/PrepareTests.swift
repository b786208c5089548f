import Glibc
import Posix
import TestSupport
import Testing

/// `contrib/prepare` on simulated systems.
@Suite("The script contrib/prepare")
struct PrepareTests {
    private static let root = LayeringTests.root

    /// Requests packages on a system whose dpkg-query(1) lists `installed`. Returns the arguments of apt-get(8).
    private func need(_ packages: String, installed: String) async throws -> [String] {
        let folder = try TemporaryFolder()
        func tool(_ name: String, _ lines: String) throws {
            try folder.write(Array("#!/bin/sh\n\(lines)\n".utf8), to: name)
            chmod(folder.path(name), 0o755)
        }
        try folder.write(Array(installed.utf8), to: "installed")
        try folder.write([], to: "asked")
        try tool("dpkg-query", "cat \(folder.path("installed"))")
        try tool("apt-get", "echo \"$*\" >>\(folder.path("asked"))")
        try tool("sudo", "exec \"$@\"")
        let outcome = try await Shell.script(
            "PATH=\(folder.path):$PATH; . \(Self.root)/contrib/prepare; need_packages \(packages)")
        try #require(outcome.succeeded, "\(outcome.errors)")
        return String(decoding: try folder.read("asked"), as: UTF8.self).split(separator: "\n").map(
            String.init)
    }

    private static let system = """
        installed, gcc, c-compiler, gcc-x86-64-linux-gnu (= 4:14.2.0-1)
        installed, libcurl4t64, libcurl4 (= 8.14.1-2)
        config-files, libfuse3-dev,\u{20}
        installed, libncurses6,\u{20}

        """

    @Test("present programs are not installed again")
    func present() async throws {
        #expect(try await need("gcc libcurl4 c-compiler libncurses6", installed: Self.system) == [])
    }

    @Test("missing packages are installed")
    func missing() async throws {
        let asked = try await need("gcc libfuse3-dev libcurl libxml2", installed: Self.system)
        #expect(asked.count == 2 && asked.first?.contains("update") == true)
        #expect(asked.last?.hasSuffix("install libfuse3-dev libcurl libxml2") == true)
    }

    @Test func toolchainMayLackLibrariesBeforeInstallation() async throws {
        let folder = try TemporaryFolder()
        try folder.write(
            Array("#!/bin/sh\n[ -e \(folder.path("library")) ] && echo 'Swift version 6.3.1'\n".utf8),
            to: "swift")
        chmod(folder.path("swift"), 0o755)
        let outcome = try await Shell.script(
            """
            PATH=\(folder.path):$PATH; . \(Self.root)/contrib/prepare
            need_packages() { touch '\(folder.path("library"))'; }
            need_swift
            """)
        #expect(outcome.succeeded, "\(outcome.errors)")
    }

    /// Requests the toolchain if `swift --version` prints `version`; nil for none.
    private func findSwift(_ version: String?, candidate: String) async throws -> Shell.Outcome {
        let folder = try TemporaryFolder()
        func tool(_ name: String, _ output: String) throws {
            try folder.write(Array("#!/bin/sh\ncat <<END\n\(output)\nEND\n".utf8), to: name)
            chmod(folder.path(name), 0o755)
        }
        if let version { try tool("swift", "Swift version \(version) (swift-\(version)-RELEASE)") }
        try tool("apt-cache", "swiftlang:\n  Candidate: \(candidate)")
        return try await Shell.script(
            """
            for name in sed head cat dpkg uname; do ln -s $(command -v $name) \(folder.path)/ || true; done
            PATH=\(folder.path); . \(Self.root)/contrib/prepare
            say() { printf '%s\\n' "$*" >&2; }
            find_swift
            """)
    }

    @Test(arguments: ["6.2", "6.3.1", "7.0.2", "10.0"])
    func compatibleToolchainIsUsed(version: String) async throws {
        let outcome = try await findSwift(version, candidate: "(none)")
        #expect(outcome.succeeded && outcome.errors == "", "\(outcome.errors)")
    }

    @Test(arguments: ["5.10.1", "6.0.3", "6.1"])
    func incompatibleToolchainIsReportedInOneSentence(version: String) async throws {
        let outcome = try await findSwift(version, candidate: "6.0.3-2")
        #expect(outcome.ending == .code(69))
        #expect(outcome.errors.contains("this system has \(version)"), "\(outcome.errors)")
        #expect(outcome.errors.contains("the package 'chatfs'"))
        #expect(outcome.errors.split(separator: "\n").count == 1)
        let newer = try await findSwift(version, candidate: "6.3.1-1")
        #expect(newer.errors.contains("install the package 'swiftlang'"), "\(newer.errors)")
    }

    @Test func packageTrialNeedsSuiteAndSystemOfItsOwn() async throws {
        let script = Self.root + "/contrib/trial-package"
        let none = try await Shell.run(script)
        #expect(none.ending == .code(64) && none.errors.contains("SUITE [FOLDER]"), "\(none.errors)")
        // On any other system it would remove programs of its users.
        let here = try await Shell.run(script, ["--inside"])
        #expect(here.ending == .code(64) && here.errors.contains("for contrib/on"), "\(here.errors)")
    }

    @Test("contrib/on needs a command")
    func on() async throws {
        let outcome = try await Shell.run(Self.root + "/contrib/on", ["trixie"])
        #expect(outcome.ending == .code(64) && outcome.errors.contains("SUITE COMMAND"))
    }
}
