import Base
import Cryptography
import Glibc
import Network
import Posix

/// A relay's certificates on disk: `ca.crt` and `server.crt` (PEM). Their keys are sealed with the key of the relay's
/// records as `ca.key.sealed` and `server.key.sealed`, or plain (PEM) as `ca.key` and `server.key` without such a key.
struct IdentityFiles {
    private let folder: PrivateFolder
    private let key: SecretBytes?

    private static let keys = ["ca.key", "server.key"]
    private static let sealed = ".sealed"

    /// - Parameter key: The key that seals the private keys, or nil to store them in plain text.
    init(_ folder: PrivateFolder, key: SecretBytes?) {
        self.folder = folder
        self.key = key
    }

    /// Loads the identity, or creates it at the first start. Its fingerprint is part of every address and file
    /// description, so it never changes.
    /// - Parameter kind: The requested algorithm, or nil for any. Another algorithm than that of the stored identity is
    ///   an error.
    func identity(_ kind: CertificateKind?) throws(RelayError) -> ServerIdentity {
        do {
            // Written last, so its presence means that the others are complete.
            guard let leaf = try content(of: "server.crt") else { return try make(kind ?? .ed25519) }
            let identity = try ServerIdentity(
                authorityCertificate: content(of: "ca.crt") ?? [], leafCertificate: leaf,
                leafKey: secret("server.key"))
            guard kind == nil || kind == identity.kind else {
                throw RelayError(
                    .certificates,
                    "The relay in this folder has \(identity.kind.rawValue) certificates: omit "
                        + "--certificate or choose another folder.")
            }
            try sealWhatIsClear()
            return identity
        } catch let error as RelayError {
            throw error
        } catch let error as SystemError {
            throw RelayError(
                .folder, "The relay's certificates cannot be stored. \(error.sentence)", cause: error)
        } catch {
            throw RelayError(.certificates, sentence(of: error), cause: error)
        }
    }

    private func make(_ kind: CertificateKind) throws -> ServerIdentity {
        let made = try NewServerIdentity.make(kind, hostName: "localhost")
        try keep(made.authorityKey, as: "ca.key")
        try folder.write(made.authorityCertificate, to: "ca.crt")
        try keep(made.leafKey, as: "server.key")
        try folder.write(made.leafCertificate, to: "server.crt")
        return made.identity
    }

    // MARK: - Secrets

    /// Seals plain keys of a folder that was not encrypted before, or was created by an earlier version.
    private func sealWhatIsClear() throws {
        guard key != nil else { return }
        for name in Self.keys {
            guard let clear = try content(of: name) else { continue }
            try keep(clear, as: name)
            unlinkat(folder.directory.descriptor, name, 0)
        }
        try folder.directory.synchronise()
    }

    private func keep(_ secret: [UInt8], as name: String) throws {
        guard let box = boxKey(of: name) else { return try folder.write(secret, to: name) }
        let nonce = SystemRandomSource().bytes(MessageBox.nonceLength)
        try folder.write(nonce + MessageBox.seal(secret, key: box, nonce: nonce), to: name + Self.sealed)
    }

    private func secret(_ name: String) throws -> [UInt8] {
        guard let bytes = try content(of: name + Self.sealed) else { return try content(of: name) ?? [] }
        guard let box = boxKey(of: name), bytes.count > MessageBox.nonceLength,
            let secret = MessageBox.open(
                Array(bytes.dropFirst(MessageBox.nonceLength)), key: box,
                nonce: Array(bytes.prefix(MessageBox.nonceLength)))
        else {
            throw RelayError(
                .certificates,
                "The relay's key \(name) cannot be opened: it is damaged, or sealed with the key of another folder."
            )
        }
        return secret
    }

    private func boxKey(of name: String) -> WipedBytes? {
        key.map {
            BLAKE2b.derive("chatfs relay certificate", Array(name.utf8), from: $0).withUnsafeBytes {
                WipedBytes(Array($0))
            }
        }
    }

    private func content(of name: String) throws(SystemError) -> [UInt8]? {
        try OpenFile.existing(name, flags: O_RDONLY | O_NOFOLLOW, in: folder.directory)?
            .readAll(limit: 64 << 10)
    }
}
