import Base
import ChatCore
import CommandLineKit
import Cryptography
import Desktop
import EmbeddedCore
import FileSystem
import Glibc
import Posix

/// A text to send, as given on the command line. Each request has a permanent identity, like that of a file
/// (`OutgoingFile`).
struct OutgoingText: Sendable {
    let text: String
    let chat: String
    /// True to forget an earlier equal request with unknown outcome.
    let startsAnew: Bool

    /// - Parameter text: `-` reads standard input without the final newline.
    init(_ text: String, chat: String, startsAnew: Bool) async throws {
        if text == "-" {
            self.text = try await ThreadPool.shared.run { try Self.standardInput() }
        } else {
            self.text = text
        }
        self.chat = chat
        self.startsAnew = startsAnew
        try ComposedText(id: "", text: self.text).check()
    }

    private static func standardInput() throws -> String {
        // Four bytes per character, and one to detect excess.
        let limit = 4 * ComposedText.longest + 2
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while bytes.count <= limit {
            let count = Glibc.read(STDIN_FILENO, &buffer, buffer.count)
            if count < 0 {
                if errno == EINTR { continue }
                throw SystemError(code: errno, operation: "read the text")
            }
            if count == 0 { break }
            bytes += buffer.prefix(count)
        }
        guard bytes.count <= limit else { throw ChatError.textTooLong }
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ChatError(.invalidCommand, "Standard input is not UTF-8 text: send it as a file.")
        }
        return text
    }

    /// Passes the text to a mount's daemon and returns when the daemon has stored it.
    func handOver(to daemon: ControlClient, _ stage: SendingStage) async throws {
        let reference = try await ThreadPool.shared.run {
            let terms = try daemon.terms(for: chat)
            let (composed, unanswered) = try begin(
                terms.chat, terms.unanswered(profileFolder: daemon.profileFolder), stage)
            do throws(DesktopError) {
                try daemon.send(composed, to: terms.chat)
                unanswered.end(mark(of: terms.chat))
                return terms.chat
            } catch {
                switch error.code {
                case .refused:
                    unanswered.end(mark(of: terms.chat))
                    throw error
                case .unsure: throw Self.adding("With --anew this command sends it again.", to: error)
                default:
                    throw Self.adding(
                        "It may still be sent. Repeating the command is safe and sends nothing twice.",
                        to: error)
                }
            }
        }
        await noteWaiting(in: daemon, reference)
    }

    /// Prints a note if no messaging server accepts the text within two seconds.
    /// - Parameters:
    ///   - fate: A sentence about the text's further handling.
    ///   - waiting: Returns the unreachable servers and the number of this chat's waiting messages; nil if unknown.
    static func noteWaiting(
        _ fate: String, _ waiting: () async -> (count: Int, servers: [MountStatus.Waiting.Server])?
    ) async {
        let end = ContinuousClock.now + .seconds(2)
        while let (count, servers) = await waiting(), count > 0 {
            guard ContinuousClock.now >= end else {
                guard (try? await Task.sleep(for: .milliseconds(100))) != nil else { return }
                continue
            }
            for server in servers { Terminal.note("chatfs: \(WaitingWords.sentence(server))") }
            return Terminal.note(
                "chatfs: the text waits because no messaging server has accepted it yet. \(fate)")
        }
    }

    /// Prints the note for a text that a mount's daemon has.
    private func noteWaiting(in daemon: ControlClient, _ chat: String) async {
        let folder = daemon.profileFolder
        var mount: Mounted?
        await Self.noteWaiting("The mount sends it as soon as possible; 'chatfs status' shows it.") {
            if mount == nil {
                for one in (try? Mounted.all()) ?? [] {
                    if await one.status()?.controlFolder == folder { mount = one }
                }
            }
            guard let status = await mount?.status() else { return nil }
            let messages = status.waiting?.messages.first { $0.reference == chat }
            return (messages?.count ?? 0, status.waiting?.servers ?? [])
        }
    }

    /// Sends the text in the process that holds the profile.
    /// - Parameter key: Key of the data directory.
    /// - Returns: The work at the process's end; until then the same request counts as a repetition.
    func send(
        on core: EmbeddedCore, key: SecretBytes?, _ stage: SendingStage
    ) async throws -> @Sendable () -> Void {
        let folders = RecordedFolders(in: core.folder, key: key)
        let reference = try await folders.chats(of: core).chat(chat).reference
        let mark = mark(of: reference.description)
        let (composed, unanswered) = try await ThreadPool.shared.run {
            let unanswered = try UnansweredRequests(
                profileFolder: core.folder, key: UnansweredRequests.key(from: key))
            return try begin(reference.description, unanswered, stage)
        }
        do throws(ChatError) {
            try await core.send(composed, to: reference)
        } catch {
            unanswered.end(mark)
            throw error
        }
        await Self.noteWaiting("It is sent when the profile is next mounted or used.") {
            (try? await core.networkWaiting()).map { waiting in
                (waiting.messages[reference] ?? 0, MountStatus.Waiting(waiting) { _ in nil }.servers)
            }
        }
        return { unanswered.end(mark) }
    }

    /// Records the request durably and returns the text with its permanent id. Blocks.
    private func begin(
        _ chat: String, _ unanswered: UnansweredRequests, _ stage: SendingStage
    ) throws -> (ComposedText, UnansweredRequests) {
        try stage.enter(.unanswered)
        let id = try unanswered.begin(
            mark(of: chat), id: Hexadecimal.encode(SystemRandomSource().bytes(16)), startsAnew: startsAnew)
        return (ComposedText(id: id, text: text), unanswered)
    }

    /// Returns the mark, equal for equal text and chat.
    private func mark(of chat: String) -> String {
        var hash = SHA256()
        for text in ["text", chat, text] {
            let bytes = Array(text.utf8)
            hash.update(Array("\(bytes.count):".utf8) + bytes)
        }
        return Hexadecimal.encode(hash.finalize())
    }

    private static func adding(_ words: String, to error: DesktopError) -> DesktopError {
        DesktopError(error.code, "\(error.sentence) \(words)", cause: error)
    }
}
