import Base
import Cryptography

/// The answer to the phone's hello, and the resulting keys of both sides.
struct ControllerHello {
    /// 16,384 bytes.
    let block: [UInt8]
    let sending: MessageChain
    let receiving: MessageChain

    /// - Parameter encapsulate: Returns a ciphertext and a secret for the phone's key of 1158 bytes.
    /// - Throws: `.malformed` for an unusable key of the phone.
    init(
        answering hello: PhoneHello,
        encapsulate: ([UInt8]) throws(CryptographyError) -> Sntrup761.Encapsulation
    ) throws(RemoteControlError) {
        let encapsulation: Sntrup761.Encapsulation
        do throws(CryptographyError) {
            encapsulation = try encapsulate(hello.kemKey)
        } catch {
            throw RemoteControlError(.malformed, error.sentence, cause: error)
        }
        var chains = MessageChain.begin(
            agreement: hello.secret, encapsulated: encapsulation.secret)
        let key = chains.sending.next()
        var content = HelloBlock.mark
        content.append(large: encapsulation.ciphertext)
        guard
            let box = MessageBox.seal(
                Array("{}".utf8), paddedTo: HelloBlock.contentSize, key: key.key, nonce: key.nonce),
            let block = Padding.pad(content + box, to: HelloBlock.size)
        else { preconditionFailure("a hello has one size") }
        self.block = block
        sending = chains.sending
        receiving = chains.receiving
    }

    /// With libgcrypt if it is installed, otherwise with our own code.
    static func encapsulate(to key: [UInt8]) throws(CryptographyError) -> Sntrup761.Encapsulation {
        if let library = GcryptSntrup761.installed { return try library.encapsulate(to: key) }
        return try OwnSntrup761().encapsulate(to: key)
    }
}
