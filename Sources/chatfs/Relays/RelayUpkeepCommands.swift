import Base
import CommandLineKit
import Desktop
import EmbeddedCore
import Glibc
import Network
import Posix
import SMPRelay
import Unlocking
import XFTPRelay

/// `chatfs relay stat` and `chatfs relay purge`: the data of an own relay.
enum RelayUpkeepCommands {
    private static let folder = Option(
        "dir", named: "DIR", .folder,
        "The folder of the relay; default ${XDG_DATA_HOME:-~/.local/share}/chatfs/relay.")
    private static let unused = Option(
        "unused", named: "TIME", .duration,
        "Delete queues without a request since their creation this long ago; default 1d without another option."
    )
    private static let idle = Option(
        "idle", named: "TIME", .duration, "Delete queues without a request for this long.")
    private static let chunks = Option(
        "chunks", named: "TIME", .duration, "Delete chunks that are at least this old.")
    private static let everything = Option.flag(
        "everything", "Delete all queues, messages and chunks, also those in use.")
    private static let yes = Option.flag("yes", "With --everything: do not ask.")

    static let stat = Command(
        "stat", "Show the contents of a relay of your own.",
        discussion: """
            Prints queues, messages and chunks with their share of the quotas. The relay may run. A queue is unused if \
            it has had no request since its creation.
            """,
        options: [folder] + CommonOptions.unlocking,
        examples: [Example("chatfs relay stat", "Show the use of the quotas.")]
    ) { invocation in
        show(try await ask(RelayRequest(), invocation))
    }

    static let purge = Command(
        "purge", "Delete unused queues and old chunks of a relay of your own.",
        discussion: """
            A relay deletes expired queues and chunks by itself (see 'chatfs help relay run'); this command deletes \
            them earlier, for a full relay. The owner of a deleted queue can no longer receive through it. Queues with \
            a connected subscriber stay. The relay may run.
            """,
        options: [folder, unused, idle, chunks, everything, yes] + CommonOptions.unlocking,
        examples: [
            Example("chatfs relay purge", "Delete queues that were never used."),
            Example("chatfs relay purge --idle 30d --chunks 12h", "Also delete older queues and chunks."),
        ]
    ) { invocation in
        var request = RelayRequest()
        request.unused = invocation[unused].map(\.components.seconds)
        request.idle = invocation[idle].map(\.components.seconds)
        request.chunks = invocation[chunks].map(\.components.seconds)
        if invocation[everything] {
            guard !request.isPurge else { throw UsageError("--everything does not go with a time") }
            guard try invocation[yes] || isWanted() else { throw Refusal("Nothing was deleted.") }
            request.everything = true
        }
        if !request.isPurge { request.unused = 86_400 }
        guard request.isSensible else { throw UsageError("a time must be at most a hundred years") }
        show(try await ask(request, invocation))
    }

    private static func isWanted() throws -> Bool {
        guard Question.canBeAsked else {
            throw UsageError("there is no terminal for the question; answer it with --yes")
        }
        let answer = Question.line(
            "All queues of this relay stop working. Delete everything? [y/N]  ")
        return answer?.lowercased() == "y" || answer?.lowercased() == "yes"
    }

    /// Sends the request to a running relay, or carries it out in its directory.
    private static func ask(_ request: RelayRequest, _ invocation: Invocation) async throws -> RelayAnswer {
        let path = AbsolutePath.of(invocation[folder] ?? DataDirectory.defaultRelayPath)
        guard access(path + "/server.crt", F_OK) == 0 else { throw Refusal("There is no relay in \(path).") }
        let running = try await ThreadPool.shared.run { () throws(DesktopError) in
            try RelayControlClient.ask(request, folder: path)
        }
        if let running { return running }
        return try await resting(request, path, invocation)
    }

    private static func resting(
        _ request: RelayRequest, _ path: String, _ invocation: Invocation
    ) async throws -> RelayAnswer {
        let access = try DirectoryAccess(path: DataDirectory.defaultPath(), ways: Ways(invocation))
        let isDefault = invocation[folder] == nil
        let (files, settings) = try await ThreadPool.shared.run {
            var settings = RelaySettings(folder: path)
            settings.key =
                isDefault
                ? try access.open().key
                : try DirectoryAccess.key(
                    of: KeyedFolder(path: path, database: Relay.recordsFile), lockFile: Relay.lockFile,
                    access.ways
                ) {}
            return (try RestingRelay(settings), settings)
        }
        defer { files.close() }
        var messages: RestingMessageRelay?
        if Glibc.access(path + "/messages", F_OK) == 0 {
            let part = MessageRelaySettings(
                folder: path + "/messages", identity: files.identity, key: settings.key)
            messages = try await ThreadPool.shared.run { () throws(MessageRelayError) in
                try RestingMessageRelay(part)
            }
        }
        do {
            let answer = try await RelayUpkeep(files: files, messages: messages).answer(request)
            await messages?.close()
            return answer
        } catch {
            await messages?.close()
            throw error
        }
    }

    private static func show(_ answer: RelayAnswer) {
        if let part = answer.messages {
            line("messages", "queues", part, "\(part.unfinished) unused, \(part.messages ?? 0) messages")
        }
        if let part = answer.files { line("files", "chunks", part, "\(part.unfinished) not uploaded yet") }
    }

    private static func line(_ name: String, _ noun: String, _ part: RelayAnswer.Part, _ details: String) {
        let quota = part.quota.map { " of \(ByteCount.rounded($0))" } ?? ""
        let connections = part.connections.map { ", \($0) connections" } ?? ""
        let purged = part.purged.map { ", \($0) \(noun) deleted" } ?? ""
        Terminal.print(
            "\(name): \(part.count) \(noun) (\(details)), \(ByteCount.rounded(part.bytes))\(quota)\(connections)\(purged)"
        )
    }
}
