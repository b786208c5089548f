import ChatCore
import CommandLineKit
import Desktop
import EmbeddedCore
import Media
import Posix

/// `chatfs send`: a file into a chat, without a mount or past it.
enum SendCommand {
    static let command = Command(
        "send", "Send a file into a chat.",
        discussion: """
            When the profile is mounted, its daemon takes the file over and the command ends. Otherwise \
            the command sends it itself and ends when the file is uploaded; interrupted, the upload goes \
            on the next time the profile is mounted or used. A core named by --core must be mounted.

            Ctrl-C ends it at once and says what became of the file. Where that is not known, the same command \
            again is safe for a day: the same file with the same caption into the same chat is then the same \
            message, sent once.
            """,
        section: ChatFS.Section.chats,
        arguments: [
            Argument("FILE", .file, "What to send. The recipients see its name."),
            Argument("CHAT", .listed("chats"), "The name of the chat, or its reference, such as @7."),
        ],
        options: [
            .value("caption", named: "TEXT", .text, "A text to go with it."),
            .flag(
                "anew",
                "Send it also if an earlier command, of which nothing is known, may have sent it already."),
            MessagePreparation.option,
            CommonOptions.relay, CommonOptions.profile, CommonOptions.core,
            CommonOptions.database,
        ] + CommonOptions.directory,
        examples: [
            Example("chatfs send report.pdf bob --caption 'As promised'", "One file, with a word to it.")
        ],
        waitsForStop: true
    ) { invocation in
        let letter = Letter(
            path: invocation.argument("FILE"), chat: invocation.argument("CHAT"),
            caption: invocation["caption"] ?? "",
            metadata: invocation["strip-metadata"].flatMap(MetadataPolicy.init) ?? .never,
            startsAnew: invocation.has("anew"))
        let choice = try OfficialCoreChoice(core: invocation["core"], database: invocation["database"])
        let relays = try invocation.relays()
        if choice != nil, !relays.isEmpty || invocation["profile"] != nil {
            throw UsageError("--relay and --profile do not go with --core: what is mounted sends")
        }
        let stage = SendingStage(stop: invocation.stop)
        let done: Void? = try await invocation.stop.interrupting {
            if let choice {
                return try await send(letter, through: choice, invocation, stage)
            }
            let directory = try await invocation.dataDirectory()
            let name = invocation["profile"]
            let profile = try await ThreadPool.shared.run { () throws(ChatError) in
                let profile = try directory.profile(named: name)
                try directory.addRelays(relays, to: profile)
                return profile
            }
            try await send(letter, from: profile, directory, stage)
        }
        guard done == nil else { return }
        Terminal.complain("chatfs: " + stage.end().sentence)
        throw ExitCode(128 + (await invocation.stop.wait()))
    }

    private static func send(
        _ letter: Letter, through choice: OfficialCoreChoice, _ invocation: Invocation, _ stage: SendingStage
    ) async throws {
        let folder = choice.folder(
            dataPath: MountSettings.absolute(invocation["data"] ?? DataDirectory.defaultPath()))
        let daemon = try await ThreadPool.shared.run { () throws(DesktopError) in
            try ControlClient.connect(coreFolder: folder)
        }
        guard let daemon else {
            throw DesktopError(
                .notMounted, "This core is not mounted: 'chatfs mount' with the same --core first.")
        }
        try await letter.handOver(to: daemon, stage)
    }

    /// Through the daemon when there is one, else as the holder of the profile. A mount that has just
    /// begun, or is just leaving, has the profile but hears nobody: it is waited for.
    private static func send(
        _ letter: Letter, from profile: Profile, _ directory: DataDirectory, _ stage: SendingStage
    ) async throws {
        let end = ContinuousClock.now + .seconds(5)
        while true {
            let daemon = try await ThreadPool.shared.run { () throws(any Error) in
                try ControlClient.connect(profileFolder: directory.folders(of: profile).own)
            }
            if let daemon { return try await letter.handOver(to: daemon, stage) }
            let core: EmbeddedCore
            do throws(ChatError) {
                core = try await EmbeddedCore.open(directory, profile: profile.displayName)
            } catch {
                guard error.code == .profileInUse, ContinuousClock.now < end else { throw error }
                try await Task.sleep(for: .milliseconds(100))
                continue
            }
            do {
                try await DirectSending(core: core, stage: stage).send(letter)
            } catch {
                await core.shutDown()
                throw error
            }
            return await core.shutDown()
        }
    }
}
