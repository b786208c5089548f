import ChatCore
import Namespace

/// Computes the inode numbers and names of `.chatfs/messages` from the chats' folders. Stateless.
enum MessageNodes {
    /// Bit that marks log numbers above the chat folder's number. Thumbnails use another bit (`ThumbnailNodes`).
    private static let mark: UInt64 = 1 << 61
    private static let otherMark: UInt64 = 1 << 62
    private static let ending = Array(".jsonl".utf8)

    static func id(ofFolder folder: NodeID) -> NodeID { NodeID(mark | folder.rawValue) }

    /// Returns the chat's folder number; nil if the number is no log's.
    static func folder(of id: NodeID) -> NodeID? {
        guard id.rawValue & (mark | otherMark) == mark else { return nil }
        return NodeID(id.rawValue & ~mark)
    }

    /// Returns nil if the number is no log's or the chat is gone.
    static func node(_ id: NodeID, in names: Namespace) -> Node? {
        guard let folder = folder(of: id).flatMap({ names.node($0) }), case .chat(let chat) = folder.content
        else { return nil }
        return node(of: chat.reference, folder)
    }

    static func node(of chat: ChatReference, _ folder: Node) -> Node {
        Node(id: id(ofFolder: folder.id), folder: .messages, name: name(folder), content: .messageLog(chat))
    }

    /// The folder's name with `.jsonl`, or its number if that would be too long.
    private static func name(_ folder: Node) -> EntryName {
        let name = EntryName(folder.name.bytes + ending)
        return name.bytes.count <= EntryName.maxLength ? name : EntryName("\(folder.id.rawValue).jsonl")
    }

    /// Returns the folder of the chat whose log has this name.
    static func folder(named name: EntryName, in names: Namespace) -> Node? {
        guard name.bytes.count > ending.count, name.bytes.suffix(ending.count).elementsEqual(ending) else {
            return nil
        }
        let stem = EntryName(Array(name.bytes.dropLast(ending.count)))
        let numbered = { UInt64(stem.description).flatMap { names.node(NodeID($0)) } }
        guard let folder = names.child(stem, of: .root) ?? numbered(), self.name(folder) == name else {
            return nil
        }
        return folder
    }
}
