import ChatCore
import CommandLineKit
import Desktop
import EmbeddedCore
import KeySlots
import Keyring
import Posix
import Unlocking

/// `chatfs delete --everything`: deletes the data directory with all profiles, and its key in the keyring. Works
/// without unlocking.
enum EverythingDeletion {
    static func carryOut(_ invocation: Invocation) async throws {
        let path = invocation.dataPath
        // Obstacles are reported before the confirmation; locks are held until the end.
        let removal = try await ThreadPool.shared.run { () throws(ChatError) in try DirectoryRemoval(path) }
        try await Confirmation.ask(
            "Delete \(path) with all profiles, chats and files, including ChatFS's data of official cores, and its "
                + "key in the keyring, which opens copies elsewhere too?", invocation)
        let (left, problem) = try await ThreadPool.shared.run { () throws(ChatError) in
            _ = KeyClient.lock(path)
            var problem: KeyringError?
            let left = try removal.remove(forgetting: { problem = forgetKey(of: path) })
            return (left, problem)
        }
        if !left.isEmpty {
            Terminal.note(
                PrintableText.escaping(
                    "chatfs: \(path) stays because it contains other files: \(left.joined(separator: ", "))"))
        }
        guard let problem else { return }
        throw Refusal(
            "Everything was deleted except the key in the keyring (\"ChatFS: key of the data directory\"), which is now "
                + "useless. \(problem.sentence)")
    }

    /// Deletes the keyring's key; nil if it has none. Blocks.
    private static func forgetKey(of path: String) -> KeyringError? {
        let folder = KeyedFolder(path: path, database: DataDirectory.databaseFile)
        // Without a readable file of key slots the keyring's item is unknown.
        guard let slots = try? folder.slots(), slots.slots.contains(where: { $0.kind == .keyring }) else {
            return nil
        }
        if let sharer = folder.sharerOfKey {
            Terminal.note(
                PrintableText.escaping("chatfs: the key in the keyring stays: \(sharer) needs it too"))
            return nil
        }
        do throws(KeyringError) {
            try Keyring().forget(slots.name)
            return nil
        } catch {
            return error
        }
    }
}
