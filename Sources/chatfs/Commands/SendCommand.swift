import Base
import ChatCore
import CommandLineKit
import Desktop
import EmbeddedCore
import Glibc
import Posix

/// `chatfs send`: a file into a chat, without a mount or past it.
enum SendCommand {
    static let command = Command(
        "send", "Send a file into a chat.",
        discussion: """
            When the profile is mounted, its daemon takes the file over and the command ends. Otherwise \
            the command sends it itself and ends when the file is uploaded; interrupted, the upload goes \
            on the next time the profile is mounted or used.
            """,
        section: ChatFS.Section.chats,
        arguments: [
            Argument("FILE", .file, "What to send. The recipients see its name."),
            Argument("CHAT", .text, "The name of the chat, or its reference, such as @7."),
        ],
        options: [
            .value("caption", named: "TEXT", .text, "A text to go with it."),
            CommonOptions.relay, CommonOptions.profile, CommonOptions.data,
        ],
        examples: [
            Example("chatfs send report.pdf bob --caption 'As promised'", "One file, with a word to it.")
        ],
        waitsForStop: true
    ) { invocation in
        let relays = try invocation.relays()
        let directory = try await invocation.dataDirectory()
        let opened = await Result<EmbeddedCore, ChatError>.of { () async throws(ChatError) in
            try await EmbeddedCore.open(directory, profile: invocation["profile"], relays: relays)
        }
        if case .failure(let error) = opened, error.code == .profileInUse {
            let profile = try await ThreadPool.shared.run { [name = invocation["profile"]] in
                let profile = try directory.profile(named: name)
                try directory.addRelays(relays, to: profile)
                return profile
            }
            return try await SendingThroughDaemon(folders: directory.folders(of: profile), inUse: error).send(
                invocation.argument("FILE"), to: invocation.argument("CHAT"),
                caption: invocation["caption"] ?? "")
        }
        let core = try opened.get()
        do {
            try await DirectSending(core: core, stop: invocation.stop).send(
                invocation.argument("FILE"), to: invocation.argument("CHAT"),
                caption: invocation["caption"] ?? "")
        } catch {
            await core.shutDown()
            throw error
        }
        await core.shutDown()
    }
}

/// Sending by the process that has the profile mounted.
private struct SendingThroughDaemon {
    let folders: (own: String, staging: String)
    /// Why this process cannot do it.
    let inUse: ChatError

    func send(_ path: String, to word: String, caption: String) async throws {
        try await ThreadPool.shared.run { [self] in
            guard let daemon = try ControlClient.connect(profileFolder: folders.own) else { throw inUse }
            // How much the chat takes, the daemon knows.
            let message = try FileSending.compose(
                path, caption: caption, limit: nil, stagingFolder: folders.staging)
            do throws(DesktopError) {
                try daemon.send(message, to: word)
            } catch {
                // Without an answer the daemon may be about to read it.
                if error.code == .refused { message.discard() }
                throw error
            }
        }
    }
}

/// Sending by a process that holds the profile itself, to the end of the upload.
private struct DirectSending {
    let core: EmbeddedCore
    let stop: StopRequest

    func send(_ path: String, to word: String, caption: String) async throws {
        let chat = try Chat.named(word, in: try await core.chats())
        let isNotes = if case .notes = chat.reference { true } else { false }
        let message = try await ThreadPool.shared.run { [core] in
            try FileSending.compose(
                path, caption: caption, limit: isNotes ? nil : core.limits.largestFile,
                stagingFolder: core.stagingFolder)
        }
        let events = core.events()
        let item: ChatItem
        do throws(ChatError) {
            item = try await core.send(message, to: chat.reference)
        } catch {
            await ThreadPool.shared.run { message.discard() }
            throw error
        }
        guard let file = item.file, file.transport == .xftp else { return }
        let display = ProgressDisplay("Sending")
        defer { display.finish() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await Self.follow(file.id, events, display) }
            group.addTask { [stop] in
                await stop.wait()
                throw ChatError(
                    .file(.unreachable),
                    "Interrupted: the upload goes on the next time the profile is mounted or used.")
            }
            // Waiting for a stop cannot be cancelled: the upload's end is a stop too.
            defer { stop.request() }
            try await group.next()
        }
    }

    /// Shows the progress of an upload until it is over.
    private static func follow(
        _ file: FileID, _ events: AsyncStream<ChatEvent>, _ display: ProgressDisplay
    ) async throws {
        for await event in events {
            switch event {
            case .sndFileProgressXFTP(let item, let sent, let total) where item.file?.id == file:
                display.update(done: sent, total: total)
            case .sndFileCompleteXFTP(let item) where item.file?.id == file:
                return
            case .sndFileWarning(let item, let problem) where item.file?.id == file:
                display.finish()
                Terminal.complain("chatfs: \(problem.sentence) Trying again.")
            case .sndFileError(let item, let problem) where item.file?.id == file:
                throw ChatError(.file(problem.kind), problem.sentence)
            default:
                continue
            }
        }
    }
}

extension Result {
    fileprivate static func of(_ body: () async throws(Failure) -> Success) async -> Self {
        do throws(Failure) {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }
}

extension ComposedMessage {
    /// Removes the staged file of a message that was not taken. Blocks.
    func discard() { unlink(source.path) }
}
