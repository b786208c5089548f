import Base
import CFuse3
import CLinux
import Glibc
import Posix

/// Completes what libfuse 3.14 answers to the first request (`Handshake`): libfuse answers into a pipe, and the answer
/// goes to the kernel from there.
///
/// libfuse writes to the number of its descriptor. A thread with descriptors of its own, in which that number is the
/// pipe, has it do so while the number stays the connection for all others.
struct FirstAnswer {
    private let session: OpaquePointer
    private let connection: Int32

    /// As libfuse makes it: a header, then what is agreed. Any other is a refusal, or for kernels before 4.2.
    private static let size = MemoryLayout<chatfs_fuse_reply>.size + MemoryLayout<chatfs_fuse_agreement>.size

    init(_ session: OpaquePointer, _ connection: Int32) {
        self.session = session
        self.connection = connection
    }

    /// Answers `request`, which `handshake` was made of. Blocks until the kernel has the answer.
    func give(to request: UnsafeMutableRawBufferPointer, _ handshake: Handshake, passthrough: Bool) {
        guard var answer = answer(to: request) else {
            // Before Linux 5.9 threads have no descriptors of their own, and nothing is to be completed.
            return chatfs_fuse_session_process(session, request.baseAddress, request.count)
        }
        answer.withUnsafeMutableBytes { answer in
            Self.complete(answer, handshake, passthrough: passthrough)
            // If the mount has gone meanwhile, the next read says so.
            _ = write(connection, answer.baseAddress, answer.count)
        }
    }

    /// - Parameter answer: with the header. One that agrees to nothing stays as it is.
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

    /// nil when libfuse was not asked.
    private func answer(to request: UnsafeMutableRawBufferPointer) -> [UInt8]? {
        var ends: [Int32] = [-1, -1]
        guard chatfs_pipe(&ends) == 0 else { return nil }
        defer { for end in ends { close(end) } }
        let isAsked = Monitor<Bool?>(nil)
        // Safe: the thread has ended with both before this returns.
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
        // It has answered, or never will.
        var end = [pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)]
        guard poll(&end, milliseconds: 0) > 0 else { return nil }
        var answer = [UInt8](repeating: 0, count: 4096)
        let count = read(ends[0], &answer, answer.count)
        return count > 0 ? Array(answer[..<count]) : nil
    }
}
