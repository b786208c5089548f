import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Network

/// A server of blocks of 1,000 bytes with a given behaviour.
struct BlockPlace {
    static let size = 1000

    let server: BlockServer
    let fingerprint: [UInt8]

    init(
        connections: Int = 8, handshake: Duration = .seconds(20), protocols: [String] = ["blocks/1"],
        serve: @escaping @Sendable (BlockServer.Connection) throws -> Void
    ) throws {
        let identity = try NewServerIdentity.make(.ed25519, hostName: "localhost").identity
        server = try BlockServer.start(
            on: Endpoint(host: "127.0.0.1", port: 0),
            tls: TLSServerSettings(identity: identity, applicationProtocols: protocols), size: Self.size,
            connections: connections, handshake: handshake, serve: serve)
        fingerprint = identity.fingerprint
    }

    /// Connects to it. Blocks.
    func connect(
        protocols: [String] = ["blocks/1"], fingerprint: [UInt8]? = nil,
        mayReach: (@Sendable ([UInt8]) -> Bool)? = nil, timeout: Duration = .seconds(60), stop: WakeUp? = nil,
        wakeUp: WakeUp? = nil, host: String = "127.0.0.1"
    ) throws -> BlockStream {
        try BlockStream.connect(
            to: Endpoint(host: host, port: server.endpoint.port),
            tls: TLSClientSettings(
                identityFingerprint: fingerprint ?? self.fingerprint, applicationProtocols: protocols),
            mayReach: mayReach, size: Self.size, timeout: timeout, stop: stop ?? WakeUp(),
            wakeUp: wakeUp ?? WakeUp())
    }

    static func block(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: size) }
}

extension BlockStream {
    /// Returns the next block; throws after a long time.
    func next() throws -> [UInt8] {
        let end = ContinuousClock.now + .seconds(60)
        while true {
            if let block = try receive() { return block }
            guard ContinuousClock.now < end else { throw WaitedInVain("no block came") }
            wait(atMost: .seconds(1))
        }
    }

    /// Returns the error of its end; throws if it does not end.
    func end() throws -> NetworkErrorCode {
        while true {
            do throws(NetworkError) {
                if try receive() == nil { wait(atMost: .seconds(1)) }
            } catch {
                return error.code
            }
        }
    }
}

/// Echoes each block until its client goes.
@Sendable func echo(_ connection: BlockServer.Connection) throws {
    while !connection.isStopping {
        if let block = try connection.stream.receive() {
            try connection.stream.send(block)
        } else {
            connection.stream.wait(atMost: nil)
        }
    }
}
