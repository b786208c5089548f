import Base
import Cryptography

/// How a ratchet is stored. Everything is big endian and of fixed length; `?` is `0`, or `1` and the value.
///
///     format 1 Word16 · version Word16 · highest version Word16
///     space for the KEM T/F · KEM wanted T/F · associated data 112
///     own X448 key: private 56, public 56 · root 32
///     next sending header key 32 · next receiving header key 32 · messages of the previous sending chain Word32
///     ? sending chain: header key 32, chain key 32, next number Word32
///     ? receiving chain: chain key 32, chain
///     Word16 number of chains that were left, oldest first · those chains
///     sending protected by the KEM T/F · receiving T/F · ? KEM keys: public 1158, secret 1763, ? ciphertext 1039
///     chain: header key 32 · next number Word32 · forgotten below Word32 · Word16 number of keys
///            · those by rising number: number Word32, key 32, nonce 16
///
/// A later format gets another number, and this one stays readable.
extension Ratchet {
    private static let format: UInt16 = 1
    /// The longest state that can be: about 120 kB.
    static let maxEncodedLength =
        4096 + 4 * KEMLength.secretKey + (SkippedKeys.maxChains + 1) * 42 + SkippedKeys.maxCount * 52

    /// The state, all of it secret: to be sealed where it is stored.
    public var encoded: WipedBytes {
        let keys = retired.reduce(receiving?.chain.skipped.count ?? 0) { $0 + $1.skipped.count }
        var bytes: [UInt8] = []
        // Once and for all: what is moved while it grows would leave a copy behind.
        bytes.reserveCapacity(512 + 4000 + (retired.count + 1) * 42 + keys * 52)
        bytes.append(bigEndian: Self.format)
        bytes.append(bigEndian: version)
        bytes.append(bigEndian: maxVersion)
        bytes.append(bool: supportsPostQuantum)
        bytes.append(bool: wantsPostQuantum)
        bytes += associatedData
        bytes.append(own.rawValue)
        bytes += own.publicKey.rawValue
        bytes.append(root)
        bytes.append(nextSendingHeaderKey)
        bytes.append(nextReceivingHeaderKey)
        bytes.append(bigEndian: previousCount)
        bytes.append(optional: sending) { bytes, chain in
            bytes.append(chain.headerKey)
            bytes.append(chain.key)
            bytes.append(bigEndian: chain.next)
        }
        bytes.append(optional: receiving) { bytes, open in
            bytes.append(open.key)
            bytes.append(open.chain)
        }
        bytes.append(bigEndian: UInt16(retired.count))
        for chain in retired { bytes.append(chain) }
        bytes.append(bool: postQuantum.protectsSending)
        bytes.append(bool: postQuantum.protectsReceiving)
        bytes.append(optional: postQuantum.own) { bytes, key in
            bytes += key.publicKey
            bytes.append(key.secretKey)
            bytes.append(optional: postQuantum.ciphertext) { $0 += $1 }
        }
        return WipedBytes(taking: &bytes)
    }

    /// Reads what `encoded` wrote.
    /// - Throws: `.invalidState` for anything else, whatever it is.
    public init(decoding stored: WipedBytes) throws(RatchetError) {
        guard stored.count <= Self.maxEncodedLength else { throw .invalidState }
        var reader = ByteReader(stored.bytes)
        guard let ratchet = Self(from: &reader), reader.remaining == 0 else { throw .invalidState }
        self = ratchet
    }

