import Base
import Cryptography

/// Makes the first part of a request: its number, its encrypted JSON, and the signatures of session and pairing. The
/// attachment, if any, follows.
struct MessageSigner {
    /// The "tls-unique" of the connection, 32 bytes, which precedes every JSON.
    let channelBinding: [UInt8]
    let session: SigningKey
    let identity: SigningKey

    func head(of json: [UInt8], number: UInt32, key: BoxKey) throws(RemoteControlError) -> [UInt8] {
        var plain: [UInt8] = []
        plain.append(byteString: channelBinding)
        plain += json
        var bytes: [UInt8] = []
        bytes.append(bigEndian: number)
        bytes.append(bigEndian: UInt32(plain.count + StreamBox.tagLength))
        var box = try StreamBox.opening(key)
        plain.withUnsafeMutableBytes { box.seal($0) }
        bytes += plain
        bytes += box.tag()
        let signature = session.sign(SHA512.hash(bytes))
        bytes.append(byteString: signature)
        // Over the signed text and the signature, without its length.
        let signed = bytes.dropLast(signature.count + 1) + signature
        bytes.append(byteString: identity.sign(SHA512.hash(Array(signed))))
        return bytes
    }
}

extension StreamBox {
    static func opening(_ key: BoxKey) throws(RemoteControlError) -> StreamBox {
        do throws(CryptographyError) {
            return try StreamBox(key: key.key.bytes, nonce: key.nonce)
        } catch {
            throw RemoteControlError(.malformed, error.sentence, cause: error)
        }
    }
}
