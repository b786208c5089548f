import Glibc
import Posix

/// The process that makes calls on the mount, as the thread sees it that has it make them. Ends with the last
/// reference.
final class CallingProcess: Sendable {
    private let child: ChildProcess
    private let input: OpenFile
    private let output: OpenFile
    /// Set when nothing is to be waited for any more.
    private let stopping: WakeUp

    var identifier: pid_t { child.identifier }

    /// Blocks for the time that a program takes to start.
    init(stopping: WakeUp) throws(SystemError) {
        child = try ChildProcess.startBlocking(.conversing(WatcherProcess.word))
        guard let input = child.input, let output = child.output else {
            throw SystemError(code: EBADF, operation: "talk to a program")
        }
        (self.input, self.output, self.stopping) = (input, output, stopping)
    }

    /// Has a call made: 0 or its errno. nil when the process has ended, or nothing is to be waited for any more.
    func make(_ call: MountCall) -> Int32? {
        let bytes = call.encoded
        let length = withUnsafeBytes(of: UInt32(bytes.count)) { Array($0) }
        guard (try? input.send(length + bytes)) != nil else { return nil }
        var requests = [output.descriptor, stopping.descriptor].map {
            pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
        }
        poll(&requests, milliseconds: -1)
        guard requests[1].revents == 0 else { return nil }
        var code: Int32 = 0
        let count = withUnsafeMutableBytes(of: &code) { try? output.receive(into: $0) }
        return count == 4 ? code : nil
    }
}
