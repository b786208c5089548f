import ChatCore
import CommandLineKit
import Cryptography
import Desktop
import EmbeddedCore
import Glibc
import Media
import Posix

/// `chatfs send`: sends a file or a text without a mount, or bypassing it.
enum SendCommand {
    fileprivate static let file = Argument(
        optional: "FILE", .file, "The file to send. The recipients see its name.")
    fileprivate static let chat = Argument(
        "CHAT", .listed("chats"), "The chat's folder, your name for it, or its reference, such as @7.")
    fileprivate static let text = Option(
        "text", named: "TEXT", .text, "Send this text instead of a file; - reads it from standard input.")
    fileprivate static let caption = Option("caption", named: "TEXT", .text, "A text to send with the file.")
    fileprivate static let form = Option(
        "as", named: "FORM", .choice(MediaForm.self),
        "Form of the message: a plain file, an image, a video, or a voice message. Default: by content and name."
    )
    fileprivate static let anew = Option.flag(
        "anew", "Send even if an earlier command with unknown result may have sent it already.")

    static let command = Command(
        "send", "Send a file or a text into a chat.",
        discussion: """
            If the profile is mounted, its daemon takes over the file and the command ends. Otherwise the command \
            sends the file itself and ends after the upload. An interrupted upload continues when the profile is next \
            mounted or used. A core given with --core must be mounted.

            Ctrl-C ends the command at once and prints the state of the file. If the state is unknown, you can safely \
            repeat the command for a day: the same file with the same caption in the same chat is sent only once. The \
            same applies to --text.
            """,
        section: CommandSection.chats, arguments: [file, chat],
        options: [
            text, caption, form, anew, MessagePreparation.option, CommonOptions.relay,
            CommonOptions.alsoPreset, CommonOptions.profile, CommonOptions.mount, CommonOptions.core,
            CommonOptions.database,
        ] + CommonOptions.directory,
        examples: [
            Example("chatfs send report.pdf bob --caption 'As promised'", "Send a file with a caption."),
            Example("chatfs send --text 'On my way' bob", "Send a text without a file."),
            Example(
                "chatfs send memo.m4a bob --as voice",
                "Send a file of any name as a voice message."),
            Example("date | chatfs send --text - bob", "Send the output of a program."),
        ],
        waitsForStop: true
    ) { invocation in
        let content = try await OutgoingContent(invocation)
        let choice = try OfficialCoreChoice(invocation)
        let relays = try invocation.relays()
        if choice != nil, !relays.isEmpty || invocation[CommonOptions.profile] != nil {
            throw UsageError("--relay and --profile do not go with --core: its mount sends")
        }
        let stage = SendingStage(stop: invocation.stop)
        let done: Void? = try await invocation.stop.interrupting {
            if let choice {
                return try await send(content, through: choice, invocation, stage)
            }
            let directory = try await invocation.dataDirectory()
            let name = invocation[CommonOptions.profile]
            let profile = try await ThreadPool.shared.run { () throws(ChatError) in
                let profile = try directory.profile(named: name)
                try directory.addRelays(relays, to: profile)
                return profile
            }
            try await invocation.replacePresets(
                by: relays.map(AnyRelay.files), of: profile, in: directory)
            try await send(content, from: profile, directory, stage)
        }
        guard done == nil else { return }
        Terminal.complain("chatfs: " + stage.end().sentence)
        throw ExitCode(128 + (await invocation.stop.wait()))
    }

    private static func send(
        _ content: OutgoingContent, through choice: OfficialCoreChoice, _ invocation: Invocation,
        _ stage: SendingStage
    ) async throws {
        let folder = choice.folder(dataPath: invocation.dataPath)
        let daemon = try await ThreadPool.shared.run { () throws(DesktopError) in
            try ControlClient.connect(coreFolder: folder)
        }
        guard let daemon else {
            throw DesktopError(
                .notMounted, "This core is not mounted: run 'chatfs mount' with the same --core first.")
        }
        try await content.handOver(to: daemon, stage)
    }

    /// Sends through the daemon if there is one, else with a core of its own. Waits for a mount that is starting or
    /// ending, which has the profile but does not listen.
    private static func send(
        _ content: OutgoingContent, from profile: Profile, _ directory: DataDirectory, _ stage: SendingStage
    ) async throws {
        let end = ContinuousClock.now + .seconds(5)
        while true {
            let daemon = try await ThreadPool.shared.run { () throws(any Error) in
                try ControlClient.connect(profileFolder: directory.folders(of: profile).own)
            }
            if let daemon { return try await content.handOver(to: daemon, stage) }
            let core: EmbeddedCore
            do throws(ChatError) {
                let arrivals = try await ThreadPool.shared.run { () throws(ChatError) in
                    KeptArrivals.rule(in: try directory.folders(of: profile).own, key: directory.key)
                }
                core = try await EmbeddedCore.open(
                    directory, profile: profile.displayName, arrivals: arrivals)
            } catch {
                guard error.code == .profileInUse, ContinuousClock.now < end else { throw error }
                try await Task.sleep(for: .milliseconds(100))
                continue
            }
            let finish: @Sendable () -> Void
            do {
                finish = try await content.send(on: core, key: directory.key, stage)
            } catch {
                await core.shutDown()
                throw error
            }
            await core.shutDown()
            return finish()
        }
    }
}

/// The content to send.
private enum OutgoingContent: Sendable {
    case file(OutgoingFile)
    case text(OutgoingText)

    init(_ invocation: Invocation) async throws {
        let (chat, startsAnew) = (invocation[SendCommand.chat], invocation[SendCommand.anew])
        if let text = invocation[SendCommand.text] {
            guard invocation[SendCommand.file] == nil, invocation[SendCommand.caption] == nil else {
                throw UsageError("--text sends no file: give the text of a file with --caption")
            }
            guard invocation[SendCommand.form] == nil else {
                throw UsageError("--as applies to a file, and --text sends none")
            }
            self = .text(try await OutgoingText(text, chat: chat, startsAnew: startsAnew))
        } else {
            guard let path = invocation[SendCommand.file] else { throw Self.incomplete(chat) }
            self = .file(
                OutgoingFile(
                    path: path, chat: chat, caption: invocation[SendCommand.caption] ?? "",
                    form: invocation[SendCommand.form], metadata: invocation[MessagePreparation.option],
                    startsAnew: startsAnew))
        }
    }

    /// Explains a single argument: a file without a chat, or a chat without a file.
    private static func incomplete(_ word: String) -> UsageError {
        var status = stat()
        return lstat(word, &status) == 0
            ? UsageError("CHAT is missing: 'chatfs chats' lists chats") : UsageError("FILE is missing")
    }

    func handOver(to daemon: ControlClient, _ stage: SendingStage) async throws {
        switch self {
        case .file(let file): try await file.handOver(to: daemon, stage)
        case .text(let text): try await text.handOver(to: daemon, stage)
        }
    }

    /// - Returns: The work to do after the core's shutdown.
    func send(
        on core: EmbeddedCore, key: SecretBytes?, _ stage: SendingStage
    ) async throws -> @Sendable () -> Void {
        switch self {
        case .file(let file):
            try await DirectSending(core: core, key: key, stage: stage).send(file)
            return {}
        case .text(let text): return try await text.send(on: core, key: key, stage)
        }
    }
}
