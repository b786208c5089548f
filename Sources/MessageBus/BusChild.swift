import Base
import Glibc
import Posix

/// A process that is on a bus for this one, as the thread sees it that has it speak: this same program, started with a
/// word that says what it is to do, and two pipes of frames (`BusFrame`).
///
/// A process of its own, because libdbus is written in C and meets what others on the bus send, because a bus may be
/// slow to answer, and because what it is taken over for is little: it has no key and no file. It ends with the last
/// reference. One thread at a time.
public final class BusChild: Sendable {
    private struct Reading {
        var frames = BusFrames()
        var hasEnded = false
    }

    private let child: ChildProcess
    private let input: OpenFile
    /// Readable when `receive` has something.
    public let output: OpenFile
    private let reading = Lock(Reading())

    public enum Received: Hashable, Sendable {
        case frame([UInt8])
        case nothing
        /// It has gone, or what it says makes no sense any more.
        case ended
    }

    /// Blocks for the time that a program takes to start.
    ///
    /// - Parameters:
    ///   - word: its first argument.
    ///   - executable: this program.
    ///   - environment: what it needs to find its bus.
    /// - Throws: as `ChildProcess.startBlocking`.
    public init(
        _ word: String, of executable: String = "/proc/self/exe", environment: [String: String] = [:]
    ) throws(SystemError) {
        var settings = ChildProcess.Settings.conversing(word)
        settings.executable = executable
        settings.environment.merge(environment) { _, new in new }
        child = try ChildProcess.startBlocking(settings)
        guard let input = child.input, let output = child.output else {
            throw SystemError(code: EBADF, operation: "talk to a program")
        }
        (self.input, self.output) = (input, output)
    }

    /// False when it does not take it at once: it may be silent, and then nothing waits for it.
    public func send(_ bytes: [UInt8]) -> Bool {
        guard let frame = BusFrame.framed(bytes) else { return false }
        var requests = [pollfd(fd: input.descriptor, events: Int16(POLLOUT), revents: 0)]
        guard poll(&requests, milliseconds: 0) == 1, requests[0].revents == Int16(POLLOUT) else {
            return false
        }
        return (try? input.send(frame)) != nil
    }

    /// What it said. Does not wait.
    public func receive() -> Received {
        reading.withLock { reading in
            while true {
                if let frame = reading.frames.next() { return frame.isEmpty ? .ended : .frame(frame) }
                if reading.hasEnded { return .ended }
                var requests = [pollfd(fd: output.descriptor, events: Int16(POLLIN), revents: 0)]
                guard poll(&requests, milliseconds: 0) == 1 else { return .nothing }
                var buffer = [UInt8](repeating: 0, count: 4096)
                let count = read(output.descriptor, &buffer, buffer.count)
                if count > 0 {
                    reading.frames.add(buffer[..<count])
                } else {
                    reading.hasEnded = count == 0 || errno != EINTR
                }
            }
        }
    }
}
