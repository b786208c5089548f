import Base
import ChatCore
import CommandLineKit
import Configuration
import Desktop
import FileSystem
import Glibc
import Notifications
import Posix

/// Applies the configuration's chat rules to a new mount.
struct ConfiguredChats: Sendable {
    private let rules: [Configuration.Chat]
    private let keeping: KeepWorker
    private let log = Log("configuration")

    init(_ rules: [Configuration.Chat], keeping: KeepWorker) {
        self.rules = rules
        self.keeping = keeping
    }

    /// - Parameters:
    ///   - chats: Returns all chats of the profile.
    ///   - profileFolder: Directory with the list of muted chats.
    func apply(to chats: () async throws(ChatError) -> NamedChats, profileFolder: String) async {
        for rule in rules {
            do {
                try await apply(rule, to: try await chats(), profileFolder)
            } catch {
                // Logs above debug contain no chat names.
                log.warning("chat rules of the configuration not applied")
                log.debug("chat rules not applied: chat='\(rule.name)' error=\(sentence(of: error))")
            }
        }
    }

    private func apply(
        _ rule: Configuration.Chat, to chats: NamedChats, _ profileFolder: String
    ) async throws {
        let chat = try chats.chat(rule.name).reference
        if let isMuted = rule.isMuted {
            try await ThreadPool.shared.run { () throws(SystemError) in
                let muted = MutedChats(in: try OpenFile(profileFolder, flags: O_RDONLY))
                if isMuted { try muted.mute(chat) } else { try muted.unmute(chat) }
            }
        }
        guard !rule.keep.isEmpty else { return }
        let request = KeepOptions.change(in: chat.description, to: rule.keep.mapValues { [$0] })
        _ = try await keeping.answer(request)
    }
}
