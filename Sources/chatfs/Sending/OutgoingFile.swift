import ChatCore
import Desktop
import Glibc
import Media
import Posix

/// A file to send, as given on the command line.
struct OutgoingFile: Sendable {
    let path: String
    let chat: String
    let caption: String
    /// nil to derive it from content and name.
    let form: MediaForm?
    /// Metadata to remove from pictures; a mount may require more.
    let metadata: MetadataPolicy
    /// True to forget an earlier equal request with unknown outcome.
    let startsAnew: Bool

    /// Passes the file to a mount's daemon and returns after its reply.
    func handOver(to daemon: ControlClient, _ stage: SendingStage) async throws {
        let pool = ThreadPool.shared
        let terms = try await pool.run { () throws(DesktopError) in
            do throws(DesktopError) {
                return try daemon.terms(for: chat)
            } catch {
                guard error.code == .noAnswer else { throw error }
                throw DesktopError(.noAnswer, error.sentence + " Nothing was sent.", cause: error)
            }
        }
        let request = try await Request(self, terms, profileFolder: daemon.profileFolder, stage)
        try await request.carryOut(stage) { (message) throws(DesktopError) in
            try daemon.send(message, to: terms.chat)
        }
    }

    /// Sends the file through `send`, in the process that holds the profile.
    func send<Sent: Sendable>(
        _ terms: SendingTerms, profileFolder: String, _ stage: SendingStage,
        _ send: @escaping @Sendable (ComposedMessage) async throws(ChatError) -> Sent
    ) async throws -> Sent {
        let request = try await Request(self, terms, profileFolder: profileFolder, stage)
        return try await request.carryOut(stage, send)
    }
}

/// An encrypted and composed file with the mark that identifies repetitions.
private struct Request: Sendable {
    let file: OutgoingFile
    let message: ComposedMessage
    let mark: String
    let unanswered: UnansweredRequests

    init(
        _ file: OutgoingFile, _ terms: SendingTerms, profileFolder: String, _ stage: SendingStage
    ) async throws {
        let pool = ThreadPool.shared
        self.file = file
        let preparation = try MessagePreparation(terms.removesMetadata == true ? .images : file.metadata)
        unanswered = try await pool.run { () throws(DesktopError) in
            try terms.unanswered(profileFolder: profileFolder)
        }
        let composed = try await pool.run {
            try FileSending.compose(
                file.path, caption: file.caption, as: file.form, limit: terms.largest,
                stagingFolder: terms.stagingFolder,
                isInterrupted: { try stage.check() })
        }
        mark = composed.mark(of: terms.chat)
        do throws(ChatError) {
            message = try await preparation.completed(composed.message)
        } catch {
            await pool.run { _ = unlink(composed.message.source.path) }
            throw error
        }
        if message.source.path != composed.message.source.path {
            await pool.run { _ = unlink(composed.message.source.path) }
        }
        // Only decoding detects a broken picture.
        guard file.form != .image || message.content.kind != .file else {
            await pool.run { [message] in _ = unlink(message.source.path) }
            throw ChatError(
                .invalidCommand,
                "This picture is damaged, too large, or cannot be decoded: send it as a file.")
        }
    }

    /// Sends through the daemon. Blocks.
    func carryOut(
        _ stage: SendingStage, _ send: @escaping @Sendable (ComposedMessage) throws(DesktopError) -> Void
    ) async throws {
        try await ThreadPool.shared.run {
            let numbered = try begin(stage)
            do throws(DesktopError) {
                try send(numbered)
                unanswered.end(mark)
            } catch {
                switch error.code {
                case .refused:
                    discard(numbered)
                    unanswered.end(mark)
                    throw error
                case .unsure:
                    discard(numbered)
                    throw Self.adding("With --anew this command sends it again.", to: error)
                default:
                    // The daemon may be about to send the file, and then removes it itself.
                    throw Self.adding(
                        "It may still be sent. Repeating the command is safe and sends nothing twice.",
                        to: error)
                }
            }
        }
    }

    private static func adding(_ words: String, to error: DesktopError) -> DesktopError {
        DesktopError(error.code, "\(error.sentence) \(words)", cause: error)
    }

    /// Sends through a core of this process.
    func carryOut<Sent: Sendable>(
        _ stage: SendingStage, _ send: @escaping @Sendable (ComposedMessage) async throws(ChatError) -> Sent
    ) async throws -> Sent {
        let numbered = try await ThreadPool.shared.run { try begin(stage) }
        do {
            let sent = try await send(numbered)
            await ThreadPool.shared.run { unanswered.end(mark) }
            return sent
        } catch {
            await ThreadPool.shared.run {
                discard(numbered)
                unanswered.end(mark)
            }
            throw error
        }
    }

    /// Records the request durably and returns the message with its permanent id. Must precede sending. Blocks.
    private func begin(_ stage: SendingStage) throws -> ComposedMessage {
        do {
            try stage.enter(.unanswered)
            var numbered = message
            numbered.id = try unanswered.begin(mark, id: message.id, startsAnew: file.startsAnew)
            return numbered
        } catch {
            discard(message)
            throw error
        }
    }

    /// Removes the staged file of a message that was not accepted. Blocks.
    private func discard(_ message: ComposedMessage) { unlink(message.source.path) }
}
