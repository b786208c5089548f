import CLinux
import FileSystem
import Glibc
import Posix
import TestSupport

@testable import Fuse

/// The kernel's side of a connection without a mount: sends requests and receives replies as bytes through libfuse. One
/// request at a time.
final class SimulatedKernel {
    struct Reply: Equatable {
        /// 0 or an errno.
        var code: Int32
        var bytes: [UInt8]

        static func refused(_ code: Int32) -> Reply { Reply(code: code, bytes: []) }

        /// Reads a protocol number at a byte offset.
        func number<Number: FixedWidthInteger>(at position: Int, as: Number.Type) -> Number {
            bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: position, as: Number.self) }
        }
    }

    let context: RequestContext
    /// libfuse's reply to FUSE_INIT.
    private(set) var agreement = Reply.refused(ENOTCONN)
    let server: RequestServer
    private let connection: Int32
    private static let waiting = ThreadPool(name: "simulated-kernel", threads: 16)
    private var lastUnique: UInt64 = 0

    /// - Parameter flags: Features offered by the kernel.
    init(_ files: any FileOperations, offering flags: UInt32 = .max & ~(1 << 30)) async throws {
        context = RequestContext(files)
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends) == 0 else {
            throw SystemError(code: errno, operation: "make a pair of sockets")
        }
        connection = ends[0]
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        guard let server = RequestServer(context), server.connect(to: ends[1]) else {
            throw WaitedInVain("libfuse takes no requests")
        }
        self.server = server
        Thread.start("fuse") {
            server.run()
            server.closeConnection()
        }
        // struct fuse_init_in of Linux 5.17 and later.
        let offer: [UInt32] = [7, 36, 131_072, flags] + [UInt32](repeating: 0, count: 12)
        agreement = try await ask(26, node: 0, bytes(of: offer))
    }

    /// The server's threads end with the connection.
    deinit { close(connection) }

    /// Sends a request and waits for its reply.
    func ask(_ operation: UInt32, node: UInt64, _ arguments: [UInt8], thread: pid_t = 0) async throws -> Reply
    {
        try await reply(to: send(operation, node: node, arguments, thread: thread))
    }

    /// Sends a request and returns its id.
    @discardableResult
    func send(
        _ operation: UInt32, node: UInt64, _ arguments: [UInt8], thread: pid_t = 0
    ) throws -> UInt64 {
        // Even: odd ids are interrupts.
        lastUnique += 2
        let header = chatfs_fuse_request(
            length: UInt32(40 + arguments.count), operation: operation, unique: lastUnique, node: node,
            user: geteuid(), group: getegid(), process: UInt32(thread), extensions: 0, padding: 0)
        let request = withUnsafeBytes(of: header) { Array($0) } + arguments
        guard Glibc.send(connection, request, request.count, Int32(MSG_NOSIGNAL)) == request.count
        else { throw SystemError(code: errno, operation: "send a request") }
        return lastUnique
    }

    /// Returns the next reply, which must belong to request `unique`.
    func reply(to unique: UInt64) async throws -> Reply {
        let (answered, reply) = try await nextReply()
        guard answered == unique else { throw WaitedInVain("this is the answer to another request") }
        return reply
    }

    /// Returns the next reply with its request id.
    func nextReply() async throws -> (unique: UInt64, reply: Reply) {
        let connection = connection
        // Not on the cooperative pool, which late replies need.
        let (count, buffer) = await Self.waiting.run {
            var buffer = [UInt8](repeating: 0, count: 1 << 18)
            return (recv(connection, &buffer, buffer.count, 0), buffer)
        }
        guard count >= 16 else { throw WaitedInVain("there is no answer (\(count))") }
        let all = Reply(code: 0, bytes: Array(buffer[..<count]))
        guard all.number(at: 0, as: UInt32.self) == UInt32(count) else {
            throw WaitedInVain("an answer says another length than it has")
        }
        let reply = Reply(code: -all.number(at: 4, as: Int32.self), bytes: Array(buffer[16..<count]))
        return (all.number(at: 8, as: UInt64.self), reply)
    }

    /// True if an unexpected reply is available.
    var hasUnexpectedReply: Bool {
        var byte: UInt8 = 0
        return recv(connection, &byte, 1, Int32(MSG_DONTWAIT | MSG_PEEK)) > 0
    }
}

/// Encodes numbers of a request.
func bytes<Number: FixedWidthInteger>(of numbers: [Number]) -> [UInt8] {
    numbers.flatMap { number in withUnsafeBytes(of: number) { Array($0) } }
}

/// Encodes a name of a request.
func bytes(of name: String) -> [UInt8] { Array(name.utf8) + [0] }
