import Base
import CLinux
import Cryptography
import Glibc
import Posix

/// A `chatfs` child of the demo. Its own process group protects it from Ctrl-C, so that the demo stops its children in
/// order. The kernel signals it if the demo dies.
struct DemoChild: Sendable {
    /// Name in messages: "The relay", "The mount of alice".
    let name: String
    let process: ObservedProcess

    /// Starts this program with other arguments.
    /// - Parameter key: Key of the demo's data, passed through standard input.
    static func start(_ name: String, _ arguments: [String], key: SecretBytes) async throws -> DemoChild {
        var settings = ChildProcess.Settings("/proc/self/exe", arguments + ["--key-fd", "0"])
        settings.input = .file(try pipe(holding: key))
        settings.parentDeathSignal = SIGTERM
        return DemoChild(name: name, process: try await ObservedProcess.start(settings))
    }

    /// Runs a short command to its end and throws its error message.
    static func run(_ name: String, _ arguments: [String], key: SecretBytes) async throws {
        let child = try await start(name, arguments, key: key)
        guard await child.process.ending(within: .seconds(60)) == .code(0) else { throw child.failure() }
    }

    /// Returns the read end of a pipe that contains the key.
    private static func pipe(holding key: SecretBytes) throws(SystemError) -> OpenFile {
        var ends: [Int32] = [0, 0]
        try check("make a pipe") { chatfs_pipe(&ends) }
        let (reader, writer) = (OpenFile(adopting: ends[0]), OpenFile(adopting: ends[1]))
        // Fits into the pipe's buffer.
        _ = try key.withUnsafeBytes { bytes throws(SystemError) in
            try check("hand over a key") { write(writer.descriptor, bytes.baseAddress, bytes.count) }
        }
        return reader
    }

    var isRunning: Bool { process.isRunning }

    /// Returns the first matching line. Throws if the child ends or is silent for 30 seconds.
    func line(where fits: (String) -> Bool) async throws -> String {
        guard let line = await process.line(within: .seconds(30), where: fits) else { throw failure() }
        return line
    }

    /// The error for an unexpected end.
    func failure() -> DemoError {
        let words = process.errors.split(separator: "\n").suffix(3).joined(separator: " ")
        return DemoError(.child, "\(name) failed: \(words.isEmpty ? "no message." : words)")
    }
}
