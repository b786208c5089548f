import Base
import Network
import Testing

/// A server whose behaviour depends on the first byte of a request: `e` echoes, `r` refuses at the first byte, `s`
/// never answers, and `x` fails. `n` returns as many bytes as the next eight say, `c` the number of received bytes.
struct TalkingServer: HTTP2ServerHandler {
    let abandoned = Lock(0)
    let bindings = Lock<[[UInt8]]>([])

    func connected(channelBinding: [UInt8], from peer: PeerAddress) -> any ServerConnectionHandler {
        bindings.withLock { $0.append(channelBinding) }
        return Connection(server: self)
    }

    final class Connection: ServerConnectionHandler {
        let server: TalkingServer
        init(server: TalkingServer) { self.server = server }
        func requestBegan() -> any ServerExchange { Exchange(server: server) }
    }

    final class Exchange: ServerExchange {
        let server: TalkingServer
        var first: UInt8?
        var kept: [UInt8] = []
        var count = 0

        init(server: TalkingServer) { self.server = server }

        func receive(_ bytes: UnsafeRawBufferPointer) throws -> (any BodySource)? {
            let isFirst = first == nil
            first = first ?? bytes.first
            count += bytes.count
            switch first {
            case UInt8(ascii: "r"): return isFirst ? BytesBody(Array("no".utf8)) : nil
            case UInt8(ascii: "x"): throw NetworkError(.body, "The test wanted it so.")
            case UInt8(ascii: "c"): return nil
            default:
                kept.append(contentsOf: bytes)
                return nil
            }
        }

        func finish() throws -> any BodySource {
            switch first {
            case UInt8(ascii: "e"): return BytesBody(kept)
            case UInt8(ascii: "n"):
                return Zeros(length: kept.dropFirst().prefix(8).reduce(0) { $0 << 8 | Int($1) })
            case UInt8(ascii: "s"): return Silence()
            case UInt8(ascii: "c"): return BytesBody(Array("\(count)".utf8))
            default: return BytesBody([])
            }
        }

        func abandon() { server.abandoned.withLock { $0 += 1 } }
    }
}

/// A body of zeros without memory.
final class Zeros: BodySource {
    let length: Int
    init(length: Int) { self.length = length }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
        buffer.initializeMemory(as: UInt8.self, repeating: 0)
        return buffer.count
    }
}

/// An announced body whose source waits on its gate: the connection stays silent.
final class Silence: BodySource {
    let length = 1
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int {
        throw NetworkError(.body, "Nothing to say.")
    }
}

/// Counts received bytes.
final class CountingSink: BodySink {
    private let counted = Lock(0)
    var count: Int { counted.withLock { $0 } }
    func receive(_ bytes: UnsafeRawBufferPointer) { counted.withLock { $0 += bytes.count } }
}

/// A running server and its address.
struct Place: Sendable {
    let handler: TalkingServer
    let server: HTTP2Server
    let fingerprint: [UInt8]

    static func open(
        _ kind: CertificateKind = .ed25519, limits: HTTP2ServerLimits = .init()
    ) throws -> Place {
        let identity = try NewServerIdentity.make(kind, hostName: "localhost").identity
        let handler = TalkingServer()
        let server = try HTTP2Server.start(
            on: Endpoint(host: "127.0.0.1", port: 0), tls: TLSServerSettings(identity: identity),
            limits: limits, handler: handler)
        return Place(handler: handler, server: server, fingerprint: identity.fingerprint)
    }

    func connect(timeout: Duration = .seconds(20)) async throws -> HTTP2Client {
        try await HTTP2Client.connect(
            to: server.endpoint, tls: TLSClientSettings(identityFingerprint: fingerprint), timeout: timeout)
    }

    func connect(fingerprint: [UInt8]) async throws -> HTTP2Client {
        try await HTTP2Client.connect(
            to: server.endpoint, tls: TLSClientSettings(identityFingerprint: fingerprint),
            timeout: .seconds(20))
    }
}

extension HTTP2Client {
    /// Returns the whole answer to a request.
    func ask(_ bytes: [UInt8], deadline: Duration = .seconds(60)) async throws -> [UInt8] {
        let answer = CollectedBody(limit: 64 << 20)
        try await send(BytesBody(bytes), to: answer, deadline: deadline)
        return answer.bytes
    }
}

/// Returns the error code of `body`.
func failure<Result>(of body: () async throws -> Result) async -> NetworkErrorCode? {
    do {
        _ = try await body()
        return nil
    } catch {
        return (error as? NetworkError)?.code
    }
}

/// Reads as the tests' server does.
func count(_ count: Int) -> [UInt8] {
    var bytes = [UInt8(ascii: "n")]
    bytes.append(bigEndian: UInt64(count))
    return bytes
}
