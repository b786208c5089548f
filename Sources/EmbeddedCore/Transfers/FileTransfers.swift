import Base
import ChatCore
import Posix

/// What the core needs of XFTP: whole transfers, each resumable by its caller. `XFTPTransfers` does
/// it; tests put a small relay in memory in its place.
protocol FileTransfers: Sendable {
    /// An upload to one of `relays` will follow in a moment. Returns at once.
    func expectUpload(to relays: [RelayWithPassword])

    /// Uploads a file once for several recipients. `checkpoint` is given the state from which the
    /// upload can go on after a crash, each time a relay has more of it; it blocks, and what it throws
    /// ends the upload. `progress` counts encrypted bytes.
    func upload(
        _ order: UploadOrder, checkpoint: @escaping @Sendable ([UInt8]) throws -> Void,
        progress: @escaping @Sendable (UInt64, UInt64) -> Void
    ) async throws(TransferFailure) -> UploadResult

    /// A link to a file, for a description that an upload made. May upload the description itself.
    func link(
        to description: String, relays: [RelayWithPassword]
    ) async throws(TransferFailure) -> UploadedLink

    /// Downloads and checks a described file, resuming what is there of it.
    func download(
        _ order: DownloadOrder, progress: @escaping @Sendable (UInt64, UInt64) -> Void
    ) async throws(TransferFailure)

    /// Removes what an ended download to a plain file left beside it.
    func discard(_ order: DownloadOrder) async

    /// Has the relays delete the chunks of a finished or of an unfinished upload. Chunks that are gone
    /// already are no error.
    func deleteChunks(of remains: UploadRemains) async throws(TransferFailure)
}

extension FileTransfers {
    func expectUpload(to relays: [RelayWithPassword]) {}
    func discard(_ order: DownloadOrder) async {}
}

/// A relay as the user configured it. The password is a secret.
struct RelayWithPassword: Hashable, Sendable {
    /// The text form without password.
    var address: String
    var password: String?
}

struct UploadOrder: Sendable {
    enum Source: Sendable {
        case cryptoFile(path: String, arguments: FileArguments)
        case plain(path: String)
    }

    var source: Source
    /// In the encrypted header; chats show the message's.
    var fileName: String
    var recipients: Int
    var relays: [RelayWithPassword]
    /// What the last `checkpoint` was given.
    var state: [UInt8]?
}

struct UploadResult: Sendable {
    /// Texts of file descriptions; secrets.
    var senderDescription: String
    var recipientDescriptions: [String]
}

/// A link to an upload; secrets.
struct UploadedLink: Sendable {
    var text: String
    /// The sender description of what the link leads to, where that was uploaded itself.
    var senderDescription: String?
}

struct DownloadOrder: Sendable {
    enum Destination: Sendable {
        /// With the same arguments in every attempt.
        case cryptoFile(FileArguments)
        /// Plain bytes, of a transfer that belongs to no chat.
        case plain
    }

    enum Source: Sendable {
        case description(String)
        case link(String)
    }

    var source: Source
    /// Bytes of content, as the file was announced: a file of any other size is `.damaged`. nil if nothing was said of it.
    var size: UInt64?
    var destination: Destination
    /// Does not exist yet, or holds what an interrupted download left. Absolute.
    var path: String
}

/// What an upload left on relays: its sender description, or the state of one that never finished.
struct UploadRemains: Sendable {
    var senderDescription: String?
    var state: [UInt8]?
    /// Of what its link leads to.
    var linkDescription: String?
}

/// Why a transfer ended.
struct TransferFailure: Error {
    var problem: FileProblem
    /// Worth another try later.
    var isTemporary: Bool
}
