import Base
import Cryptography
import TestSupport
import Testing

@testable import SMP

/// The keys of the published vectors: one repeated byte.
enum Known {
    static func agreement(_ byte: UInt8) throws -> AgreementKey {
        try AgreementKey(rawValue: [UInt8](repeating: byte, count: 32))
    }

    static func signing(_ byte: UInt8) throws -> SigningKey {
        try SigningKey(seed: [UInt8](repeating: byte, count: 32))
    }

    static func x448(_ byte: UInt8) throws -> X448PublicKey {
        try X448Key(rawValue: WipedBytes([UInt8](repeating: byte, count: 56))).publicKey
    }

    static let sessionID = [UInt8](0..<32)
    static let correlationID = [UInt8](100..<124)
    static let recipientID = [UInt8](0..<24)
    static let senderID = [UInt8](24..<48)
    static let messageID = [UInt8](200..<224)
    static let fingerprint = [UInt8](0x20..<0x40)

    static func server(hosts: [String] = ["smp.example.org", "abc.onion"], port: UInt16? = 5223) throws
        -> ServerAddress
    {
        try #require(ServerAddress(fingerprint: fingerprint, hosts: hosts, port: port))
    }

    static func queue(
        mode: QueueMode = .messaging, versions: ClosedRange<UInt16> = 1...4, server: ServerAddress? = nil,
        senderID: [UInt8] = recipientID
    ) throws -> OfferedQueue {
        let address = try #require(
            QueueAddress(
                server: server ?? Self.server(), senderID: senderID, key: agreement(1).publicKey, mode: mode))
        return OfferedQueue(versions: versions, address: address)
    }

    static func offer(kemKey: [UInt8]? = nil) throws -> ConnectionRequest.EncryptionOffer {
        ConnectionRequest.EncryptionOffer(
            versions: 2...3, first: try x448(1), second: try x448(2), kemKey: kemKey)
    }
}

func expect<Result>(
    _ code: SMPErrorCode, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Result
) {
    #expect(sourceLocation: sourceLocation) {
        try body()
    } throws: { ($0 as? SMPError)?.code == code }
}
