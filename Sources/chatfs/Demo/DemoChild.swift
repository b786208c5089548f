import Base
import CLinux
import Cryptography
import Glibc
import Posix

/// One `chatfs` started by the demo. In a process group of its own, so that Ctrl-C reaches only the
/// demo, which then stops its children in the right order; told by the kernel to leave when the demo
/// dies in another way.
struct DemoChild: Sendable {
    /// What it is called in messages: "The relay", "The mount of alice".
    let name: String
    let process: ObservedProcess

    /// Starts this same program with other arguments.
    /// - Parameter key: of the data that it uses, which it reads from its standard input.
    static func start(_ name: String, _ arguments: [String], key: SecretBytes) async throws -> DemoChild {
        var settings = ChildProcess.Settings("/proc/self/exe", arguments + ["--key-fd", "0"])
        settings.input = .file(try pipe(holding: key))
        settings.parentDeathSignal = SIGTERM
        return DemoChild(name: name, process: try await ObservedProcess.start(settings))
    }

    /// Runs a short command to its end; its complaint becomes the error.
    static func run(_ name: String, _ arguments: [String], key: SecretBytes) async throws {
        let child = try await start(name, arguments, key: key)
        guard await child.process.ending(within: .seconds(60)) == .code(0) else { throw child.failure() }
    }

    /// The end of a pipe that the key can be read from, once.
    private static func pipe(holding key: SecretBytes) throws(SystemError) -> OpenFile {
        var ends: [Int32] = [0, 0]
        try check("make a pipe") { chatfs_pipe(&ends) }
        let (reader, writer) = (OpenFile(adopting: ends[0]), OpenFile(adopting: ends[1]))
        // It fits.
        _ = try key.withUnsafeBytes { bytes throws(SystemError) in
            try check("hand over a key") { write(writer.descriptor, bytes.baseAddress, bytes.count) }
        }
        return reader
    }

    var isRunning: Bool { process.isRunning }

    /// Its first line that fits; throws when it ends or stays silent for 30 seconds.
    func line(where fits: (String) -> Bool) async throws -> String {
        guard let line = await process.line(within: .seconds(30), where: fits) else { throw failure() }
        return line
    }

    /// What to say when it did not do what it should.
    func failure() -> DemoError {
        let words = process.errors.split(separator: "\n").suffix(3).joined(separator: " ")
        return DemoError(.child, "\(name) did not work: \(words.isEmpty ? "it said nothing." : words)")
    }
}
