import Base
import Cryptography

/// An encrypted link for a known phone, sent to the local network once a second.
enum Announcement {
    /// Its multicast group and port. IPv4 only.
    static let group = "224.0.0.251"
    static let port: UInt16 = 5227
    static let size = 985
    private static let contentSize = 900

    /// - Parameters:
    ///   - link: At most 898 bytes. The phone accepts it only from the link's host.
    ///   - key: This session's key, as in the link.
    ///   - phone: The phone's key of the last session, 44 bytes.
    /// - Throws: `.configuration` for a link that is too long or an invalid key.
    static func packet(
        _ link: String, key: AgreementKey, phone: [UInt8], random: some RandomSource = SystemRandomSource()
    ) throws(RemoteControlError) -> [UInt8] {
        let secret: WipedBytes
        do throws(CryptographyError) {
            secret = try key.wipedSecret(with: phone)
        } catch {
            throw RemoteControlError(.configuration, error.sentence, cause: error)
        }
        let nonce = random.bytes(MessageBox.nonceLength)
        guard
            let box = MessageBox.seal(
                Array(link.utf8), paddedTo: contentSize, key: secret, nonce: nonce)
        else {
            throw RemoteControlError(
                .configuration, "The link is too long to be announced in the network.")
        }
        var packet: [UInt8] = []
        packet.append(byteString: key.publicKey)
        return packet + nonce + box
    }
}
