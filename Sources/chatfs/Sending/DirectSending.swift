import ChatCore
import CommandLineKit
import Cryptography
import Desktop
import EmbeddedCore

/// Sends with a core of this process, to the end of the upload.
struct DirectSending {
    let core: EmbeddedCore
    /// Key of the data directory.
    let key: SecretBytes?
    let stage: SendingStage

    func send(_ file: OutgoingFile) async throws {
        let chat = try await RecordedFolders(in: core.folder, key: key).chats(of: core).chat(file.chat)
        let largest = core.limits.maxFileSize(in: chat.reference)
        let terms = SendingTerms(
            chat: chat.reference.description, largest: largest, stagingFolder: core.stagingFolder,
            markKey: UnansweredRequests.key(from: key))
        let events = core.events()
        let core = core
        let item = try await file.send(terms, profileFolder: core.folder, stage) {
            (message) throws(ChatError) in try await core.send(message, to: chat.reference)
        }
        guard let file = item.file, file.transport == .xftp else { return }
        switch file.status {
        case .sndStored, .sndTransfer, .sndWarning: break
        // Left by an earlier command with unknown outcome.
        case .sndError(let problem): throw ChatError(.file(problem.kind), problem.sentence)
        default: return
        }
        try stage.enter(.stored)
        let display = ProgressDisplay("Sending")
        defer { display.finish() }
        try await Self.follow(file.id, events, display)
    }

    /// Shows the progress of an upload until it ends.
    private static func follow(
        _ file: FileID, _ events: AsyncStream<ChatEvent>, _ display: ProgressDisplay
    ) async throws {
        for await event in events {
            switch event {
            case .fileProgress(let progress) where progress.file == file:
                display.update(done: progress.done, total: progress.total)
            case .itemChanged(let item, .completed) where item.file?.id == file:
                return
            case .itemChanged(let item, .delayed(let problem)) where item.file?.id == file:
                display.finish()
                Terminal.note("chatfs: \(problem.sentence.endingInFullStop) Trying again.")
            case .itemChanged(let item, .failed(let problem)) where item.file?.id == file:
                throw ChatError(.file(problem.kind), problem.sentence)
            default:
                continue
            }
        }
        try Task.checkCancellation()
    }
}
