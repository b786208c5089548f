import Base
import ChatCore

/// Resumable XFTP transfers of whole files. `XFTPTransfers` implements it; tests use an in-memory relay.
protocol FileTransfers: Sendable {
    /// Announces an upload to one of `relays`, so that connections can be opened. Returns at once.
    func expectUpload(to relays: [RelayWithPassword])

    /// Uploads a file once for several recipients.
    /// - Parameters:
    ///   - checkpoint: receives the state to resume from whenever a relay has stored more. May block; an
    ///     error ends the upload.
    ///   - progress: receives sent and total encrypted bytes.
    func upload(
        _ order: UploadOrder, checkpoint: @escaping @Sendable ([UInt8]) throws -> Void,
        progress: @escaping @Sendable (UInt64, UInt64) -> Void
    ) async throws(TransferFailure) -> UploadResult

    /// Returns a link to an upload's description. May upload the description itself.
    func link(
        to description: String, relays: [RelayWithPassword]
    ) async throws(TransferFailure) -> UploadedLink

    /// Downloads and verifies a described file, resuming a partial one.
    func download(
        _ order: DownloadOrder, progress: @escaping @Sendable (UInt64, UInt64) -> Void
    ) async throws(TransferFailure)

    /// Removes the partial data of an ended download to a plain file.
    func discard(_ order: DownloadOrder) async

    /// Deletes the chunks of a finished or unfinished upload from relays. Missing chunks are no error.
    func deleteChunks(of uploaded: UploadedChunks) async throws(TransferFailure)
}

extension FileTransfers {
    func expectUpload(to relays: [RelayWithPassword]) {}
    func discard(_ order: DownloadOrder) async {}
}

/// A relay with its secret password.
struct RelayWithPassword: Hashable, Sendable {
    /// Address without password.
    var address: String
    var password: String?
}

struct UploadOrder: Sendable {
    enum Source: Sendable {
        case cryptoFile(path: String, arguments: FileArguments)
        case plain(path: String)
    }

    var source: Source
    /// Name in the encrypted header. Chats show the message's name instead.
    var fileName: String
    var recipients: Int
    var relays: [RelayWithPassword]
    /// State from the last `checkpoint`.
    var state: [UInt8]?
}

struct UploadResult: Sendable {
    /// File descriptions as text; secret.
    var senderDescription: String
    var recipientDescriptions: [String]
}

/// A secret link to an upload.
struct UploadedLink: Sendable {
    var text: String
    /// Sender description of the link's own upload, if there is one.
    var senderDescription: String?
}

struct DownloadOrder: Sendable {
    enum Destination: Sendable {
        /// Use the same arguments in every attempt.
        case cryptoFile(FileArguments)
        /// Plaintext of a standalone transfer.
        case plain
    }

    enum Source: Sendable {
        case description(String)
        case link(String)
    }

    var source: Source
    /// Announced size in plaintext bytes; a file of another size is `.damaged`. nil if unknown.
    var size: UInt64?
    var destination: Destination
    /// Absolute path; missing, or an interrupted download.
    var path: String
}

/// An upload's chunks on relays, by its sender description or the state of an unfinished upload.
struct UploadedChunks: Sendable {
    var senderDescription: String?
    var state: [UInt8]?
    /// Sender description of the link's own upload.
    var linkDescription: String?
}

/// Reason for the end of a transfer.
struct TransferFailure: Error {
    var problem: FileProblem
    /// Whether a retry may succeed.
    var isTemporary: Bool
}
