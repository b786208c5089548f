import Glibc

/// Free ports of 127.0.0.1 for programs that need a port to listen on.
public enum LoopbackPort {
    /// Returns a port without a listener, chosen by the kernel, or nil if there is none.
    public static func unused() -> UInt16? {
        guard
            let addresses = try? SocketAddress.resolve(
                Endpoint(host: "127.0.0.1", port: 0), numericOnly: true),
            let port = try? Socket.listen(on: addresses).localPort(), port > 0
        else { return nil }
        return port
    }
}
