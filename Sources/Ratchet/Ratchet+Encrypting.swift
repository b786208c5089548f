import Base
import Cryptography

extension Ratchet {
    /// The message as it is sent. The ratchet must be stored before it is; what is sent again must be the same bytes.
    /// - Parameter size: see `MessageSize`; two more than the longest message.
    /// - Throws: `.notReady`, `.exhausted`, `.tooLong`.
    public mutating func encrypt(_ message: [UInt8], paddedTo size: Int) throws(RatchetError) -> [UInt8] {
        guard var chain = sending else {
            throw RatchetError(.notReady, "The contact has not answered yet, so nothing can be sent to it.")
        }
        guard chain.next < UInt32.max else {
            throw RatchetError(
                .exhausted,
                "Too many messages went to the contact without an answer; nothing more can be sent.")
        }
        guard let padded = Padding.pad(message, to: size) else {
            throw RatchetError(.tooLong, "The message is too long to be sent as one.")
        }
        let header = MessageHeader(
            maxVersion: maxVersion, key: own.publicKey, kem: postQuantum.offer, previousCount: previousCount,
            number: chain.next
        ).encoded(version: version)
        let headerSize = MessageEnvelope.headerSize(
            version: version, supportsPostQuantum: supportsPostQuantum)
        guard let paddedHeader = Padding.pad(header, to: headerSize) else { throw .malformed }
        let step = KeyDerivation.chain(chain.key)
        let sealed = MessageEnvelope.seal(
            padded, header: paddedHeader, version: version, headerKey: chain.headerKey,
            headerNonce: step.headerNonce, key: step.key, associatedData: associatedData)
        chain.key = step.chain
        chain.next += 1
        sending = chain
        return sealed
    }
}
