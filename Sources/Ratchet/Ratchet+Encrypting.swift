import Base
import Cryptography

extension Ratchet {
    /// Returns an encrypted message (RatchetEncryptHE). The caller stores the ratchet before it sends the message. A
    /// retry sends the same bytes again.
    /// - Parameter size: The padded length in bytes, from `MessageSize`. The longest message has two bytes less.
    /// - Throws: `.notReady`, `.exhausted`, `.tooLong`.
    public mutating func encrypt(_ message: [UInt8], paddedTo size: Int) throws(RatchetError) -> [UInt8] {
        guard var chain = sending else {
            throw RatchetError(.notReady, "Cannot encrypt: the contact has not answered yet.")
        }
        guard chain.messageNumber < UInt32.max else {
            throw RatchetError(
                .exhausted,
                "Cannot encrypt: too many messages were sent to the contact without an answer.")
        }
        guard let padded = Padding.pad(message, to: size) else {
            throw RatchetError(.tooLong, "The message is too long.")
        }
        // header = HEADER(state.DHs, state.PN, state.Ns)
        let header = MessageHeader(
            maxVersion: maxVersion, key: ratchetKey.publicKey, kem: postQuantum.offer,
            previousChainLength: previousChainLength,
            number: chain.messageNumber
        ).encoded(version: version)
        let headerSize = MessageEnvelope.headerSize(
            version: version, supportsPostQuantum: supportsPostQuantum)
        guard let paddedHeader = Padding.pad(header, to: headerSize) else { throw .malformed }
        // state.CKs, mk = KDF_CK(state.CKs)
        let step = KeyDerivation.kdfCK(chain.chainKey)
        // enc_header = HENCRYPT(state.HKs, header); ENCRYPT(mk, plaintext, CONCAT(AD, enc_header))
        let sealed = MessageEnvelope.seal(
            padded, header: paddedHeader, version: version, headerKey: chain.headerKey,
            headerNonce: step.headerNonce, key: step.key, associatedData: associatedData)
        chain.chainKey = step.chainKey
        // state.Ns += 1
        chain.messageNumber += 1
        sending = chain
        return sealed
    }
}
