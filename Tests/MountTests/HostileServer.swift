import Posix
import TestSupport

/// A server with a relay's own certificates that misbehaves by port, and a port that counts connections. Runs until its
/// input is closed.
final class HostileServer: Sendable {
    enum Way: String, CaseIterable {
        /// Noise instead of TLS.
        case noise
        /// A valid TLS handshake, then noise.
        case noiseInside
        /// A valid HTTP/2 start, then invalid frames.
        case frames
        /// Closes after the TLS handshake.
        case closing
        /// Accepts everything and never replies.
        case silent
        /// No client may connect here.
        case knocked
    }

    private let process: RunningProcess
    private let ports: [Way: String]

    /// - Parameter relayFolder: The folder of a relay that was started before.
    init(relayFolder: String) async throws {
        var settings = ChildProcess.Settings(
            try Shell.find("python3"), ["-c", Self.script, relayFolder] + Way.allCases.map(\.rawValue))
        settings.input = .pipe
        process = try await RunningProcess.start(settings)
        let line = try await process.line("its ports")
        ports = Dictionary(
            uniqueKeysWithValues: zip(Way.allCases, line.split(separator: " ").map(String.init)))
    }

    func port(_ way: Way) -> String { ports[way] ?? "" }

    /// True if a client connected to the forbidden port.
    var wasKnocked: Bool { process.output.contains("knocked") }

    func stop() async throws { try await process.terminate() }

    private static let script = """
        import os, socket, ssl, sys, threading

        folder, ways = sys.argv[1], sys.argv[2:]
        chain = "/dev/shm/chatfs-chain-%d" % os.getpid()
        try:
            with open(chain, "w") as file:
                os.chmod(chain, 0o600)
                for name in ("server.key", "server.crt", "ca.crt"):
                    file.write(open(os.path.join(folder, name)).read() + "\\n")
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.minimum_version = ssl.TLSVersion.TLSv1_3
            context.set_alpn_protocols(["xftp/1"])
            context.load_cert_chain(chain)
        finally:
            os.unlink(chain)

        def frame(kind, payload, stream=0, flags=0):
            return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload

        def serve(way, connection):
            try:
                if way == "knocked":
                    print("knocked", flush=True)
                elif way == "noise":
                    connection.sendall(os.urandom(5000))
                else:
                    connection = context.wrap_socket(connection, server_side=True)
                    if way == "noiseInside":
                        connection.sendall(os.urandom(40000))
                    elif way == "frames":
                        connection.sendall(frame(4, b"") + frame(0, b"x" * 9000, stream=7)
                                           + frame(1, b"\\xff" * 50, stream=1, flags=4) + frame(99, b"?" * 16000))
                    if way != "closing":
                        while connection.recv(65536):
                            pass
            except OSError:
                pass
            connection.close()

        def listen(way, listener):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=serve, args=(way, connection), daemon=True).start()

        ports = []
        for way in ways:
            listener = socket.create_server(("127.0.0.1", 0), backlog=64)
            ports.append(str(listener.getsockname()[1]))
            threading.Thread(target=listen, args=(way, listener), daemon=True).start()
        print(*ports, flush=True)
        sys.stdin.read()
        """
}
