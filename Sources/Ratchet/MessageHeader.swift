import Base
import Cryptography

/// The plaintext header of a message (HEADER), encrypted separately from the body.
struct MessageHeader {
    /// The sender's highest version.
    var maxVersion: UInt16
    /// dh: the public ratchet key of the sender's current chain.
    var key: X448PublicKey
    var kem: KEMOffer?
    /// pn: the number of messages in the sender's previous chain.
    var previousChainLength: UInt32
    /// n: the message's number in its chain, from 0.
    var number: UInt32

    func encoded(version: UInt16) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: maxVersion)
        bytes.append(byteString: key.spki)
        if version >= RatchetVersion.withKEM { bytes.append(optional: kem) { $0.append($1) } }
        bytes.append(bigEndian: previousChainLength)
        bytes.append(bigEndian: number)
        return bytes
    }

    /// Decodes a header. Returns nil if it is malformed.
    /// - Parameter version: The version of the enclosing message.
    init?(decoding bytes: [UInt8], version: UInt16) {
        var reader = ByteReader(bytes)
        guard let maxVersion = reader.integer(UInt16.self), let key = reader.x448Key() else { return nil }
        if version >= RatchetVersion.withKEM {
            guard let kem = reader.optional({ $0.kemOffer() }) else { return nil }
            self.kem = kem
        }
        guard let previousChainLength = reader.integer(UInt32.self), let number = reader.integer(UInt32.self),
            reader.remaining == 0
        else { return nil }
        self.maxVersion = maxVersion
        self.key = key
        self.previousChainLength = previousChainLength
        self.number = number
    }

    init(maxVersion: UInt16, key: X448PublicKey, kem: KEMOffer?, previousChainLength: UInt32, number: UInt32)
    {
        self.maxVersion = maxVersion
        self.key = key
        self.kem = kem
        self.previousChainLength = previousChainLength
        self.number = number
    }
}

/// A sent message: the encrypted header, and the tag and ciphertext of the body.
struct MessageEnvelope {
    let version: UInt16
    /// The encrypted header with its version, nonce and tag. Additional authenticated data of the body.
    let header: [UInt8]
    private let headerNonce: [UInt8]
    private let headerTag: [UInt8]
    private let headerCiphertext: [UInt8]
    private let tag: [UInt8]
    private let ciphertext: [UInt8]

    /// Returns the padded length of a header in bytes.
    static func headerSize(version: UInt16, supportsPostQuantum: Bool) -> Int {
        supportsPostQuantum && version >= RatchetVersion.withKEM ? 2310 : 88
    }

    init(decoding message: [UInt8]) throws(RatchetError) {
        var reader = ByteReader(message)
        guard let header = reader.ratchetLength(), let tag = reader.bytes(LongNonceCipher.tagLength) else {
            throw .malformed
        }
        var fields = ByteReader(header)
        guard let version = fields.integer(UInt16.self) else { throw .malformed }
        guard RatchetVersion.supported.contains(version) else {
            throw RatchetError(
                .unsupportedVersion, "Cannot decrypt a message: its encryption version is not supported.")
        }
        guard let nonce = fields.bytes(LongNonceCipher.nonceLength),
            let headerTag = fields.bytes(LongNonceCipher.tagLength),
            let headerCiphertext = fields.ratchetLength(), fields.remaining == 0
        else { throw .malformed }
        self.version = version
        self.header = header
        headerNonce = nonce
        self.headerTag = headerTag
        self.headerCiphertext = headerCiphertext
        self.tag = tag
        ciphertext = reader.rest()
    }

    /// HDECRYPT: decrypts the header. Returns nil if it was encrypted with another key.
    /// - Throws: `.malformed` if the decrypted header cannot be decoded.
    func header(with key: WipedBytes, associatedData: [UInt8]) throws(RatchetError) -> MessageHeader? {
        let padded = LongNonceCipher.open(
            headerCiphertext, tag: headerTag, key: key, nonce: headerNonce, authenticated: associatedData)
        guard let padded else { return nil }
        guard let bytes = Padding.unpad(padded), let header = MessageHeader(decoding: bytes, version: version)
        else {
            throw .malformed
        }
        return header
    }

    /// DECRYPT: decrypts the body with a message key.
    func body(with key: MessageKey, associatedData: [UInt8]) throws(RatchetError) -> [UInt8] {
        let padded = LongNonceCipher.open(
            ciphertext, tag: tag, key: key.key, nonce: key.nonce, authenticated: associatedData + header)
        guard let padded else {
            throw RatchetError(.bodyNotAuthentic, "The encrypted message was damaged in transit.")
        }
        guard let message = Padding.unpad(padded) else { throw .malformed }
        return message
    }

    /// Encrypts the header (HENCRYPT), then the body with CONCAT(AD, enc_header).
    static func seal(
        _ padded: [UInt8], header: [UInt8], version: UInt16, headerKey: WipedBytes, headerNonce: [UInt8],
        key: MessageKey, associatedData: [UInt8]
    ) -> [UInt8] {
        let sealedHeader = LongNonceCipher.seal(
            header, key: headerKey, nonce: headerNonce, authenticated: associatedData)
        var outer: [UInt8] = []
        outer.append(bigEndian: version)
        outer += headerNonce + sealedHeader.tag
        outer.append(ratchetLength: sealedHeader.ciphertext, version: version)
        let body = LongNonceCipher.seal(
            padded, key: key.key, nonce: key.nonce, authenticated: associatedData + outer)
        var message: [UInt8] = []
        message.reserveCapacity(outer.count + 2 + body.tag.count + body.ciphertext.count)
        message.append(ratchetLength: outer, version: version)
        message += body.tag
        message += body.ciphertext
        return message
    }
}

extension ByteReader {
    /// Reads length-prefixed bytes. The length has two bytes if the first byte is below 32, otherwise one. This is
    /// unambiguous because headers have 32 to 8,191 bytes.
    fileprivate mutating func ratchetLength() -> [UInt8]? {
        var ahead = self
        guard let first = ahead.byte() else { return nil }
        return first < 32 ? large() : byteString()
    }
}

extension [UInt8] {
    fileprivate mutating func append(ratchetLength bytes: [UInt8], version: UInt16) {
        if version >= RatchetVersion.withKEM { append(large: bytes) } else { append(byteString: bytes) }
    }
}
