import ChatCore
import CommandLineKit
import Desktop
import EmbeddedCore
import KeySlots
import Keyring
import Posix
import Unlocking

/// `chatfs delete --everything`: the data directory with all profiles, and its key in the keyring. Needs no way to
/// unlock it.
enum EverythingDeletion {
    static func carryOut(_ invocation: Invocation) async throws {
        let path = AbsolutePath.of(invocation["data"] ?? DataDirectory.defaultPath())
        // What stands in the way is said before the question, and kept out until the end.
        let removal = try await ThreadPool.shared.run { () throws(ChatError) in try DirectoryRemoval(path) }
        try await Confirmation.ask(
            "Delete \(path) with all profiles, chats and files, those of official cores that are kept there too, and its "
                + "key in the keyring?", invocation)
        let (left, problem) = try await ThreadPool.shared.run { () throws(ChatError) in
            _ = KeyClient.lock(path)
            var problem: KeyringError?
            let left = try removal.remove(forgetting: { problem = forgetKey(of: path) })
            return (left, problem)
        }
        if !left.isEmpty {
            Terminal.note(
                PrintableText.escaping(
                    "chatfs: \(path) stays with what is not of ChatFS: \(left.joined(separator: ", "))"))
        }
        guard let problem else { return }
        throw Refusal(
            "Everything is deleted but the key in the keyring (\"ChatFS: key of the data directory\"), which opens nothing "
                + "any more. \(problem.sentence)")
    }

    /// Nil where the keyring has none of it any more, or never had one. Blocks.
    private static func forgetKey(of path: String) -> KeyringError? {
        let folder = KeyedFolder(path: path, database: DataDirectory.databaseFile)
        // Where the file of keys is gone or damaged, nothing says under which name the keyring keeps one.
        guard let slots = try? folder.slots(), slots.slots.contains(where: { $0.kind == .keyring }) else {
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
