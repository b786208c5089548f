import Base
import ChatCore
import Desktop
import Glibc
import Notifications
import Posix

/// Carries out actions on whole chats for programs: the equivalents of `chatfs mute`, `keep set` and `send
/// --text`. Stateless.
struct ChatActions: Sendable {
    let core: any ChatCore
    let keeping: KeepWorker
    /// Directory of the profile.
    let folder: String

    /// Returns the muted chats; empty if they cannot be read.
    func muted() async -> Set<ChatReference> {
        (try? await ThreadPool.shared.run { [folder] () throws(SystemError) in
            try MutedChats(in: OpenFile(folder, flags: O_RDONLY)).all()
        }) ?? []
    }

    func setMuted(_ isMuted: Bool, _ chat: ChatReference) async throws(ProgramError) {
        do {
            try await ThreadPool.shared.run { [folder] () throws(SystemError) in
                let chats = MutedChats(in: try OpenFile(folder, flags: O_RDONLY))
                if isMuted { try chats.mute(chat) } else { try chats.unmute(chat) }
            }
        } catch {
            throw ProgramError(error)
        }
    }

    func send(_ text: String, to chat: Chat) async throws(ProgramError) {
        if let refused = chat.sendingRefused { throw ProgramError(.refused, refused) }
        let id = "program-text-" + Hexadecimal.encode(SystemRandomSource().bytes(16))
        do throws(ChatError) {
            let composed = ComposedText(id: id, text: text)
            try composed.check()
            try await core.send(composed, to: chat.reference)
        } catch {
            throw ProgramError(error)
        }
    }

    func keep(_ what: String?, _ chat: ChatReference) async throws(ProgramError) {
        var request = KeepRequest(.set, chat: chat.description)
        guard let what else {
            throw ProgramError(.invalidParameter, "The request names no kinds of files to keep.")
        }
        request.what = what
        do {
            _ = try await keeping.answer(request)
        } catch {
            throw ProgramError(.refused, sentence(of: error), cause: error)
        }
    }
}
