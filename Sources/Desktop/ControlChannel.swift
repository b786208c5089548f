import Base
import Glibc
import Posix

/// One end of a control connection, which carries lines of text. Used by one thread at a time. Each call blocks until
/// it is done or the peer was silent for `timeout`.
final class ControlChannel: Sendable {
    /// Maximum length of a line in bytes. Most lines are much shorter; a file's link may contain a whole description.
    static let maxLineLength = 1 << 20

    private let socket: OpenFile
    private let timeout: Duration
    /// Bytes read beyond the last line.
    private let pending = Lock<[UInt8]>([])

    /// - Parameter socket: A connected, nonblocking socket.
    init(_ socket: OpenFile, timeout: Duration) {
        self.socket = socket
        self.timeout = timeout
    }

    /// Shuts the connection down for both sides; a waiting call throws `.noAnswer`. Thread-safe.
    func hangUp() { shutdown(socket.descriptor, Int32(SHUT_RDWR)) }

    /// True if the peer hung up.
    var isAbandoned: Bool { isAbandoned(within: .zero) }

    /// Waits at most this time; returns true if the peer hung up.
    func isAbandoned(within time: Duration) -> Bool {
        var requests = [pollfd(fd: socket.descriptor, events: 0, revents: 0)]
        let milliseconds = Int32(clamping: Int64(time / .milliseconds(1)))
        poll(&requests, milliseconds: milliseconds)
        return requests[0].revents & Int16(POLLHUP) != 0
    }

    /// Waits at most this time; returns true if input or the end of the connection is available.
    func hasLine(within time: Duration) -> Bool {
        if pending.withLock({ $0.contains(UInt8(ascii: "\n")) }) { return true }
        var requests = [pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)]
        return poll(&requests, milliseconds: Int32(clamping: Int64(time / .milliseconds(1)))) > 0
    }

    /// Waits until input or the end of the connection is available, or `descriptor` is readable.
    /// - Parameter time: Maximum time; nil for no limit.
    func waitForLine(
        beside descriptor: Int32?, within time: Duration? = nil
    ) -> (isReadable: Bool, isWoken: Bool) {
        let isHere = pending.withLock { $0.contains(UInt8(ascii: "\n")) }
        var requests = [pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)]
        if let descriptor { requests.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)) }
        let limit = time.map { Int32(clamping: Int64($0 / .milliseconds(1))) } ?? -1
        poll(&requests, milliseconds: isHere ? 0 : limit)
        return (isHere || requests[0].revents != 0, requests.count > 1 && requests[1].revents != 0)
    }

    /// Reads a line and strips its newline.
    /// - Parameter timeout: Overrides the channel's timeout.
    func readLine(timeout: Duration? = nil) throws(DesktopError) -> [UInt8] {
        var bytes = pending.withLock { $0 }
        var searched = 0
        while true {
            if let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                guard end < Self.maxLineLength else { throw DesktopError.malformed }
                pending.withLock { $0 = Array(bytes[(end + 1)...]) }
                return Array(bytes[..<end])
            }
            searched = bytes.count
            guard bytes.count < Self.maxLineLength else { throw DesktopError.malformed }
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = try buffer.withUnsafeMutableBufferPointer { (buffer) throws(DesktopError) in
                try receive(UnsafeMutableRawBufferPointer(buffer), timeout ?? self.timeout)
            }
            bytes += buffer[..<count]
        }
    }

    func writeLine(_ line: [UInt8]) throws(DesktopError) {
        try writeBytes(line + [UInt8(ascii: "\n")])
    }

    func writeBytes(_ bytes: [UInt8]) throws(DesktopError) {
        try bytes.withUnsafeBufferPointer { (bytes) throws(DesktopError) in
            try write(UnsafeRawBufferPointer(bytes))
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(DesktopError) {
        var done = 0
        while done < bytes.count {
            // MSG_NOSIGNAL: SIGPIPE would end this process.
            let count = Glibc.send(
                socket.descriptor, bytes.baseAddress! + done, bytes.count - done, Int32(MSG_NOSIGNAL)
            )
            if count >= 0 { done += count } else { try waitOrFail(for: POLLOUT, timeout) }
        }
    }

    /// Fills the buffer with raw bytes; for channels without lines.
    func fill(_ buffer: UnsafeMutableRawBufferPointer) throws(DesktopError) {
        var filled = 0
        while filled < buffer.count {
            filled += try receive(UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]), timeout)
        }
    }

    private func receive(
        _ buffer: UnsafeMutableRawBufferPointer, _ timeout: Duration
    ) throws(DesktopError) -> Int {
        while true {
            let count = recv(socket.descriptor, buffer.baseAddress!, buffer.count, 0)
            if count > 0 { return count }
            if count == 0 { throw DesktopError.hungUp }
            try waitOrFail(for: POLLIN, timeout)
        }
    }

    /// Waits after a call returned -1, or throws its error.
    private func waitOrFail(for event: Int32, _ timeout: Duration) throws(DesktopError) {
        let code = errno
        if code == EINTR { return }
        guard code == EAGAIN || code == EWOULDBLOCK else {
            if [EPIPE, ECONNRESET].contains(code) { throw DesktopError.hungUp }
            throw DesktopError(SystemError(code: code, operation: "talk to the mount's process"))
        }
        var requests = [pollfd(fd: socket.descriptor, events: Int16(event), revents: 0)]
        let milliseconds = Int32(clamping: timeout.components.seconds * 1000)
        if poll(&requests, milliseconds: milliseconds) == 0 { throw DesktopError.silent }
    }
}
