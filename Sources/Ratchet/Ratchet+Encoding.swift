import Base
import Cryptography

/// The stored form of a ratchet. Integers are big endian; `?` is `0`, or `1` and the value.
///
///     format 1 Word16 · version Word16 · highest version Word16
///     space for the KEM T/F · KEM wanted T/F · associated data 112
///     ratchet key pair (X448): private 56, public 56 · root key 32
///     next sending header key 32 · next receiving header key 32 · previous chain length Word32
///     ? sending chain: header key 32, chain key 32, next message number Word32
///     ? receiving chain: chain key 32, chain
///     Word16 number of previous chains · previous chains, oldest first
///     sending protected by the KEM T/F · receiving T/F · ? KEM keys: public 1158, secret 1763, ? ciphertext 1039
///     chain: header key 32 · next message number Word32 · deleted below Word32 · Word16 number of keys
///            · keys by ascending number: number Word32, key 32, nonce 16
///
/// A later format gets a new number. Format 1 stays readable.
extension Ratchet {
    private static let format: UInt16 = 1
    /// The length of the longest valid state in bytes, about 120 kB.
    static let maxEncodedLength =
        4096 + 4 * KEMLength.secretKey + (SkippedKeys.maxChains + 1) * 42 + SkippedKeys.maxCount * 52

    /// The stored form. All of it is secret: callers seal it.
    public var encoded: WipedBytes {
        let keys = previousChains.reduce(receiving?.chain.skipped.count ?? 0) { $0 + $1.skipped.count }
        var bytes: [UInt8] = []
        // Reserve all space first: a reallocation would leave a copy of the secrets in freed memory.
        bytes.reserveCapacity(512 + 4000 + (previousChains.count + 1) * 42 + keys * 52)
        bytes.append(bigEndian: Self.format)
        bytes.append(bigEndian: version)
        bytes.append(bigEndian: maxVersion)
        bytes.append(bool: supportsPostQuantum)
        bytes.append(bool: wantsPostQuantum)
        bytes += associatedData
        bytes.append(ratchetKey.rawValue)
        bytes += ratchetKey.publicKey.rawValue
        bytes.append(rootKey)
        bytes.append(nextSendingHeaderKey)
        bytes.append(nextReceivingHeaderKey)
        bytes.append(bigEndian: previousChainLength)
        bytes.append(optional: sending) { bytes, chain in
            bytes.append(chain.headerKey)
            bytes.append(chain.chainKey)
            bytes.append(bigEndian: chain.messageNumber)
        }
        bytes.append(optional: receiving) { bytes, current in
            bytes.append(current.chainKey)
            bytes.append(current.chain)
        }
        bytes.append(bigEndian: UInt16(previousChains.count))
        for chain in previousChains { bytes.append(chain) }
        bytes.append(bool: postQuantum.protectsSending)
        bytes.append(bool: postQuantum.protectsReceiving)
        bytes.append(optional: postQuantum.own) { bytes, key in
            bytes += key.publicKey
            bytes.append(key.secretKey)
            bytes.append(optional: postQuantum.ciphertext) { $0 += $1 }
        }
        return WipedBytes(taking: &bytes)
    }

    /// Decodes a stored ratchet.
    /// - Throws: `.invalidState` for any other bytes.
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
            let associatedData = reader.bytes(2 * X448PublicKey.length), let ratchetKey = reader.x448Pair(),
            let rootKey = reader.secret(32), let nextSendingHeaderKey = reader.secret(32),
            let nextReceivingHeaderKey = reader.secret(32),
            let previousChainLength = reader.integer(UInt32.self),
            let sending = reader.optional({ $0.sendingChain() }),
            let receiving = reader.optional({ $0.currentReceivingChain() }),
            let previousChains = reader.previousChainList(),
            let postQuantum = reader.postQuantumState()
        else { return nil }
        // A KEM requires reserved space, and `deleteOldestKeys()` keeps the number of keys within the limit.
        let keys = previousChains.reduce(receiving?.chain.skipped.count ?? 0) { $0 + $1.skipped.count }
        guard keys <= SkippedKeys.maxCount, supportsPostQuantum || postQuantum.own == nil else { return nil }
        self.init(
            version: version, maxVersion: maxVersion, supportsPostQuantum: supportsPostQuantum,
            wantsPostQuantum: wantsPostQuantum, associatedData: associatedData, ratchetKey: ratchetKey,
            rootKey: rootKey,
            sending: sending, receiving: receiving, nextSendingHeaderKey: nextSendingHeaderKey,
            nextReceivingHeaderKey: nextReceivingHeaderKey, previousChainLength: previousChainLength,
            postQuantum: postQuantum, previousChains: previousChains)
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ chain: ReceivingChain) {
        append(chain.headerKey)
        append(bigEndian: chain.messageNumber)
        append(bigEndian: chain.deletedBelow)
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
        return Ratchet.SendingChain(headerKey: headerKey, chainKey: key, messageNumber: next)
    }

    fileprivate mutating func currentReceivingChain() -> Ratchet.CurrentReceivingChain? {
        guard let key = secret(32), let chain = receivingChain() else { return nil }
        return Ratchet.CurrentReceivingChain(chain: chain, chainKey: key)
    }

    fileprivate mutating func previousChainList() -> [ReceivingChain]? {
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
            let deletedBelow = integer(UInt32.self), let count = integer(UInt16.self),
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
            headerKey: headerKey, messageNumber: next, deletedBelow: deletedBelow, skipped: skipped)
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
