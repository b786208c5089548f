import Glibc

@testable import Network

extension RawClient {
    /// Bounds what the kernel keeps for this client, which otherwise grows to tens of megabytes.
    func boundReceiveBuffer() {
        var size: Int32 = 65_536
        setsockopt(
            stream.stream.socket.descriptor, SOL_SOCKET, SO_RCVBUF, &size,
            socklen_t(MemoryLayout<Int32>.size))
    }
}
