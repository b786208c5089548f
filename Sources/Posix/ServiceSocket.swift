import Base
import Glibc

/// The socket on which a service manager listens to this process: the protocol of sd_notify(3), for a unit with
/// `Type=notify`. Any thread. Never waits: a datagram that does not fit is lost.
public final class ServiceSocket: Sendable {
    /// The longest pause between two calls of `alive`, half of the manager's limit; nil if it expects none.
    public let heartbeat: Duration?
    private let socket: OpenFile

    /// The manager named by `NOTIFY_SOCKET`; nil if this process is no such service.
    public static func ofEnvironment() -> ServiceSocket? {
        func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
        guard let path = variable("NOTIFY_SOCKET") else { return nil }
        return ServiceSocket(
            path: path, limit: variable("WATCHDOG_USEC"), process: variable("WATCHDOG_PID"))
    }

    /// - Parameters:
    ///   - path: absolute, or a name with `@` in front in the abstract namespace.
    ///   - limit: the value of `WATCHDOG_USEC`, microseconds.
    ///   - process: the value of `WATCHDOG_PID`; of another process the limit does not count here.
    init?(path: String, limit: String? = nil, process: String? = nil) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var name = Array(path.utf8)
        guard let first = name.first, [UInt8(ascii: "/"), UInt8(ascii: "@")].contains(first),
            name.count < MemoryLayout.size(ofValue: address.sun_path)
        else { return nil }
        if first == UInt8(ascii: "@") { name[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        // An abstract name ends where the address does.
        let length =
            MemoryLayout.size(ofValue: address.sun_family) + name.count + (first == UInt8(ascii: "/") ? 1 : 0)
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        socket = OpenFile(adopting: descriptor)
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(length)) == 0
            }
        }
        guard isConnected else { return nil }
        let isOurs = process.map { Int32($0) == getpid() } ?? true
        heartbeat = isOurs ? limit.flatMap(Int64.init).flatMap { $0 > 0 ? .microseconds($0 / 2) : nil } : nil
    }

    /// Says that the service is up.
    public func ready(_ status: String) { send(["READY=1", Self.status(status)]) }

    /// Changes the line that `systemctl status` shows.
    public func show(_ status: String) { send([Self.status(status)]) }

    /// Postpones the manager's limit.
    public func alive() { send(["WATCHDOG=1"]) }

    /// Says that the service is about to end by itself.
    public func stopping(_ status: String) { send(["STOPPING=1", Self.status(status)]) }

    /// A line break would begin another assignment.
    private static func status(_ text: String) -> String { "STATUS=" + text.replacing("\n", with: " ") }

    private func send(_ assignments: [String]) {
        let bytes = Array((assignments.joined(separator: "\n") + "\n").utf8)
        _ = bytes.withUnsafeBytes {
            Glibc.send(
                socket.descriptor, $0.baseAddress!, $0.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
        }
    }
}
