import Base
import ChatCore
import Glibc
import Namespace

/// What happened at the mount that its user may want to be told of beyond an errno, or need not be told of any more.
public enum UserNotice: Hashable, Sendable {
    case refused(RefusalNotice)
    /// Somebody who wants to see it has opened a received file.
    case opened(ItemID)
    /// A read of a received file was refused, once more or for the first time.
    case unreadable(ChatItem)
    /// Somebody who wants to see it has opened the log of a chat.
    case openedLog(ChatReference)
    /// Somebody has listed the folder of a chat; what the kernel has kept of an earlier listing is not asked for again.
    case listed(ChatReference)
}

/// A request that was refused because of what was asked for.
public struct RefusalNotice: Hashable, Sendable {
    public enum Request: Hashable, Sendable {
        /// To fetch a file, by a program that fetches nothing.
        case fetch(CallerKind)
        /// To write a received or sent file anew.
        case overwrite
        case create
        case rename
        case remove
        /// To remove a file that its program has just copied: the copy is there, and the file stays.
        case moveOut
        case makeFolder
        /// To write past the largest size.
        case write
    }

    public var request: Request
    public var code: Int32
    /// Why, where the answer said more than its errno. Without names.
    public var sentence: String?
    /// Of the file or folder; of `fetch` the program.
    public var name: String
    /// The folder of a chat, where it was asked for.
    public var folder: FolderDescription?
}

/// Where notices for the user go, while somebody wants them. Any thread; never waits.
final class UserConnection: Sendable {
    // In a struct: see `Lock`.
    private struct Listener {
        var send: (@Sendable (UserNotice) -> Void)?
    }

    private let names: Namespace
    private let listener = Lock(Listener())

    init(names: Namespace) { self.names = names }

    func tell(through send: (@Sendable (UserNotice) -> Void)?) { listener.withLock { $0.send = send } }

    func notify(_ notice: UserNotice) { listener.withLock { $0.send }?(notice) }

    /// Tells of a listing from its beginning.
    func listed(_ folder: NodeID) {
        guard let send = listener.withLock({ $0.send }), case .chat(let chat)? = names.node(folder)?.content
        else { return }
        send(.listed(chat.reference))
    }

    /// Tells of an answer that is a refusal; of one that says that something failed others tell.
    func refused(
        _ request: RefusalNotice.Request, _ error: FileSystemError, _ name: EntryName, in folder: NodeID
    ) {
        guard [EPERM, EACCES, EFBIG].contains(error.code), !error.isFailure || error.code == EFBIG else {
            return
        }
        let chat: FolderDescription? =
            if let node = names.node(folder), case .chat(let chat) = node.content {
                FolderDescription(id: node.id, name: node.name.description, chat: chat)
            } else {
                nil
            }
        notify(
            .refused(
                RefusalNotice(
                    request: request, code: error.code, sentence: error.ownSentence,
                    name: name.description, folder: chat)))
    }
}

extension Answer {
    /// The same; `tell` is called when it is no.
    func whenRefused(_ tell: @escaping @Sendable (FileSystemError) -> Void) -> Self {
        switch self {
        case .now(.success): break
        case .now(.failure(let error)): tell(error)
        case .later(let work):
            return .later {
                let result = await work()
                if case .failure(let error) = result { tell(error) }
                return result
            }
        }
        return self
    }
}
