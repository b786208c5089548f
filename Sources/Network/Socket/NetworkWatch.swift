import Base
import Glibc
import Posix

/// Reports changes of this machine's addresses and routes from netlink(7), on its own thread. Existing connections may
/// then be dead, and unreachable servers reachable.
public final class NetworkWatch: Sendable {
    private let stop: WakeUp

    /// - Parameter changed: Called on that thread, once for simultaneous changes. Must not block.
    /// - Throws: If the system has no such socket, descriptor or thread.
    public init(_ changed: @escaping @Sendable () -> Void) throws(SystemError) {
        stop = try WakeUp()
        let socket = try Self.socket()
        try Thread.begin("network-watch") { [stop] in Self.run(socket, stop, changed) }
    }

    deinit { stop.notify() }

    /// Stops the reports.
    public func end() { stop.notify() }

    // MARK: - The socket

    /// `struct sockaddr_nl` and the numbers of linux/netlink.h and linux/rtnetlink.h.
    private enum Kernel {
        static let family: Int32 = 16
        static let route: Int32 = 0
        static let addressGroups: UInt32 = 0x10 | 0x100
        static let routeGroups: UInt32 = 0x40 | 0x400
        static let newAddress: UInt16 = 20
        static let deletedAddress: UInt16 = 21
        static let newRoute: UInt16 = 24
        static let deletedRoute: UInt16 = 25
    }

    private static func socket() throws(SystemError) -> OpenFile {
        let type = Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let socket = OpenFile(
            adopting: try check("watch the network") { Glibc.socket(Kernel.family, type, Kernel.route) })
        // Family, padding, process (0: the kernel chooses), groups.
        var address = (UInt16(Kernel.family), UInt16(0), UInt32(0), Kernel.addressGroups | Kernel.routeGroups)
        try check("watch the network") {
            withUnsafeMutableBytes(of: &address) { bytes in
                bind(
                    socket.descriptor, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self),
                    socklen_t(bytes.count))
            }
        }
        return socket
    }

    private static func run(_ socket: OpenFile, _ stop: WakeUp, _ changed: @Sendable () -> Void) {
        var buffer = [UInt8](repeating: 0, count: 32 << 10)
        while true {
            var requests = [socket.descriptor, stop.descriptor].map {
                pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
            }
            poll(&requests, milliseconds: -1)
            if requests[1].revents != 0 { return }
            var hasChanged = false
            while true {
                let count = buffer.withUnsafeMutableBytes {
                    recv(socket.descriptor, $0.baseAddress, $0.count, 0)
                }
                if count > 0 {
                    hasChanged = hasChanged || tellsOfChange(buffer[..<count])
                } else if count < 0, errno == ENOBUFS {
                    // More changes than the kernel could queue.
                    hasChanged = true
                } else if count < 0, errno == EINTR {
                    continue
                } else {
                    break
                }
            }
            if hasChanged { changed() }
        }
    }

    /// Returns whether one of the messages is about an address, a default route or a network route.
    ///
    ///     each: length Word32 · kind Word16 · flags Word16 · number Word32 · process Word32 · by kind, to the length;
    ///     the next begins at a multiple of 4; numbers in the byte order of the machine
    static func tellsOfChange(_ bytes: ArraySlice<UInt8>) -> Bool {
        var rest = bytes
        while rest.count >= 16 {
            let header = Array(rest.prefix(6))
            let length = (0..<4).reduce(0) { $0 | Int(header[$1]) << (8 * $1) }
            let kind = UInt16(header[4]) | UInt16(header[5]) << 8
            guard length >= 16, length <= rest.count else { return false }
            switch kind {
            case Kernel.newAddress, Kernel.deletedAddress, Kernel.newRoute, Kernel.deletedRoute: return true
            default: rest = rest.dropFirst((length + 3) & ~3)
            }
        }
        return false
    }
}
