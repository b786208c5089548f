import Base
import Glibc
import Network
import Posix

/// A relay's folder on disk: its identity, the port it had, and where chunks and records lie.
///
/// `ca.crt`, `ca.key`, `server.crt`, `server.key` (PEM), `port`, `records.db`, `chunks/` (one file
/// for each chunk under the sender ID), `incoming/` (uploads under way; emptied at start).
struct RelayFolder: Sendable {
    let folder: PrivateFolder
    let chunks: OpenFile
    let incoming: OpenFile
    /// Locked from start to stop.
    private let lock: FolderLock

    static let lockFile = "lock"
    static let recordsFile = "records.db"
    var recordsPath: String { folder.path + "/" + Self.recordsFile }

    init(_ path: String) throws(RelayError) {
        let free: FolderLock?
        do throws(SystemError) {
            folder = try Self.make(path)
            free = try FolderLock(folder)
            chunks = try folder.subfolder("chunks")
            incoming = try folder.subfolder("incoming")
            if free != nil { try PrivateFolder.removeContents(of: incoming, keeping: []) }
        } catch {
            throw RelayError(.folder, "The relay's folder cannot be used. \(error.sentence)", cause: error)
        }
        guard let free else { throw RelayError(.inUse, "Another relay works in this folder.") }
        lock = free
    }

    /// Without the lock and what is in it.
    static func make(_ path: String) throws(SystemError) -> PrivateFolder {
        try PrivateFolder(path, purpose: "relay")
    }

    /// Lets another relay work here.
    func release() { lock.release() }

    /// The identity kept here, made at the first start. Its fingerprint is part of every address and
    /// file description, so it never changes; asking for another algorithm later is refused.
    func identity(_ kind: CertificateKind?) throws(RelayError) -> ServerIdentity {
        do {
            // Written last, so that its presence means that the others are complete.
            if let leaf = try content(of: "server.crt") {
                let identity = try ServerIdentity(
                    authorityCertificate: content(of: "ca.crt") ?? [], leafCertificate: leaf,
                    leafKey: content(of: "server.key") ?? [])
                guard kind == nil || kind == identity.kind else {
                    throw RelayError(
                        .certificates,
                        "The relay in this folder has \(identity.kind.rawValue) certificates: leave out "
                            + "--certificate, or take another folder.")
                }
                return identity
            }
            let made = try NewServerIdentity.make(kind ?? .ed25519, hostName: "localhost")
            try folder.write(made.authorityKey, to: "ca.key")
            try folder.write(made.authorityCertificate, to: "ca.crt")
            try folder.write(made.leafKey, to: "server.key")
            try folder.write(made.leafCertificate, to: "server.crt")
            return made.identity
        } catch let error as RelayError {
            throw error
        } catch let error as SystemError {
            throw RelayError(
                .folder, "The relay's certificates cannot be kept. \(error.sentence)", cause: error)
        } catch {
            throw RelayError(.certificates, sentence(of: error), cause: error)
        }
    }

    private func content(of name: String) throws(SystemError) -> [UInt8]? {
        do throws(SystemError) {
            return try OpenFile(name, flags: O_RDONLY | O_NOFOLLOW, in: folder.directory)
                .readAll(limit: 64 << 10)
        } catch {
            if error.code == ENOENT { return nil }
            throw error
        }
    }
}
