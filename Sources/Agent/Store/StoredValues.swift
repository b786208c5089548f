import Base
import Cryptography
import Ratchet
import SMP
import Store

extension ConnectionCondition.Phase: SQLBindable {}
extension RatchetSyncPhase: SQLBindable {}
extension ReceivingQueue.Status: SQLBindable {}
extension SendingQueue.Use: SQLBindable {}
extension Outgoing.Kind: SQLBindable {}
extension QueueMode: SQLBindable {}

/// Stored private keys of an agreement: two X448 keys of 56 bytes, and optionally the KEM's public key (1158
/// bytes) and secret key (1763 bytes).
extension AgreementKeys {
    var stored: [UInt8] {
        var bytes = first.rawValue.bytes + second.rawValue.bytes
        if let kem { bytes += kem.publicKey + kem.secretKey.bytes }
        return bytes
    }

    init(stored bytes: [UInt8]) throws {
        var reader = ByteReader(bytes)
        guard let first = reader.bytes(X448Key.length), let second = reader.bytes(X448Key.length) else {
            throw AgentError.damagedState
        }
        var kem: KEMKey?
        if reader.remaining > 0 {
            guard let publicKey = reader.bytes(KEMLength.publicKey),
                let key = KEMKey(publicKey: publicKey, secretKey: WipedBytes(reader.rest()))
            else { throw AgentError.damagedState }
            kem = key
        }
        self.init(
            first: try X448Key(rawValue: WipedBytes(first)),
            second: try X448Key(rawValue: WipedBytes(second)),
            kem: kem)
    }
}

extension AgreementParameters {
    init(stored bytes: [UInt8]) throws {
        var reader = ByteReader(bytes)
        try self.init(from: &reader)
    }
}

extension ServerAddress {
    init(stored text: String) throws {
        guard let server = ServerAddress(text) else { throw AgentError.damagedState }
        self = server
    }
}

extension [UInt8] {
    /// Splits into pieces of `length` bytes. Drops an incomplete last piece.
    func pieces(of length: Int) -> [[UInt8]] {
        stride(from: 0, to: count - count % length, by: length).map { Array(self[$0..<$0 + length]) }
    }
}
