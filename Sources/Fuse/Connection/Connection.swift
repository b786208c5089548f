import CFuse3
import CLinux
import Glibc

/// How libfuse reads requests and writes answers: as it would itself (read(2), writev(2)), but what passes is
/// looked at: requests are counted, and only so can the first answer say more than libfuse 3.14 knows
/// (`fuse_session_custom_io`). It then takes splice(2) for neither way, which nothing here wants.
extension RequestContext {
    /// - Parameter connection: to the kernel, or to who takes its place in tests. It is libfuse's from then on.
    static func connect(_ session: OpaquePointer, to connection: Int32) -> Bool {
        chatfs_fuse_session_read_write(session, connection, read, write) == 0
    }

    private static let read:
        @convention(c) (Int32, UnsafeMutableRawPointer?, Int, UnsafeMutableRawPointer?) -> Int = {
            connection, buffer, size, pointer in
            guard let pointer else { return Glibc.read(connection, buffer, size) }
            let context = Unmanaged<RequestContext>.fromOpaque(pointer).takeUnretainedValue()
            context.nextRequest.pollBriefly(on: connection)
            let count = Glibc.read(connection, buffer, size)
            // What follows leaves errno to libfuse when it is wanted: on failure nothing follows.
            if count > 0 { context.received(UnsafeRawBufferPointer(start: buffer, count: count)) }
            return count
        }

    private static let write:
        @convention(c) (Int32, UnsafeMutablePointer<iovec>?, Int32, UnsafeMutableRawPointer?) -> Int = {
            connection, parts, count, pointer in
            guard let parts, let pointer else { return writev(connection, parts, count) }
            let context = Unmanaged<RequestContext>.fromOpaque(pointer).takeUnretainedValue()
            guard let handshake = context.answered(UnsafeBufferPointer(start: parts, count: Int(count)))
            else { return writev(connection, parts, count) }
            let written = writev(connection, parts, count)
            // The kernel has taken it when the call returns, and has sent nothing else before.
            if written > 0 {
                context.passthrough.begin(on: connection, isOffered: handshake.offersPassthrough)
            }
            return written
        }

    private func received(_ request: UnsafeRawBufferPointer) {
        guard request.count >= MemoryLayout<chatfs_fuse_request>.size else { return }
        let operation = request.loadUnaligned(as: chatfs_fuse_request.self).operation
        counts.note(operation)
        idleMemory.requestCame(counts)
        if operation == Handshake.operation, let handshake = Handshake(request: request) {
            self.handshake.withLock { $0 = handshake }
        }
    }

    /// The handshake when this is its answer, which is then completed, unless libfuse knows all of it.
    private func answered(_ parts: UnsafeBufferPointer<iovec>) -> Handshake? {
        // Nothing is locked and nothing looked at once the mount is at work.
        guard parts.count == 2, parts[1].iov_len == MemoryLayout<chatfs_fuse_agreement>.size,
            let header = parts[0].iov_base?.assumingMemoryBound(to: chatfs_fuse_reply.self),
            let answer = parts[1].iov_base?.assumingMemoryBound(to: chatfs_fuse_agreement.self)
        else { return nil }
        // The lock is not held while it is found out whether the kernel takes files (`Passthrough.begin`).
        return handshake.withLock { handshake in
            guard let known = handshake, known.unique == header.pointee.unique, header.pointee.error == 0
            else { return nil }
            if !chatfs_fuse_names_passthrough() {
                known.complete(&answer.pointee, passthrough: passthrough.isWanted)
            }
            handshake = nil
            return known
        }
    }
}
