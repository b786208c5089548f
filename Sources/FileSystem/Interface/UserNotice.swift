import Base
import ChatCore
import Glibc
import Namespace

/// An event at the mount that concerns desktop notifications to the user.
public enum UserNotice: Hashable, Sendable {
    case refused(RefusalNotice)
    /// A program opened a received file for the user to see.
    case opened(ItemID)
    /// A read of a received file was refused, for the first time or again.
    case unreadable(ChatItem)
    /// A program opened the log of a chat for the user to see.
    case openedLog(ChatReference)
    /// A program listed the folder of a chat. A listing from the kernel's cache is not reported.
    case listed(ChatReference)
    /// Items arrived and have their entries, or could not get them yet.
    case arrived([ChatItem])
    /// The core deleted these items. Follows their arrival.
    case removed([ItemID])
}

/// A request refused because of its content.
public struct RefusalNotice: Hashable, Sendable {
    public enum Request: Hashable, Sendable {
        /// Fetch by a program that may fetch nothing.
        case fetch(CallerKind)
        /// Overwrite of a received or sent file.
        case overwrite
        case create
        case rename
        case remove
        /// Removal of a file by the program that just read it: the end of a move out of the mount, whose copy exists, or a
        /// viewer's. The file stays.
        case moveOut
        case makeFolder
        /// Write beyond the maximum size.
        case write
    }

    public var request: Request
    public var code: Int32
    /// The reason if there is more than the errno. Contains no names.
    public var sentence: String?
    /// Name of the file or folder; for `fetch`, of the program.
    public var name: String
    /// The chat's folder of the request; nil for any other folder.
    public var folder: FolderDescription?
    /// Makes the mount accept the request; nil if nothing does.
    public var permission: Permission?
}

/// Delivers notices to the user's notifications, if they are on. Thread-safe; never waits.
final class UserConnection: Sendable {
    // A struct, as `Lock` requires.
    private struct Listener {
        var send: (@Sendable (UserNotice) -> Void)?
    }

    private let names: Namespace
    private let listener = Lock(Listener())

    init(names: Namespace) { self.names = names }

    func tell(through send: (@Sendable (UserNotice) -> Void)?) { listener.withLock { $0.send = send } }

    func notify(_ notice: UserNotice) { listener.withLock { $0.send }?(notice) }

    /// Reports that a listing begins.
    func listed(_ folder: NodeID) {
        guard let send = listener.withLock({ $0.send }), case .chat(let chat)? = names.node(folder)?.content
        else { return }
        send(.listed(chat.reference))
    }

    /// Reports a refusal. Failures are reported elsewhere.
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
                    name: name.description, folder: chat, permission: error.permission)))
    }
}

extension Answer {
    /// Calls `tell` if the answer is an error.
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
