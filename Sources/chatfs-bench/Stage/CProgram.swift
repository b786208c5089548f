import Base
import Glibc
import Posix

/// The C sources of `contrib/bench`, built on demand into the stage's folder.
enum CProgram {
    /// Builds one with the libraries of these pkg-config `packages`. Returns the path of the result.
    static func build(
        _ source: String, flags: [String] = [], packages: [String] = [], on stage: Stage
    ) async throws -> String {
        let result = stage.path(source + ".built")
        var words = ["cc", "-O2", try folder() + "/" + source, "-o", result] + flags
        if !packages.isEmpty {
            let text = try await tool(["pkg-config", "--cflags", "--libs"] + packages, on: stage)
            words += text.split(whereSeparator: \.isWhitespace).map(String.init)
        }
        _ = try await tool(words, on: stage)
        return result
    }

    private static func tool(_ words: [String], on stage: Stage) async throws -> String {
        do {
            return try await stage.run("/usr/bin/env", words)
        } catch {
            try stage.check()
            throw BenchError(
                .missing, "It needs cc, pkg-config and libfuse3-dev, and the folder contrib/bench.",
                cause: error)
        }
    }

    /// Returns `contrib/bench` above this program or above the current folder.
    private static func folder() throws -> String {
        let current = (try? SymbolicLink.resolved(".", to: "find the current folder")) ?? ""
        for start in [Stage.ownFolder, current] {
            var parts = start.pathNames
            while !parts.isEmpty {
                let path = "/" + parts.joined(separator: "/") + "/contrib/bench"
                if access(path, R_OK) == 0 { return path }
                parts.removeLast()
            }
        }
        throw BenchError(.missing, "The folder contrib/bench of the sources was not found.")
    }
}

/// The C passthrough filesystem, which shows the cost of FUSE alone.
enum Passthrough {
    static let name = "C passthrough"

    static func build(on stage: Stage) async throws -> String {
        try await CProgram.build("passthrough.c", packages: ["fuse3"], on: stage)
    }

    /// Mounts the folder `source` at its own mountpoint.
    static func mount(_ program: String, _ source: String, on stage: Stage) async throws -> Mounted {
        let path = try stage.makeFolder("passthrough")
        let process = try await stage.start(program, [source, path])
        return try await Mounted.waiting(for: process, at: path, type: "fuse.passthrough", on: stage)
    }
}
