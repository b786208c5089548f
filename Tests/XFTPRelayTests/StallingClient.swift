import Base
import Cryptography
import Glibc
import Posix
import TestSupport
import XFTP

@testable import Network

/// A client that begins as many uploads as it can, sends a little of each and then stalls. It speaks raw HTTP/2 (RFC
/// 9113, 4.1) and ignores the relay's limits.
final class StallingClient {
    private let stream: TLSStream
    private let wakeUp: WakeUp
    private var nextStream: UInt32 = 1
    private static let bound = Duration.seconds(30)

    /// `:method POST`, `:scheme https`, `:path /` from the static table and an authority of one letter.
    private static let fields: [UInt8] = [0x83, 0x87, 0x84, 0x41, 0x01, UInt8(ascii: "h")]

    /// Connects and performs the TLS and relay handshakes.
    /// - Parameter window: The receive window of each response in bytes.
    init(_ address: RelayAddress, window: UInt32 = 65_535) throws {
        wakeUp = try WakeUp()
        let endpoint = Endpoint(host: address.hosts[0], port: address.port)
        let socket = try Socket.connect(
            to: SocketAddress.resolve(endpoint, numericOnly: true), deadline: Deadline(after: Self.bound),
            stop: wakeUp)
        let settings = TLSClientSettings(identityFingerprint: address.fingerprint)
        stream = try TLSStream(context: TLSContext(client: settings), socket: socket, isClient: true)
        let deadline = Deadline(after: Self.bound)
        while try !stream.handshake() {
            guard !deadline.hasPassed else { throw WaitedInVain("no handshake") }
            _ = try stream.socket.wait(for: Int16(POLLIN), until: deadline, stop: wakeUp)
        }
        try say(Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + Self.frame(4, [0, 4] + Self.bytes(window)))
        try request([], isWhole: true)
        try request(ClientHello(version: 3, identity: address.fingerprint).block() ?? [], isWhole: true)
    }

    /// Begins `count` uploads of one chunk with its first `bytes`. At most 49,000 bytes, because each stream's window
    /// is 65,535 until the client confirms the relay's settings.
    func beginUploads(_ count: Int, of chunk: TestChunk, bytes: [UInt8]) throws {
        var transmission = Transmission(
            sessionID: stream.channelBinding, correlationID: [], entityID: chunk.senderID,
            body: XFTPCommand.upload.encoded)
        transmission.signature = chunk.sender.sign(transmission.signedBytes)
        let block = transmission.block() ?? []
        for _ in 0..<count { try request(block + bytes, isWhole: false) }
    }

    /// Requests a chunk.
    func beginDownload(of chunk: TestChunk) throws {
        let key = AgreementKey.generate().publicKey
        var transmission = Transmission(
            sessionID: stream.channelBinding, correlationID: [], entityID: chunk.recipientIDs[0],
            body: XFTPCommand.download(key: key).encoded)
        transmission.signature = chunk.recipients[0].sign(transmission.signedBytes)
        try request(transmission.block() ?? [], isWhole: true)
    }

    private static func bytes(_ number: UInt32) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: number)
        return bytes
    }

    private func request(_ body: [UInt8], isWhole: Bool) throws {
        var bytes = Self.frame(1, flags: 4, stream: nextStream, Self.fields)
        var rest = body[...]
        while rest.count > Block.size {
            bytes += Self.frame(0, stream: nextStream, Array(rest.prefix(Block.size)))
            rest = rest.dropFirst(Block.size)
        }
        bytes += Self.frame(0, flags: isWhole ? 1 : 0, stream: nextStream, Array(rest))
        nextStream += 2
        try say(bytes)
    }

    private static func frame(
        _ type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: UInt32(payload.count) << 8 | UInt32(type))
        bytes.append(flags)
        bytes.append(bigEndian: stream)
        return bytes + payload
    }

    private func say(_ bytes: [UInt8]) throws {
        try bytes.withUnsafeBytes { try stream.write($0) }
        let deadline = Deadline(after: Self.bound)
        while try !stream.flush() {
            guard !deadline.hasPassed else { throw WaitedInVain("no relay is listening") }
            _ = try stream.socket.wait(for: Int16(POLLOUT), until: deadline, stop: wakeUp)
        }
    }
}
