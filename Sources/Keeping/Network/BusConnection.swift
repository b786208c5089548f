import Base
import Glibc
import Posix

/// A connection to a message bus (D-Bus Specification, "Authentication Protocol": EXTERNAL). One thread at a time.
final class BusConnection: Sendable {
    private struct State {
        var serial: UInt32 = 0
        /// The newest call whose answer is wanted.
        var awaited: UInt32?
        var pending: [UInt8] = []
    }

    private static let timeout: Int32 = 1000
    private let socket: OpenFile
    private let state = Lock(State())

    var descriptor: Int32 { socket.descriptor }
    var isAwaiting: Bool { state.withLock { $0.awaited != nil } }

    /// Connects, says who asks, and is known to the bus. Blocks, for some seconds at most.
    init(_ path: String) throws {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        socket = OpenFile(adopting: try check("make a socket") { Glibc.socket(AF_UNIX, type, 0) })
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw KeepingError(.bus, "The path of the system bus is too long.")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        try check("reach the system bus") {
            withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(socket.descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
        }
        let user = String(geteuid()).utf8.map { Hexadecimal.encode([$0]) }.joined()
        try send([0] + Array("AUTH EXTERNAL \(user)\r\n".utf8))
        guard try line().hasPrefix("OK ") else {
            throw KeepingError(.bus, "The system bus does not let this user in.")
        }
        try send(Array("BEGIN\r\n".utf8))
        try call(
            "Hello", of: "org.freedesktop.DBus", at: "/org/freedesktop/DBus",
            destination: "org.freedesktop.DBus")
    }

    func call(
        _ member: String, of interface: String, at path: String, destination: String,
        _ arguments: [String] = [], isAwaited: Bool = false
    ) throws {
        let serial = state.withLock { state in
            state.serial += 1
            if isAwaited { state.awaited = state.serial }
            return state.serial
        }
        try send(
            BusMessage.call(
                member, of: interface, at: path, destination: destination, serial: serial, arguments))
    }

    /// Whether this answers the newest call whose answer is wanted.
    func takeAwaited(_ message: BusMessage) -> Bool {
        state.withLock { state in
            guard let awaited = state.awaited, message.replySerial == awaited else { return false }
            state.awaited = nil
            return true
        }
    }

    /// What has come so far.
    func receive() throws -> [BusMessage] {
        var messages: [BusMessage] = []
        var pending = state.withLock { $0.pending }
        defer { state.withLock { $0.pending = pending } }
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(socket.descriptor, &buffer, buffer.count)
            if count < 0, errno == EAGAIN || errno == EINTR { break }
            guard count > 0 else { throw KeepingError(.bus, "The system bus has ended the connection.") }
            pending += buffer[..<count]
            while pending.count >= 16 {
                let length = try BusMessage.length(of: pending)
                guard pending.count >= length else { break }
                messages.append(try BusMessage(Array(pending[..<length])))
                pending.removeFirst(length)
            }
        }
        return messages
    }

    // MARK: - Steps

    private func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(
                    socket.descriptor, $0.baseAddress! + sent, bytes.count - sent,
                    Int32(MSG_NOSIGNAL))
            }
            if count > 0 {
                sent += count
            } else if errno == EAGAIN {
                try wait(for: POLLOUT)
            } else if errno != EINTR {
                throw SystemError(code: errno, operation: "write to the system bus")
            }
        }
    }

    /// A line of the authentication; nothing that follows it is read.
    private func line() throws -> String {
        var bytes: [UInt8] = []
        while bytes.last != UInt8(ascii: "\n"), bytes.count < 4096 {
            var byte: UInt8 = 0
            let count = read(socket.descriptor, &byte, 1)
            if count == 1 {
                bytes.append(byte)
            } else if count < 0, errno == EAGAIN {
                try wait(for: POLLIN)
            } else if count == 0 || errno != EINTR {
                throw KeepingError(.bus, "The system bus has ended the connection.")
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func wait(for events: Int32) throws {
        var requests = [pollfd(fd: socket.descriptor, events: Int16(events), revents: 0)]
        guard poll(&requests, milliseconds: Self.timeout) > 0 else {
            throw KeepingError(.bus, "The system bus does not answer.")
        }
    }
}
