import Glibc
import Posix

/// The daemon's side of `WatcherProcess`. The last reference ends the process.
final class CallingProcess: Sendable {
    private let child: ChildProcess
    private let input: OpenFile
    private let output: OpenFile
    /// Signals that no call is to be waited for.
    private let stopping: WakeUp

    var identifier: pid_t { child.identifier }

    /// Starts the process. Blocks until it runs.
    init(stopping: WakeUp) throws(SystemError) {
        child = try ChildProcess.startBlocking(.conversing(WatcherProcess.word))
        guard let input = child.input, let output = child.output else {
            throw SystemError(code: EBADF, operation: "talk to a program")
        }
        (self.input, self.output, self.stopping) = (input, output, stopping)
    }

    /// Duration in milliseconds of a call from which it is slow.
    private static let slowness: Int32 = 500

    /// Makes a call. Returns 0 or its errno; nil if the process has ended or `stopping` was signalled.
    /// - Parameter whenSlow: Called once if the call takes long.
    func make(_ call: MountCall, whenSlow: () -> Void = {}) -> Int32? {
        let bytes = call.encoded
        let length = withUnsafeBytes(of: UInt32(bytes.count)) { Array($0) }
        guard (try? input.send(length + bytes)) != nil else { return nil }
        var requests = [output.descriptor, stopping.descriptor].map {
            pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
        }
        if poll(&requests, milliseconds: Self.slowness) == 0 {
            whenSlow()
            poll(&requests, milliseconds: -1)
        }
        guard requests[1].revents == 0 else { return nil }
        var code: Int32 = 0
        let count = withUnsafeMutableBytes(of: &code) { try? output.receive(into: $0) }
        return count == 4 ? code : nil
    }
}
