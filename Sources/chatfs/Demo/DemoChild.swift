import Base
import Glibc
import Posix

/// One `chatfs` started by the demo. In a process group of its own, so that Ctrl-C reaches only the
/// demo, which then stops its children in the right order; told by the kernel to leave when the demo
/// dies in another way.
final class DemoChild: Sendable {
    /// What it is called in messages: "the relay", "the mount of alice".
    let name: String
    private let child: ChildProcess
    private let heard: Lock<(lines: [String], complaints: [String])>

    /// Starts this same program with other arguments.
    static func start(_ name: String, _ arguments: [String]) async throws -> DemoChild {
        var settings = ChildProcess.Settings(try ownPath(), arguments)
        settings.output = .pipe
        settings.errors = .pipe
        settings.ownGroup = true
        settings.parentDeathSignal = SIGTERM
        return DemoChild(name, try await ChildProcess.start(settings))
    }

    /// Runs a short command to its end; its complaint becomes the error.
    static func run(_ name: String, _ arguments: [String]) async throws {
        let child = try await start(name, arguments)
        guard try await child.ended(within: .seconds(60)) == .code(0) else { throw child.failure() }
    }

    private init(_ name: String, _ child: ChildProcess) {
        self.name = name
        self.child = child
        let heard = Lock((lines: [String](), complaints: [String]()))
        self.heard = heard
        for (stream, isOutput) in [(child.output, true), (child.errors, false)] {
            guard let stream else { continue }
            Thread.start("demo-\(isOutput ? "output" : "errors")") {
                LineReader.read(stream) { line in
                    // The last few are enough for a message.
                    heard.withLock {
                        if isOutput { $0.lines.append(line) } else { $0.complaints.append(line) }
                        if $0.complaints.count > 20 { $0.complaints.removeFirst() }
                        if $0.lines.count > 100 { $0.lines.removeFirst() }
                    }
                }
            }
        }
    }

    private static func ownPath() throws(SystemError) -> String {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = try check("find this program") {
            buffer.withUnsafeMutableBytes { bytes in
                readlink(
                    "/proc/self/exe", bytes.baseAddress!.assumingMemoryBound(to: CChar.self), bytes.count)
            }
        }
        return String(decoding: buffer.prefix(count), as: UTF8.self)
    }

    var isRunning: Bool { child.endingIfEnded() == nil }
    var complaints: [String] { heard.withLock { $0.complaints } }

    /// Its first line that fits; throws when it ends or stays silent for 30 seconds.
    func line(where fits: (String) -> Bool) async throws -> String {
        let end = ContinuousClock.now + .seconds(30)
        while true {
            let running = isRunning
            if let line = heard.withLock({ $0.lines.first(where: fits) }) { return line }
            guard running, ContinuousClock.now < end else { throw failure() }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    /// What to say when it did not do what it should.
    func failure() -> DemoError {
        let words = complaints.joined(separator: " ")
        return DemoError(
            .child, "\(name) did not work: \(words.isEmpty ? "it said nothing." : words)")
    }

    func ended(within limit: Duration) async throws -> ChildProcess.Ending {
        guard let ending = await child.ending(within: limit) else {
            throw DemoError(.time, "\(name) took longer than \(limit).")
        }
        return ending
    }

    /// Asks it to leave, waits, and at the end of patience kills it.
    func stop(patience: Duration) async {
        child.send(SIGTERM)
        if await child.ending(within: patience) == nil {
            child.sendToGroup(SIGKILL)
            _ = await child.ending(within: .seconds(5))
        }
    }
}

/// Reads a pipe to its end, line by line, on the calling thread.
enum LineReader {
    static func read(_ file: OpenFile, _ receive: (String) -> Void) {
        var buffer = [UInt8](repeating: 0, count: 4096)
        var line: [UInt8] = []
        while let count = try? check("read a pipe", { Glibc.read(file.descriptor, &buffer, buffer.count) }),
            count > 0
        {
            for byte in buffer.prefix(count) {
                if byte == UInt8(ascii: "\n") {
                    receive(String(decoding: line, as: UTF8.self))
                    line = []
                } else if line.count < 4096 {
                    line.append(byte)
                }
            }
        }
    }
}
