import Base
import ChatCore
import CoreServices
import Cryptography
import Glibc
import Posix
import XFTP

/// Transfers over real relays.
final class XFTPTransfers: FileTransfers {
    private let client: XFTPClient

    init(client: XFTPClient) { self.client = client }

    /// The form of an uploaded file. The header does not have its name, because a file is staged before its last
    /// rename, and chats show the message's name. The placeholder is as long, because receivers expect the content
    /// behind a header with the message's name.
    static func streamForm(name: String) -> StreamForm {
        let emptyLength = FileHeader.encode(name: "", contentSize: 0).count
        let length = FileHeader.encode(name: name, contentSize: 0).count
        let placeholder = String(repeating: "-", count: length - emptyLength)
        return StreamForm(
            header: { FileHeader.encode(name: placeholder, contentSize: $0) },
            length: { size in
                StoredStream.length(headerLength: length, contentSize: size) - UInt64(StreamBox.tagLength)
            })
    }

    func expectUpload(to relays: [RelayWithPassword]) {
        client.openAhead(relays.prefix(1).compactMap(\.relayAddress), connections: 2)
    }

    func upload(
        _ order: UploadOrder, checkpoint: @escaping @Sendable ([UInt8]) throws -> Void,
        progress: @escaping @Sendable (UInt64, UInt64) -> Void
    ) async throws(TransferFailure) -> UploadResult {
        let content = try await Self.blocking { try Self.open(order.source) }
        let relays = order.relays.compactMap(\.relayAddress)
        return try await Self.mapped {
            let state = try order.state.map(UploadStateText.decode)
            let uploaded = try await FileUpload.run(
                content, fileName: order.fileName, recipients: order.recipients, relays: relays,
                client: self.client, state: state,
                save: { try checkpoint(UploadStateText.encode($0)) }, progress: progress)
            return UploadResult(
                senderDescription: uploaded.sender.text,
                recipientDescriptions: uploaded.recipients.map(\.text))
        }
    }

    func link(
        to description: String, relays: [RelayWithPassword]
    ) async throws(TransferFailure) -> UploadedLink {
        try await Self.mapped {
            let described = try await FileDescription.parse(description)
            guard described.chunks.count > 1 else { return UploadedLink(text: FileLink(described).text) }
            // Like the SimpleX agent, upload descriptions of several chunks as files themselves.
            let redirect = try await FileUpload.redirect(
                to: described, relays: relays.compactMap(\.relayAddress), client: self.client)
            return UploadedLink(
                text: FileLink(redirect.short).text, senderDescription: redirect.sender.text)
        }
    }

    func download(
        _ order: DownloadOrder, progress: @escaping @Sendable (UInt64, UInt64) -> Void
    ) async throws(TransferFailure) {
        try await Self.mapped {
            let description =
                switch order.source {
                case .description(let text): try await FileDescription.parse(text)
                case .link(let link): try await FileLink.parse(link).fileDescription
                }
            let destination = try await ThreadPool.shared.run {
                try Self.open(order.destination, path: order.path, for: description)
            }
            try await FileDownload.run(
                description, client: self.client, to: destination, contentSize: order.size, progress: progress
            )
        }
    }

    func discard(_ order: DownloadOrder) async {
        do throws(TransferFailure) {
            try await Self.mapped {
                guard case .link(let link) = order.source, case .plain = order.destination else { return }
                let description = try await FileLink.parse(link).fileDescription
                try await ThreadPool.shared.run {
                    try Self.plainDestination(path: order.path, for: description).discard()
                }
            }
        } catch {
            log.notice("partial download not removed: error=\(error.problem.sentence)")
        }
    }

    func deleteChunks(of uploaded: UploadedChunks) async throws(TransferFailure) {
        try await Self.mapped {
            for description in [uploaded.senderDescription, uploaded.linkDescription].compactMap(\.self) {
                try await FileDeletion.run(try await FileDescription.parse(description), client: self.client)
            }
            if let state = uploaded.state {
                try await FileUpload.delete(try UploadStateText.decode(state), client: self.client)
            }
        }
    }

    // MARK: - Files

    private static func open(_ source: UploadOrder.Source) throws -> UploadContent {
        switch source {
        case .plain(let path):
            guard let file = try OpenFile.regular(path) else { throw notRegular }
            return .plaintext(try PlainFileSource(file))
        case .cryptoFile(let path, let arguments):
            guard let file = try OpenFile.regular(path, flags: O_NOFOLLOW) else { throw notRegular }
            if arguments.content != nil { return .stream(try StoredStream(file: file, arguments: arguments)) }
            return .plaintext(CryptoFileSource(try CryptoFileReader(file: file, arguments: arguments)))
        }
    }

    private static let notRegular = XFTPError(.source, "Only a regular file can be uploaded.")

    private static func open(
        _ destination: DownloadOrder.Destination, path: String, for description: FileDescription
    ) throws -> any DownloadDestination {
        switch destination {
        case .cryptoFile(let arguments):
            let file = try OpenFile(path, flags: O_RDWR | O_CREAT | O_NOFOLLOW)
            return try CryptoFileDestination(file: file, arguments: arguments)
        case .plain:
            return try plainDestination(path: path, for: description)
        }
    }

    private static func plainDestination(
        path: String, for description: FileDescription
    ) throws(XFTPError) -> PlainFileDestination {
        let name = path.lastPathName ?? path
        return try PlainFileDestination(folder: path.parentPath, for: description) { _, attempt in
            attempt == 1 ? name : nil
        }
    }

    // MARK: - Errors

    private static func blocking<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) async throws(TransferFailure) -> Result {
        try await mapped { try await ThreadPool.shared.run(body) }
    }

    private static func mapped<Result: Sendable>(
        _ body: () async throws -> Result
    ) async throws(TransferFailure) -> Result {
        do {
            return try await body()
        } catch {
            throw TransferFailure(wrapping: error)
        }
    }
}

extension TransferFailure {
    /// Converts an error of a transfer.
    init(wrapping error: any Error) {
        switch error {
        case let error as TransferFailure:
            self = error
        case let error as XFTPError:
            let isFull = error.nearest(SystemError.self)?.isFullDisk == true
            let isDamaged = (error.cause as? CryptographyError)?.code == .notAuthentic
            let kind =
                isFull ? FileProblem.Kind.noSpace : isDamaged ? .damaged : FileProblem.Kind(error.code)
            self.init(
                problem: FileProblem(kind, error.sentence),
                isTemporary: error.isTemporary || isFull || kind == .relayFull)
        default:
            let failure = ChatError(wrapping: error)
            let kind = failure.fileProblemKind
            self.init(problem: FileProblem(kind, failure.sentence), isTemporary: kind == .noSpace)
        }
    }
}
