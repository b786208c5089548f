import ChatCore
import Desktop
import FileSystem
import Hydration
import Namespace

/// Frees what a received file takes on this disk, while its message stays: what is decrypted of it, and the encrypted
/// copy. Has no state of its own.
struct CopyFreeing: Sendable {
    let fileSystem: FileSystem
    let hydrator: Hydrator
    let core: MountedCore

    /// - Parameter lastCopyToo: also of a file that no relay has any more.
    /// - Returns: the bytes that are free now.
    /// - Throws: `.lastCopy` where the file could not be received again, `.refused` for what stays, `.failed`.
    func free(_ entry: NodeID, lastCopyToo: Bool) async throws(ProgramError) -> UInt64 {
        guard let item = await fileSystem.item(at: entry), let file = item.file, item.direction == .received
        else {
            throw ProgramError(.refused, "Your own files stay: nobody keeps them for you.")
        }
        if hydrator.isPinned(file.id) {
            throw ProgramError(.refused, "The file is kept on this device. Choose Stop Keeping first.")
        }
        let decrypted = hydrator.condition(of: file.id).cached
        guard await hydrator.dehydrateWhenSettled(file.id) else {
            throw ProgramError(.refused, "A program has the file open. Close it there first.")
        }
        guard file.status == .rcvComplete else { return decrypted }
        guard let free = core.free else {
            if decrypted > 0 { return decrypted }
            throw ProgramError(.refused, "SimpleX keeps this file itself: delete it in its app.")
        }
        do throws(ChatError) {
            if try await free(file.id, lastCopyToo) { return decrypted + file.size }
        } catch {
            throw ProgramError(error)
        }
        throw ProgramError(.lastCopy, "No relay has the file any more, so this is the last copy.")
    }
}
