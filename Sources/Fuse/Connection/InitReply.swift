import Base
import CFuse3
import CLinux
import Glibc
import Posix

/// Completes libfuse 3.14's reply to FUSE_INIT (`Handshake`): libfuse replies into a pipe, and the completed reply goes
/// from there to the kernel.
///
/// libfuse writes to its own descriptor number. A thread with a separate descriptor table, in which that number is the
/// pipe, runs libfuse; for all other threads the number remains the connection.
struct InitReply {
    private let session: OpaquePointer
    private let connection: Int32

    /// Size in bytes of libfuse's reply: header and body. Other replies are refusals, or for kernels before 4.2.
    private static let size = MemoryLayout<chatfs_fuse_reply>.size + MemoryLayout<chatfs_fuse_agreement>.size

    init(_ session: OpaquePointer, _ connection: Int32) {
        self.session = session
        self.connection = connection
    }

    /// Answers `request`, from which `handshake` was parsed. Blocks until the kernel has the reply.
    func give(to request: UnsafeMutableRawBufferPointer, _ handshake: Handshake, passthrough: Bool) {
        guard var answer = answer(to: request) else {
            // Before Linux 5.9 threads cannot have separate descriptor tables, and there is nothing to complete.
            return chatfs_fuse_session_process(session, request.baseAddress, request.count)
        }
        answer.withUnsafeMutableBytes { answer in
            Self.complete(answer, handshake, passthrough: passthrough)
            // If the mount ended meanwhile, the next read reports it.
            _ = write(connection, answer.baseAddress, answer.count)
        }
    }

    /// - Parameter answer: The reply with its header. A refusal is left unchanged.
    static func complete(
        _ answer: UnsafeMutableRawBufferPointer, _ handshake: Handshake, passthrough: Bool
    ) {
        guard answer.count == size else { return }
        let header = answer.loadUnaligned(as: chatfs_fuse_reply.self)
        guard header.error == 0, header.unique == handshake.unique else { return }
        let place = MemoryLayout<chatfs_fuse_reply>.size
        var agreement = answer.loadUnaligned(fromByteOffset: place, as: chatfs_fuse_agreement.self)
        handshake.complete(&agreement, passthrough: passthrough)
        answer.storeBytes(of: agreement, toByteOffset: place, as: chatfs_fuse_agreement.self)
    }

    /// Returns nil if libfuse did not run.
    private func answer(to request: UnsafeMutableRawBufferPointer) -> [UInt8]? {
        var ends: [Int32] = [-1, -1]
        guard chatfs_pipe(&ends) == 0 else { return nil }
        defer { for end in ends { close(end) } }
        let isAsked = Monitor<Bool?>(nil)
        // Safe: the thread stops using both before this method returns.
        nonisolated(unsafe) let (session, request) = (session, request)
        do throws(SystemError) {
            try Thread.begin("first-answer") { [connection, into = ends[1]] in
                let isAlone = chatfs_have_alone(connection, into) == 0
                if isAlone { chatfs_fuse_session_process(session, request.baseAddress, request.count) }
                isAsked.change { $0 = isAlone }
            }
        } catch {
            return nil
        }
        guard isAsked.wait(for: { $0 }) else { return nil }
        // libfuse has replied, or never will.
        var end = [pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)]
        guard poll(&end, milliseconds: 0) > 0 else { return nil }
        var answer = [UInt8](repeating: 0, count: 4096)
        let count = read(ends[0], &answer, answer.count)
        return count > 0 ? Array(answer[..<count]) : nil
    }
}
