import Glibc

/// Ports of 127.0.0.1 for programs that are told where to listen.
public enum LoopbackPort {
    /// A port that nobody listens on at this moment, chosen by the kernel; nil when there is none.
    public static func unused() -> UInt16? {
        guard
            let addresses = try? SocketAddress.resolve(
                Endpoint(host: "127.0.0.1", port: 0), numericOnly: true),
            let port = try? Socket.listen(on: addresses).localPort(), port > 0
        else { return nil }
        return port
    }
}
