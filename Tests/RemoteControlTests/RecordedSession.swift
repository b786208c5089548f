import Base
import Network
import TestSupport
import Testing

@testable import Cryptography
@testable import RemoteControl

/// A session of an independent controller with the official program, with all keys.
struct RecordedSession {
    let vector: VectorValue

    /// The pairing, and a second session over an announcement.
    static func all() throws -> [RecordedSession] {
        let first = try VectorValue.file("vectors", in: "xrcp")
        return [RecordedSession(vector: first), RecordedSession(vector: try first["reconnect"])]
    }

    var session: SigningKey { get throws { try SigningKey(seed: vector["sessKey"].bytes) } }
    var identity: SigningKey { get throws { try SigningKey(seed: vector["idKey"].bytes) } }
    var agreement: AgreementKey { get throws { try AgreementKey(rawValue: vector["dhKey"].bytes) } }
    var channelBinding: [UInt8] { get throws { try vector["tlsUnique"].bytes } }
    var phoneAuthority: [UInt8] {
        get throws { try #require(Base64URL.decode(vector["hostFingerprint"].text)) }
    }

    static let versions = AppVersionRange(AppVersion("6.4.4.2")!, AppVersion("6.4.5.1")!)!

    var invitation: Invitation {
        get throws {
            let text = try vector["invitation"].text
            let place = try #require(text.firstMatch(of: /@([^:]+):(\d+)#.*&ts=(\d+)&/))
            return Invitation(
                authority: SHA256.hash(try vector["caCert"].bytes), host: String(place.1),
                port: try #require(UInt16(place.2)), versions: Self.versions,
                name: DeviceName("ChatFS proof"), time: try #require(Int64(place.3)),
                agreementKey: try agreement.publicKey)
        }
    }

    func phoneHello() throws -> PhoneHello {
        try PhoneHello(
            vector["hostHello"]["block"].bytes, key: agreement, authority: phoneAuthority,
            versions: Self.versions)
    }

    /// With the recorded ciphertext.
    func controllerHello() throws -> ControllerHello {
        let ciphertext = try vector["ctrlHello"]["kemCiphertext"].bytes
        let secret = WipedBytes(try vector["ctrlHello"]["kemShared"].bytes)
        return try ControllerHello(answering: phoneHello()) { _ throws(CryptographyError) in
            Sntrup761.Encapsulation(ciphertext: ciphertext, secret: secret)
        }
    }

    func sealer() throws -> RequestSealer {
        RequestSealer(
            try controllerHello().sending,
            signer: MessageSigner(
                channelBinding: try channelBinding, session: try session, identity: try identity))
    }
}

/// The parts of an answer.
struct CollectedAnswer {
    var json: [UInt8] = []
    var size: UInt64?
    var content: [UInt8] = []

    /// Reads an answer in pieces of this size.
    init(
        _ bytes: [UInt8], channelBinding: [UInt8], pieces: Int = .max,
        keys: (UInt32) throws -> MessageKeys
    ) throws {
        var reader = ResponseReader(channelBinding: channelBinding)
        var start = 0
        while start < bytes.count {
            let end = start + min(pieces, bytes.count - start)
            try bytes[start..<end].withUnsafeBytes { piece in
                try reader.receive(piece, keys: keys) { part in
                    switch part {
                    case .json(let text): json = text
                    case .attachment(let size): self.size = size
                    case .content(let bytes): content += bytes
                    }
                }
            }
            start = end
        }
        try reader.finish()
    }
}
