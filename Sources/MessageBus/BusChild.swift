import Base
import Glibc
import Posix

/// The parent's side of a child process that talks to a bus: this program, started with a word for its task,
/// and two pipes of frames (`BusFrame`).
///
/// A separate process, because libdbus is C code that parses messages of untrusted senders, and because a bus
/// may respond slowly. The child holds no keys and no files. It ends with the last reference. One thread at a
/// time.
public final class BusChild: Sendable {
    private struct Reading {
        var frames = BusFrames()
        var hasEnded = false
    }

    private let child: ChildProcess
    private let input: OpenFile
    /// Readable if `receive` has a frame or the child has ended.
    public let output: OpenFile
    private let reading = Lock(Reading())

    public enum Received: Hashable, Sendable {
        case frame([UInt8])
        case nothing
        /// The child ended or sent invalid frames.
        case ended
    }

    /// Starts the child. Blocks until the program has started.
    ///
    /// - Parameters:
    ///   - word: Its first argument.
    ///   - executable: The path of this program.
    ///   - environment: Variables that locate the bus.
    /// - Throws: The errors of `ChildProcess.startBlocking`.
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

    /// Sends a frame. Returns false if the child does not accept it at once.
    public func send(_ bytes: [UInt8]) -> Bool {
        guard let frame = BusFrame.framed(bytes) else { return false }
        var requests = [pollfd(fd: input.descriptor, events: Int16(POLLOUT), revents: 0)]
        guard poll(&requests, milliseconds: 0) == 1, requests[0].revents == Int16(POLLOUT) else {
            return false
        }
        return (try? input.send(frame)) != nil
    }

    /// Returns the next frame without waiting.
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