    private init?(from reader: inout ByteReader) {
        guard reader.integer(UInt16.self) == Self.format, let version = reader.integer(UInt16.self),
            let maxVersion = reader.integer(UInt16.self), RatchetVersion.supported.contains(version),
            RatchetVersion.supported.contains(maxVersion), version <= maxVersion,
            let supportsPostQuantum = reader.bool(), let wantsPostQuantum = reader.bool(),
            let associatedData = reader.bytes(2 * X448PublicKey.length), let own = reader.x448Pair(),
            let root = reader.secret(32), let nextSendingHeaderKey = reader.secret(32),
            let nextReceivingHeaderKey = reader.secret(32), let previousCount = reader.integer(UInt32.self),
            let sending = reader.optional({ $0.sendingChain() }),
            let receiving = reader.optional({ $0.openChain() }), let retired = reader.retiredChains(),
            let postQuantum = reader.postQuantumState()
        else { return nil }
        // A KEM is in no state without space for it, and there are never more keys than the limits allow.
        let keys = retired.reduce(receiving?.chain.skipped.count ?? 0) { $0 + $1.skipped.count }
        guard keys <= SkippedKeys.maxCount, supportsPostQuantum || postQuantum.own == nil else { return nil }
        self.init(
            version: version, maxVersion: maxVersion, supportsPostQuantum: supportsPostQuantum,
            wantsPostQuantum: wantsPostQuantum, associatedData: associatedData, own: own, root: root,
            sending: sending, receiving: receiving, nextSendingHeaderKey: nextSendingHeaderKey,
            nextReceivingHeaderKey: nextReceivingHeaderKey, previousCount: previousCount,
            postQuantum: postQuantum, retired: retired)
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ chain: ReceivingChain) {
        append(chain.headerKey)
        append(bigEndian: chain.next)
        append(bigEndian: chain.forgottenBelow)
        append(bigEndian: UInt16(chain.skipped.count))
        for (number, key) in chain.skipped {
            append(bigEndian: number)
            append(key.key)
            self += key.nonce
        }
    }
}

extension ByteReader {
    fileprivate mutating func x448Pair() -> X448Key? {
        guard let secret = secret(X448Key.length), let raw = bytes(X448PublicKey.length),
            let publicKey = X448PublicKey(rawValue: raw)
        else { return nil }
        return X448Key(rawValue: secret, publicKey: publicKey)
    }

    fileprivate mutating func sendingChain() -> Ratchet.SendingChain? {
        guard let headerKey = secret(32), let key = secret(32), let next = integer(UInt32.self) else {
            return nil
        }
        return Ratchet.SendingChain(headerKey: headerKey, key: key, next: next)
    }

    fileprivate mutating func openChain() -> Ratchet.OpenChain? {
        guard let key = secret(32), let chain = receivingChain() else { return nil }
        return Ratchet.OpenChain(chain: chain, key: key)
    }

    fileprivate mutating func retiredChains() -> [ReceivingChain]? {
        guard let count = integer(UInt16.self), count <= SkippedKeys.maxChains else { return nil }
        var chains: [ReceivingChain] = []
        for _ in 0..<count {
            guard let chain = receivingChain() else { return nil }
            chains.append(chain)
        }
        return chains
    }

    private mutating func receivingChain() -> ReceivingChain? {
        guard let headerKey = secret(32), let next = integer(UInt32.self),
            let forgottenBelow = integer(UInt32.self), let count = integer(UInt16.self),
            count <= SkippedKeys.maxCount
        else { return nil }
        var skipped: [(number: UInt32, key: MessageKey)] = []
        skipped.reserveCapacity(min(Int(count), remaining / 52))
        for _ in 0..<count {
            guard let number = integer(UInt32.self), let key = secret(32), let nonce = bytes(16) else {
                return nil
            }
            skipped.append((number, MessageKey(key: key, nonce: nonce)))
        }
        return ReceivingChain(
            headerKey: headerKey, next: next, forgottenBelow: forgottenBelow, skipped: skipped)
    }

    fileprivate mutating func postQuantumState() -> Ratchet.PostQuantumState? {
        guard let sending = bool(), let receiving = bool(), let pair = optional({ $0.kemPair() }) else {
            return nil
        }
        return Ratchet.PostQuantumState(
            protectsSending: sending, protectsReceiving: receiving, own: pair?.key,
            ciphertext: pair?.ciphertext)
    }

    private mutating func kemPair() -> (key: KEMKey, ciphertext: [UInt8]?)? {
        guard let publicKey = bytes(KEMLength.publicKey), let secretKey = secret(KEMLength.secretKey),
            let key = KEMKey(publicKey: publicKey, secretKey: secretKey),
            let ciphertext = optional({ $0.bytes(KEMLength.ciphertext) })
        else { return nil }
        return (key, ciphertext)
    }
}
