import Glibc
import Posix
import TestSupport
import Testing

/// `contrib/prepare` on systems that are made up.
@Suite("Preparing a machine")
struct PrepareTests {
    private static let root = LayeringTests.root

    /// Asks for packages on a system whose dpkg-query(1) lists `installed`; answers what was given to apt-get(8).
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

    @Test("what is there, under its own name or that of another, is not installed again")
    func present() async throws {
        #expect(try await need("gcc libcurl4 c-compiler libncurses6", installed: Self.system) == [])
    }

    @Test("what is missing is installed, also when only its settings are left")
    func missing() async throws {
        let asked = try await need("gcc libfuse3-dev libcurl libxml2", installed: Self.system)
        #expect(asked.count == 2 && asked.first?.contains("update") == true)
        #expect(asked.last?.hasSuffix("install libfuse3-dev libcurl libxml2") == true)
    }

    @Test("a command for another system is asked for what it needs before anything is made")
    func on() async throws {
        let outcome = try await Shell.run(Self.root + "/contrib/on", ["trixie"])
        #expect(outcome.ending == .code(64) && outcome.errors.contains("SUITE COMMAND"))
    }
}
