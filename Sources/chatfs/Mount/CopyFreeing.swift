import ChatCore
import Desktop
import FileSystem
import Hydration
import Namespace

/// Frees the local space of a received file whose message stays: its cached bytes and its encrypted copy.
/// Stateless.
struct CopyFreeing: Sendable {
    let fileSystem: FileSystem
    let hydrator: Hydrator
    let core: MountedCore

    /// - Parameter lastCopyToo: True to delete the file even if no relay has it.
    /// - Returns: Freed bytes on the disk.
    /// - Throws: `.lastCopy` if the file could not be received again, `.refused` if it must stay, `.failed`.
    func free(_ entry: NodeID, lastCopyToo: Bool) async throws(ProgramError) -> UInt64 {
        let found: ChatItem?
        do throws(FileSystemError) {
            found = try await fileSystem.item(at: entry)
        } catch {
            throw ProgramError(.failed, error.sentence, cause: error)
        }
        guard let item = found, let file = item.file, item.direction == .received else {
            throw ProgramError(.refused, "Your own files stay: no relay keeps a copy for you.")
        }
        if hydrator.isPinned(file.id) {
            throw ProgramError(.refused, "The file is kept on this device. Choose Stop Keeping first.")
        }
        let decrypted = hydrator.condition(of: file.id).cached
        guard await hydrator.dehydrateWhenSettled(file.id) else {
            throw ProgramError(.refused, "A program has the file open. Close it there first.")
        }
        guard file.status == .rcvComplete else { return decrypted }
        let chat = fileSystem.lister.folder(of: item.chat)?.chat
        guard let free = core.free, chat?.supportedActions.contains(.free) == true else {
            if decrypted > 0 { return decrypted }
            throw ProgramError(
                .refused,
                core.free == nil
                    ? "SimpleX keeps this file itself: delete it in its app."
                    : "The file stays as long as its entry: remove that to free its space.")
        }
        do throws(ChatError) {
            if try await free(file.id, lastCopyToo) { return decrypted + file.size }
        } catch {
            throw ProgramError(error)
        }
        throw ProgramError(.lastCopy, "No relay has the file any more, so this is the last copy.")
    }
}
