import Base
import ChatCore
import CommandLineKit
import Desktop
import EmbeddedCore
import Glibc
import Media
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
            Argument("CHAT", .listed("chats"), "The name of the chat, or its reference, such as @7."),
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
        let name = invocation["profile"]
        let profile = try await ThreadPool.shared.run { () throws(ChatError) in
            let profile = try directory.profile(named: name)
            try directory.addRelays(relays, to: profile)
            return profile
        }
        let letter = Letter(
            path: invocation.argument("FILE"), chat: invocation.argument("CHAT"),
            caption: invocation["caption"] ?? "")
        try await send(letter, from: profile, directory, stop: invocation.stop)
    }

    /// Through the daemon when there is one, else as the holder of the profile. A mount that has just
    /// begun, or is just leaving, has the profile but hears nobody: it is waited for.
    private static func send(
        _ letter: Letter, from profile: Profile, _ directory: DataDirectory, stop: StopRequest
    ) async throws {
        let end = ContinuousClock.now + .seconds(5)
        while true {
            if try await letter.handOver(from: profile, directory) { return }
            let core: EmbeddedCore
            do throws(ChatError) {
                core = try await EmbeddedCore.open(directory, profile: profile.displayName)
            } catch {
                guard error.code == .profileInUse, ContinuousClock.now < end else { throw error }
                try await Task.sleep(for: .milliseconds(100))
                continue
            }
            do {
                try await DirectSending(core: core, stop: stop).send(letter)
            } catch {
                await core.shutDown()
                throw error
            }
            return await core.shutDown()
        }
    }
}

/// What is to be sent, as the command line says.
private struct Letter: Sendable {
    let path: String
    let chat: String
    let caption: String

    /// Encrypts and composes it, with its preview.
    func composed(
        for chat: Chat, limits: ChatLimits, stagingFolder: String
    ) async throws -> ComposedMessage {
        let isNotes = if case .notes = chat.reference { true } else { false }
        let message = try await ThreadPool.shared.run {
            try FileSending.compose(
                path, caption: caption, limit: isNotes ? nil : limits.largestFile,
                stagingFolder: stagingFolder)
        }
        return await PreviewMaker().completed(message)
    }

    /// Gives it to the daemon of the profile's mount; false when there is none.
    func handOver(from profile: Profile, _ directory: DataDirectory) async throws -> Bool {
        let pool = ThreadPool.shared
        let reached = try await pool.run { () throws -> (ControlClient, Chat, staging: String)? in
            let folders = try directory.folders(of: profile)
            guard let daemon = try ControlClient.connect(profileFolder: folders.own) else { return nil }
            return (daemon, try Chat.named(chat, in: try directory.chats(of: profile)), folders.staging)
        }
        guard let (daemon, chat, staging) = reached else { return false }
        let message = try await composed(for: chat, limits: EmbeddedCore.limits, stagingFolder: staging)
        do throws(DesktopError) {
            try await pool.run { () throws(DesktopError) in
                try daemon.send(message, to: chat.reference.description)
            }
            return true
        } catch {
            // Otherwise the daemon may have it, or be about to: then it removes the file itself.
            if error.code == .refused { await pool.run { message.discard() } }
            throw error
        }
    }
}

/// Sending by a process that holds the profile itself, to the end of the upload.
private struct DirectSending {
    let core: EmbeddedCore
    let stop: StopRequest

    func send(_ letter: Letter) async throws {
        let chat = try Chat.named(letter.chat, in: try await core.chats())
        let message = try await letter.composed(
            for: chat, limits: core.limits, stagingFolder: core.stagingFolder)
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
                Terminal.note("chatfs: \(problem.sentence.endingInFullStop) Trying again.")
            case .sndFileError(let item, let problem) where item.file?.id == file:
                throw ChatError(.file(problem.kind), problem.sentence)
            default:
                continue
            }
        }
    }
}

extension ComposedMessage {
    /// Removes the staged file of a message that was not taken. Blocks.
    func discard() { unlink(source.path) }
}
